package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
)

// Remote is an inference gateway on another machine. It implements sim.Backend for who
// sends whole requests and waits for whole answers, as the batch gateway does: every
// call must have its Body.
type Remote struct {
	K      *kernel.Kernel
	URL    string // base
	Client *http.Client
}

// Submit implements sim.Backend.
func (r Remote) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	ctx, cancel := context.WithCancel(context.Background())
	path := call.Path
	if path == "" {
		path = "/v1/chat/completions"
	}
	go func() {
		end := r.send(ctx, call, path)
		r.K.Post(func() { reply.End(r.K.Now(), end) })
	}()
	return cancel
}

func (r Remote) send(ctx context.Context, call *sim.Call, path string) sim.End {
	failed := func(err error) sim.End {
		if ctx.Err() != nil {
			return sim.End{Status: sim.StatusAborted, FinishReason: "abort"}
		}
		return sim.End{Status: sim.StatusNoAnswer, Message: err.Error()}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+path, bytes.NewReader(call.Body))
	if err != nil {
		return failed(err)
	}
	request.Header = gateway.UpstreamHeader(call)
	request.Header.Del("Accept-Encoding") // Go's client then takes compression off by itself
	response, err := r.Client.Do(request)
	if err != nil {
		return failed(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return failed(fmt.Errorf("reading the answer: %w", err))
	}
	end := sim.End{
		Status:        response.StatusCode,
		Body:          body,
		DroppedReason: response.Header.Get(openai.HeaderDroppedReason),
		RetryAfter:    response.Header.Get("Retry-After"),
	}
	var answer openai.ChatCompletion
	if end.Status == http.StatusOK && json.Unmarshal(body, &answer) == nil {
		end.Usage = sim.Usage{PromptTokens: answer.Usage.PromptTokens, OutputTokens: answer.Usage.CompletionTokens}
		if d := answer.Usage.PromptTokensDetails; d != nil {
			end.Usage.CachedTokens = d.CachedTokens
		}
	}
	return end
}
