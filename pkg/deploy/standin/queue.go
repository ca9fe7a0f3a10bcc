package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/async"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
)

// queued is a message on its way to the async processor, and result what comes back:
// the answer to the request that brought it, which therefore takes as long as the
// message is in the queue.
type queued struct {
	ID       string          `json:"id"`
	Deadline int64           `json:"deadline"`
	Header   http.Header     `json:"header"`
	Path     string          `json:"path"`
	Body     json.RawMessage `json:"body"`
}

type result struct {
	Status                             int
	Body                               []byte
	DroppedReason, RetryAfter, Message string
	Code                               string
	Usage                              sim.Usage
}

// remoteQueue is the batch gateway's side. It implements gateway.Queue.
type remoteQueue struct {
	k      *kernel.Kernel
	url    string
	client *http.Client
	mu     sync.Mutex
	cancel map[string]context.CancelFunc
}

func newRemoteQueue(k *kernel.Kernel, url string) *remoteQueue {
	return &remoteQueue{k: k, url: url, client: client(), cancel: map[string]context.CancelFunc{}}
}

// Submit implements gateway.Queue.
func (q *remoteQueue) Submit(m async.Message, done func(async.Result)) {
	ctx, cancel := context.WithCancel(context.Background())
	q.mu.Lock()
	q.cancel[m.ID] = cancel
	q.mu.Unlock()
	go func() {
		defer cancel()
		r, err := q.post(ctx, m)
		q.mu.Lock()
		delete(q.cancel, m.ID)
		q.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			r = async.Result{Code: async.CodeCancelled, Message: "request cancelled"}
		case err != nil:
			r = async.Result{Code: async.CodeInferenceError, Message: err.Error()}
		}
		q.k.Post(func() { done(r) })
	}()
}

func (q *remoteQueue) post(ctx context.Context, m async.Message) (async.Result, error) {
	body, err := json.Marshal(queued{m.ID, m.Deadline, gateway.UpstreamHeader(m.Call), m.Call.Path, m.Call.Body})
	if err != nil {
		return async.Result{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.url+"/messages", bytes.NewReader(body))
	if err != nil {
		return async.Result{}, err
	}
	response, err := q.client.Do(request)
	if err != nil {
		return async.Result{}, err
	}
	defer response.Body.Close()
	var r result
	if err := json.NewDecoder(response.Body).Decode(&r); err != nil {
		return async.Result{}, fmt.Errorf("reading a result: %w", err)
	}
	return async.Result{
		End:  sim.End{Status: r.Status, Body: r.Body, DroppedReason: r.DroppedReason, RetryAfter: r.RetryAfter, Usage: r.Usage},
		Code: r.Code, Message: r.Message,
	}, nil
}

// Withdraw implements gateway.Queue.
func (q *remoteQueue) Withdraw(ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		if cancel, ok := q.cancel[id]; ok {
			cancel()
		}
	}
}

// queueHandler is the async processor's side.
func queueHandler(k *kernel.Kernel, p *async.Processor) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m queued
		var chat openai.ChatRequest
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := json.Unmarshal(m.Body, &chat); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		call := sim.NewCall(m.ID, &chat)
		call.Body, call.Path = m.Body, m.Path
		router.ReadHeaders(call, func(name string) (string, bool) {
			value := m.Header.Get(name)
			return value, value != ""
		})
		done := make(chan async.Result, 1)
		k.Post(func() {
			p.Submit(async.Message{ID: m.ID, Deadline: m.Deadline, Call: call}, func(r async.Result) { done <- r })
		})
		select {
		case out := <-done:
			e := out.End
			body, err := json.Marshal(result{e.Status, e.Body, e.DroppedReason, e.RetryAfter, out.Message, out.Code, e.Usage})
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Write(body) // an error here means that the gateway has gone
		case <-r.Context().Done():
			k.Post(func() { p.Withdraw([]string{m.ID}) })
		}
	})
}
