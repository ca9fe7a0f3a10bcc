package conform

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// Live is a gateway on the network.
type Live struct {
	base   string
	client *http.Client
	// run makes the tenants of this run ones that nobody had before.
	run     string
	ids     map[string]string // recorded id -> the gateway's
	created []createdFile
}

type createdFile struct{ tenant, id string }

// answerTimeout bounds one request, endTimeout the wait for a job that nothing holds up.
const (
	answerTimeout = 30 * time.Second
	endTimeout    = 2 * time.Minute
	pollPeriod    = 200 * time.Millisecond
)

// NewLive returns the gateway whose API is at base, such as http://127.0.0.1:8000.
func NewLive(base string) (*Live, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("found %q, expected the URL of a batch gateway such as http://127.0.0.1:8000", base)
	}
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("naming the tenants of this run: %w", err)
	}
	return &Live{
		base: strings.TrimSuffix(base, "/"), client: &http.Client{}, run: hex.EncodeToString(random),
		ids: map[string]string{},
	}, nil
}

// tenantFor is the tenant that stands in for a recorded one. That of requests without a
// name is the gateway's own.
func (l *Live) tenantFor(recorded string) string {
	if recorded == "" || recorded == gateway.DefaultTenant {
		return recorded
	}
	return recorded + "-" + l.run
}

// change puts the gateway's ids in the place of the recorded ones.
func (l *Live) change(text string) string {
	for recorded, ours := range l.ids {
		text = strings.ReplaceAll(text, recorded, ours)
	}
	return text
}

// tenantHeader is the default name of the header; it is the one that was recorded.
const tenantHeader = "X-MaaS-Username"

func (l *Live) do(ctx context.Context, req *http.Request, tenant string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if tenant != "" && tenant != gateway.DefaultTenant {
		req.Header.Set(tenantHeader, tenant)
	}
	return send(l.client, req.WithContext(ctx))
}

// ask sends a request without a body or with JSON and decodes a 200.
func (l *Live) ask(ctx context.Context, method, path, tenant string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequest(method, l.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	a, err := l.do(ctx, req, tenant)
	if err != nil {
		return err
	}
	return a.decode(method+" "+path, into)
}

func (a answer) decode(what string, into any) error {
	if a.status != http.StatusOK {
		return fmt.Errorf("%s: found status %d, expected 200: %s", what, a.status, compact(string(a.body)))
	}
	if text, ok := into.(*string); ok {
		*text = string(a.body)
		return nil
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// upload stores a file and remembers it as the recorded one.
func (l *Live) upload(ctx context.Context, f wantedFile) error {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	w.WriteField("purpose", f.purpose) // a buffer takes everything
	if f.lifetime > 0 && f.lifetime != gateway.DefaultLifetime {
		w.WriteField("expires_after[anchor]", "created_at")
		w.WriteField("expires_after[seconds]", strconv.FormatInt(f.lifetime, 10))
	}
	name := f.filename
	if name == "" {
		name = "input.jsonl"
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		return err
	}
	io.WriteString(part, f.content)
	w.Close()
	req, err := http.NewRequest("POST", l.base+"/v1/files", &form)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	tenant := l.tenantFor(f.tenant)
	a, err := l.do(ctx, req, tenant)
	if err != nil {
		return err
	}
	var object openai.File
	if err := a.decode("POST /v1/files", &object); err != nil {
		return err
	}
	if f.id != "" {
		l.ids[f.id] = object.ID
	}
	if f.deleted {
		return l.ask(ctx, "DELETE", "/v1/files/"+object.ID, tenant, nil, &struct{}{})
	}
	l.created = append(l.created, createdFile{tenant, object.ID})
	return nil
}

// createJob creates a job, remembers it as the recorded one and waits for its end
// unless any state will do.
func (l *Live) createJob(ctx context.Context, b wantedBatch) (openai.Batch, error) {
	var made openai.Batch
	input := b.InputFileID
	if input == "" {
		input = "file_of_" + b.ID
	}
	if l.ids[input] == "" {
		f := wantedFile{id: input, tenant: b.tenant, purpose: "batch", content: b.lines()}
		if b.anyState {
			f.content = "no JSON\n" // it fails before it costs anything
		}
		if err := l.upload(ctx, f); err != nil {
			return made, err
		}
	}
	tenant := l.tenantFor(b.tenant)
	err := l.ask(ctx, "POST", "/v1/batches", tenant, openai.CreateBatch{
		InputFileID: l.ids[input], Endpoint: b.Endpoint, CompletionWindow: b.CompletionWindow, Metadata: b.Metadata,
	}, &made)
	if err != nil {
		return made, err
	}
	l.ids[b.ID] = made.ID
	if b.anyState {
		return made, nil
	}
	for deadline := time.Now().Add(endTimeout); !openai.Ended(made.Status); {
		if time.Now().After(deadline) {
			return made, fmt.Errorf("the job %s is %s after %s, expected its end", made.ID, made.Status, endTimeout)
		}
		select {
		case <-ctx.Done():
			return made, context.Cause(ctx)
		case <-time.After(pollPeriod):
		}
		if err := l.ask(ctx, "GET", "/v1/batches/"+made.ID, tenant, nil, &made); err != nil {
			return made, err
		}
	}
	return made, nil
}

// Close deletes the files that the cases have left.
func (l *Live) Close(ctx context.Context) error {
	var errs []error
	for _, f := range l.created {
		var gone struct{}
		if err := l.ask(ctx, "DELETE", "/v1/files/"+f.id, f.tenant, nil, &gone); err != nil {
			errs = append(errs, fmt.Errorf("cleaning up: %w", err))
		}
	}
	l.created = nil
	return errors.Join(errs...)
}

// unreachable says why the API of a live gateway alone cannot bring about what an
// exchange needs, nothing when it can.
func (w wants) unreachable(e *exchange) string {
	switch {
	case w.observability:
		return "goes to the apiserver's other port"
	case w.limits != gateway.Limits{}:
		return "needs an apiserver with other limits on an upload"
	case w.page:
		return "shows what else is in the database"
	case len(e.Upstream) > 0:
		return needsScript
	}
	for _, b := range w.batches {
		window, _ := time.ParseDuration(b.CompletionWindow)
		switch {
		case b.anyState:
		case b.Status == openai.BatchFailed && b.InProgressAt == nil:
		case b.Status == openai.BatchCompleted && b.RequestCounts.Total == 0 && b.OutputFileID == nil:
		case b.Status == openai.BatchExpired && b.InProgressAt == nil && window <= 0:
		default:
			return fmt.Sprintf("needs a job that is %s with %d of %d lines done, and a backend that does what its prompts say",
				b.Status, b.RequestCounts.Completed, b.RequestCounts.Total)
		}
	}
	return ""
}

// askExchange returns how an exchange is run on a live gateway.
func askExchange(e *exchange, w wants) func(context.Context, *Live, *outcome) {
	return func(ctx context.Context, l *Live, o *outcome) {
		if o.notRun = w.unreachable(e); o.notRun != "" {
			return
		}
		clear(l.ids)
		for _, f := range w.files {
			if e.Request.Method == "POST" && f.purpose == "batch" {
				f.content = "no JSON\n" // what is created here fails before it costs anything
			}
			if err := l.upload(ctx, f); err != nil {
				o.differ("before the exchange: %v", err)
				return
			}
		}
		for _, b := range w.batches {
			if _, err := l.createJob(ctx, b); err != nil {
				o.differ("before the exchange: %v", err)
				return
			}
		}
		req, err := e.request(l.base, l.change)
		if err != nil {
			o.differ("asking: %v", err)
			return
		}
		l.renameTenants(req)
		a, err := l.do(ctx, req, "")
		if err != nil {
			o.differ("asking: %v", err)
			return
		}
		e.compare(o, a, hideIDs, false)
		l.remember(ctx, req, a)
		for _, b := range w.batches {
			if b.anyState {
				l.drop(ctx, l.tenantFor(b.tenant), l.ids[b.ID])
			}
		}
	}
}

// drop cancels a job of which nothing more is wanted, before it takes a worker. It may
// have ended meanwhile; then there is nothing to cancel.
func (l *Live) drop(ctx context.Context, tenant, batchID string) {
	var ended openai.Batch
	l.ask(ctx, "POST", "/v1/batches/"+batchID+"/cancel", tenant, nil, &ended)
}

// renameTenants puts the tenants of this run in the place of the recorded ones.
func (l *Live) renameTenants(req *http.Request) {
	values := req.Header.Values(tenantHeader)
	for i, value := range values {
		values[i] = l.tenantFor(value)
	}
}

// remember notes the file that an exchange has made, forgets the one that it has deleted
// and drops the job that it has created.
func (l *Live) remember(ctx context.Context, req *http.Request, a answer) {
	var object struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body, &object) != nil {
		return
	}
	tenant := lastOf(req.Header.Values(tenantHeader))
	switch {
	case req.Method == "POST" && object.Object == "batch":
		l.drop(ctx, tenant, object.ID)
	case req.Method == "POST" && object.Object == "file":
		l.created = append(l.created, createdFile{tenant, object.ID})
	case req.Method == "DELETE" && object.Object == "file":
		for i, f := range l.created {
			if f.id == object.ID {
				l.created = append(l.created[:i], l.created[i+1:]...)
				break
			}
		}
	}
}

func lastOf(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// askJob runs a job on a live gateway that never gets as far as its backend.
func (l *Live) askJob(ctx context.Context, j *job, o *outcome) {
	clear(l.ids)
	b := wantedBatch{Batch: j.last(), input: &j.input}
	b.CompletionWindow = j.Window
	got, err := l.createJob(ctx, b)
	if err != nil {
		o.differ("running the job: %v", err)
		return
	}
	j.compareEnd(o, got)
}
