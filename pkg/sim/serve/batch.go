package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
)

// BatchHandler serves the Files and Batches API of the batch gateway's apiserver.
func BatchHandler(k *kernel.Kernel, g *gateway.Gateway) http.Handler {
	return BatchHandlerOn(g, k.Post)
}

// ObservabilityHandler serves the apiserver's other port: health, readiness and the
// metrics in r.
func ObservabilityHandler(k *kernel.Kernel, r *metric.Registry) http.Handler {
	mux := http.NewServeMux()
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, text) // an error here means that the client has gone
		}
	}
	mux.HandleFunc("GET /health", say("OK"))
	mux.HandleFunc("GET /ready", say("ok"))
	mux.Handle("GET /metrics", MetricsHandler(k, r))
	return mux
}

// batchAPI is the HTTP side of a gateway. post hands work to the kernel.
type batchAPI struct {
	g    *gateway.Gateway
	post func(func())
}

// route answers one kind of request. What it returns is sent as JSON, unless it is
// a download.
type route func(api batchAPI, r *http.Request, tenant string) (any, *gateway.APIError)

// download is the content of a file.
type download struct {
	name    string
	content string
}

// BatchHandlerOn is BatchHandler for who has another way than Kernel.Post to the
// goroutine that the gateway belongs to.
func BatchHandlerOn(g *gateway.Gateway, post func(func())) http.Handler {
	api := batchAPI{g, post}
	mux := http.NewServeMux()
	handle := func(method, pattern string, answer route) {
		mux.HandleFunc(method+" "+pattern, func(w http.ResponseWriter, r *http.Request) { api.serve(w, r, pattern, answer) })
	}
	handle("POST", "/v1/files", batchAPI.upload)
	handle("GET", "/v1/files", batchAPI.listFiles)
	handle("GET", "/v1/files/{file_id}", batchAPI.getFile)
	handle("GET", "/v1/files/{file_id}/content", batchAPI.content)
	handle("DELETE", "/v1/files/{file_id}", batchAPI.deleteFile)
	handle("POST", "/v1/batches", batchAPI.createBatch)
	handle("GET", "/v1/batches", batchAPI.listBatches)
	handle("GET", "/v1/batches/{batch_id}", batchAPI.getBatch)
	handle("POST", "/v1/batches/{batch_id}/cancel", batchAPI.cancelBatch)
	// Everything else, a known path with another method included, has this answer.
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		api.serve(w, r, "/", func(_ batchAPI, r *http.Request, _ string) (any, *gateway.APIError) {
			return nil, gateway.NotFound("Unknown request URL: %s %s", r.Method, r.URL.Path)
		})
	})
	return mux
}

func (api batchAPI) serve(w http.ResponseWriter, r *http.Request, pattern string, answer route) {
	start := time.Now()
	api.post(func() { api.g.ObserveHTTPStart(r.Method, pattern) })
	id := r.Header.Get(openai.HeaderRequestID)
	if id == "" {
		id = uuid.NewString()
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	body, apiErr := answer(api, r, api.tenant(r))
	status := http.StatusOK
	if apiErr != nil {
		status, body = apiErr.Status, errorBody(apiErr)
	}
	if r.Context().Err() == nil {
		writeAnswer(w, status, body)
	}
	api.post(func() { api.g.ObserveHTTPEnd(r.Method, pattern, status, time.Since(start)) })
}

// tenant is the last value of the tenant header: an authenticating proxy appends
// its own to what the client may have sent.
func (api batchAPI) tenant(r *http.Request) string {
	values := r.Header.Values(api.g.TenantHeader())
	if len(values) == 0 || values[len(values)-1] == "" {
		return gateway.DefaultTenant
	}
	return values[len(values)-1]
}

// apiError is the error object with its keys in the apiserver's order.
type apiError struct {
	Error struct {
		Code    any     `json:"code"`
		Type    string  `json:"type"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
	} `json:"error"`
}

func errorBody(e *gateway.APIError) (b apiError) {
	in := e.Body.Error
	b.Error.Code, b.Error.Type, b.Error.Message, b.Error.Param = in.Code, in.Type, in.Message, in.Param
	return b
}

func writeAnswer(w http.ResponseWriter, status int, body any) {
	if d, ok := body.(download); ok {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", d.name))
		w.Header().Set("Content-Length", strconv.Itoa(len(d.content)))
		io.WriteString(w, d.content) // an error here means that the client has gone
		return
	}
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "encoding the answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text) // as above
}

// ask runs fn on the kernel's goroutine and waits for it. When the client has gone
// nobody reads the answer, whatever it is.
func ask[T any](ctx context.Context, api batchAPI, fn func() (T, *gateway.APIError)) (any, *gateway.APIError) {
	type outcome struct {
		value T
		err   *gateway.APIError
	}
	done := make(chan outcome, 1)
	api.post(func() {
		value, err := fn()
		done <- outcome{value, err}
	})
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return nil, gateway.InternalError()
	}
}

// maxFormMemory is how much of an upload is kept in memory while it is parsed; the
// rest goes to a temporary file.
const maxFormMemory = 32 << 20

func (api batchAPI) upload(r *http.Request, tenant string) (any, *gateway.APIError) {
	// The whole body is compared with the limit for the file, framing included.
	if r.ContentLength > api.g.MaxUploadBytes() {
		return nil, api.g.TooLarge()
	}
	form, err := readUpload(r)
	if err != nil {
		return nil, gateway.InternalError()
	}
	return ask(r.Context(), api, func() (openai.File, *gateway.APIError) { return api.g.Upload(tenant, form) })
}

func readUpload(r *http.Request) (gateway.Upload, error) {
	if err := r.ParseMultipartForm(maxFormMemory); err != nil {
		return gateway.Upload{}, err
	}
	defer r.MultipartForm.RemoveAll() // temporary files; the system cleans up what this cannot
	part, header, err := r.FormFile("file")
	if err != nil {
		return gateway.Upload{}, err
	}
	defer part.Close()
	content, err := io.ReadAll(part)
	if err != nil {
		return gateway.Upload{}, err
	}
	return gateway.Upload{
		Purpose:  r.FormValue("purpose"),
		Filename: header.Filename,
		Content:  content,

		ExpiresAnchor:  r.FormValue("expires_after[anchor]"),
		ExpiresSeconds: r.FormValue("expires_after[seconds]"),
	}, nil
}

func listQuery(r *http.Request) gateway.ListQuery {
	q := r.URL.Query()
	return gateway.ListQuery{After: q.Get("after"), Limit: q.Get("limit"), Order: q.Get("order"), Purpose: q.Get("purpose")}
}

func (api batchAPI) listFiles(r *http.Request, tenant string) (any, *gateway.APIError) {
	q := listQuery(r)
	return ask(r.Context(), api, func() (gateway.FileList, *gateway.APIError) { return api.g.Files(tenant, q) })
}

func (api batchAPI) getFile(r *http.Request, tenant string) (any, *gateway.APIError) {
	id := r.PathValue("file_id")
	return ask(r.Context(), api, func() (openai.File, *gateway.APIError) { return api.g.File(tenant, id) })
}

func (api batchAPI) content(r *http.Request, tenant string) (any, *gateway.APIError) {
	id := r.PathValue("file_id")
	return ask(r.Context(), api, func() (download, *gateway.APIError) {
		file, apiErr := api.g.File(tenant, id)
		if apiErr != nil {
			return download{}, apiErr
		}
		content, apiErr := api.g.Content(tenant, id)
		return download{file.Filename, content}, apiErr
	})
}

func (api batchAPI) deleteFile(r *http.Request, tenant string) (any, *gateway.APIError) {
	id := r.PathValue("file_id")
	return ask(r.Context(), api, func() (gateway.Deleted, *gateway.APIError) { return api.g.DeleteFile(tenant, id) })
}

// maxCreateBytes bounds the body of a create request, which is small.
const maxCreateBytes = 1 << 20

func (api batchAPI) createBatch(r *http.Request, tenant string) (any, *gateway.APIError) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxCreateBytes))
	if err != nil {
		return nil, gateway.BadRequest("%s", err)
	}
	return ask(r.Context(), api, func() (openai.Batch, *gateway.APIError) { return api.g.CreateBatch(tenant, body, r.Header) })
}

func (api batchAPI) listBatches(r *http.Request, tenant string) (any, *gateway.APIError) {
	q := listQuery(r)
	return ask(r.Context(), api, func() (gateway.BatchList, *gateway.APIError) { return api.g.Batches(tenant, q) })
}

func (api batchAPI) getBatch(r *http.Request, tenant string) (any, *gateway.APIError) {
	id := r.PathValue("batch_id")
	return ask(r.Context(), api, func() (openai.Batch, *gateway.APIError) { return api.g.Batch(tenant, id) })
}

func (api batchAPI) cancelBatch(r *http.Request, tenant string) (any, *gateway.APIError) {
	id := r.PathValue("batch_id")
	return ask(r.Context(), api, func() (openai.Batch, *gateway.APIError) { return api.g.Cancel(tenant, id) })
}
