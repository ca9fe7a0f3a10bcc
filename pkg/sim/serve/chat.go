package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
)

// Model is what GET /v1/models says.
type Model struct {
	Name        string
	MaxModelLen int
}

// HeaderPod names the model server that answered, as llm-d-inference-sim does.
const HeaderPod = "x-inference-pod"

// maxBodyBytes bounds a request body; it is far above any prompt that fits a model.
const maxBodyBytes = 64 << 20

// InferenceHandler serves the OpenAI chat API of vLLM over backend.
func InferenceHandler(k *kernel.Kernel, backend sim.Backend, model Model) http.Handler {
	h := inference{k, backend, model}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", h.models)
	mux.HandleFunc("POST /v1/chat/completions", h.chat)
	return mux
}

type inference struct {
	k       *kernel.Kernel
	backend sim.Backend
	model   Model
}

func (h inference) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data": []map[string]any{{
			"id": h.model.Name, "object": "model", "owned_by": "vllm",
			"root": h.model.Name, "max_model_len": h.model.MaxModelLen,
		}},
	})
}

func (h inference) chat(w http.ResponseWriter, r *http.Request) {
	req, err := decodeChat(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		writeEnd(w, sim.End{Status: http.StatusBadRequest, ErrorType: "BadRequestError", Message: err.Error()})
		return
	}
	id := r.Header.Get(openai.HeaderRequestID)
	if id == "" {
		id = uuid.NewString()
	}
	call := sim.NewCall(id, &req)
	call.BodyBytes = max(0, int(r.ContentLength))
	router.ReadHeaders(call, func(name string) (string, bool) {
		values := r.Header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[len(values)-1], true
	})

	box := newMailbox()
	var abort func() // touched on the kernel's goroutine only
	h.k.Post(func() { abort = h.backend.Submit(call, box) })
	switch err := h.answer(w, r, &req, call, box); {
	case errors.Is(err, errCut):
		panic(http.ErrAbortHandler) // net/http's way to break the connection off
	case err != nil:
		h.k.Post(func() { abort() })
	}
}

// errCut says that the stack closed the connection in mid-answer, as Envoy does with
// a stream whose request was evicted.
var errCut = errors.New("connection cut")

func decodeChat(body io.Reader) (openai.ChatRequest, error) {
	var req openai.ChatRequest
	if err := json.NewDecoder(body).Decode(&req); err != nil {
		return req, fmt.Errorf("request body is not a chat request: %w", err)
	}
	if len(req.Messages) == 0 {
		return req, errors.New("messages: found none, expected at least one")
	}
	return req, nil
}

// answer writes what arrives in box. An error means that the client has gone and
// the call must be aborted.
func (h inference) answer(w http.ResponseWriter, r *http.Request, req *openai.ChatRequest, call *sim.Call, box *mailbox) error {
	out := newAnswer(w, req, call)
	for {
		select {
		case <-box.ready:
		case <-r.Context().Done():
			return r.Context().Err()
		}
		endpoint, tokens, end := box.take()
		if err := out.write(endpoint, tokens, end); err != nil {
			return err
		}
		if end != nil {
			return nil
		}
	}
}

// answer is the HTTP answer to one call, streamed or whole.
type answer struct {
	w       http.ResponseWriter
	stream  *chunkWriter // nil when the client wants it whole
	call    *sim.Call
	created int64
	started bool // status and headers are out
	sent    int  // output tokens on their way
	held    int  // tokens that wait for the end, which comes at the same instant
}

func newAnswer(w http.ResponseWriter, req *openai.ChatRequest, call *sim.Call) *answer {
	a := &answer{w: w, call: call, created: time.Now().Unix()}
	if req.Stream {
		a.stream = newChunkWriter(req, call, a.created)
	}
	return a
}

func (a *answer) write(endpoint string, tokens int, end *sim.End) error {
	if end != nil && end.Status == sim.StatusAborted {
		return errors.New("aborted")
	}
	failed := end != nil && end.Status != http.StatusOK
	switch {
	case failed && end.Status == sim.StatusNoAnswer && !a.started && tokens == 0:
		return errCut
	case failed && !end.Cut && (endpoint == "" || a.stream == nil):
		writeEnd(a.w, *end)
		return nil
	}
	if a.stream == nil {
		if end != nil {
			a.w.Header().Set(HeaderPod, endpoint)
			writeJSON(a.w, http.StatusOK, sim.Completion(a.call, *end, a.created))
		}
		return nil
	}
	tokens += a.held
	a.held = 0
	if end == nil && a.sent+tokens == a.call.MaxTokens {
		// The finish reason rides on the last chunk of content.
		a.held = tokens
		return nil
	}
	if !a.started {
		a.started = true
		header := a.w.Header()
		header.Set("Content-Type", "text/event-stream; charset=utf-8")
		header.Set(HeaderPod, endpoint)
		a.stream.role()
	}
	switch {
	case !failed:
		a.stream.content(a.sent, tokens, end)
	case tokens > 0:
		a.stream.content(a.sent, tokens, nil)
	}
	if failed && !end.Cut {
		a.stream.failure(*end)
	}
	a.sent += tokens
	if _, err := a.w.Write(a.stream.bytes()); err != nil {
		return err
	}
	if err := http.NewResponseController(a.w).Flush(); err != nil {
		return err
	}
	if failed && end.Cut {
		return errCut
	}
	return nil
}

// writeEnd answers a call that was refused.
func writeEnd(w http.ResponseWriter, end sim.End) {
	if end.DroppedReason != "" {
		w.Header().Set(openai.HeaderDroppedReason, end.DroppedReason)
	}
	if end.RetryAfter != "" {
		w.Header().Set("Retry-After", end.RetryAfter)
	}
	if end.Body != nil {
		w.WriteHeader(end.Status)
		w.Write(end.Body) // an error here means that the client has gone
		return
	}
	writeJSON(w, end.Status, sim.ErrorBody(end))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own types come here
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // an error here means that the client has gone
}
