package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// scripted is a backend whose answers the test writes.
type scripted struct {
	submitted chan submitted
	aborted   chan string
}

type submitted struct {
	call  *sim.Call
	reply sim.Reply
}

func newScripted() scripted {
	return scripted{make(chan submitted, 1), make(chan string, 1)}
}

func (s scripted) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	s.submitted <- submitted{call, reply}
	return func() { s.aborted <- call.ID }
}

// startInference serves backend on a wall-clock kernel for the length of the test.
func startInference(t *testing.T, backend sim.Backend) (*kernel.Kernel, *httptest.Server) {
	t.Helper()
	k := kernel.NewWall()
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		k.Run(ctx) // ends by the cancellation below
	}()
	server := httptest.NewServer(InferenceHandler(k, backend, Model{"m", 100}))
	t.Cleanup(func() {
		server.Close()
		stop()
		<-stopped
	})
	return k, server
}

func post(t *testing.T, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-request-id", "r1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// event reads one server-sent event with the varying creation time blanked.
func event(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("reading an event: %v", err)
	}
	if blank, err := r.ReadString('\n'); err != nil || blank != "\n" {
		t.Fatalf("an event is followed by %q, %v", blank, err)
	}
	before, after, found := strings.Cut(line, `"created":`)
	if !found {
		return strings.TrimSpace(line)
	}
	return strings.TrimSpace(before + `"created":0` + strings.TrimLeft(after, "0123456789"))
}

const streamBody = `{"model":"m","messages":[{"role":"user","content":"two words"}],"max_tokens":3,"stream":true,
	"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`

func TestStreamIsWhatVLLMSends(t *testing.T) {
	backend := newScripted()
	k, server := startInference(t, backend)
	answered := make(chan *http.Response, 1)
	go func() { answered <- post(t, server.URL, streamBody) }()

	got := <-backend.submitted
	out := sim.OutputOf(got.call.Prompt)
	if got.call.ID != "r1" || got.call.Prompt.Len() != 10 || got.call.MaxTokens != 3 {
		t.Fatalf("submitted %+v", got.call)
	}
	k.Post(func() {
		got.reply.Headers(k.Now(), "vllm-0")
		got.reply.Tokens(k.Now(), 1)
	})
	resp := <-answered
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", ct)
	}
	if pod := resp.Header.Get(HeaderPod); pod != "vllm-0" {
		t.Errorf("pod %q", pod)
	}
	r := bufio.NewReader(resp.Body)
	want := []string{
		`data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":10,"total_tokens":10,"completion_tokens":0}}`,
		`data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{"content":"` + out.Token(0) + `"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":10,"total_tokens":11,"completion_tokens":1}}`,
	}
	for _, w := range want {
		if g := event(t, r); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
	k.Post(func() { // two tokens of one instant are one chunk, and it carries the finish reason
		got.reply.Tokens(k.Now(), 2)
		got.reply.End(k.Now(), sim.End{Status: 200, FinishReason: "length", Usage: sim.Usage{PromptTokens: 10, CachedTokens: 4, OutputTokens: 3}})
	})
	want = []string{
		`data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":{"content":"` + out.Token(1) + out.Token(2) + `"},"logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":10,"total_tokens":13,"completion_tokens":3}}`,
		`data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":0,"model":"m","choices":[],"usage":{"prompt_tokens":10,"total_tokens":13,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`,
		`data: [DONE]`,
	}
	for _, w := range want {
		if g := event(t, r); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("after [DONE]: %q, %v", rest, err)
	}
}

func TestErrorsBeforeAndInsideAnAnswer(t *testing.T) {
	refused := sim.End{Status: 429, ErrorType: "RateLimitError", Message: "busy", DroppedReason: "rejected-saturated"}
	const errorObject = `{"error":{"message":"busy","type":"RateLimitError","param":null,"code":429}}`

	t.Run("a refusal is its status, body and dropped reason", func(t *testing.T) {
		backend := newScripted()
		k, server := startInference(t, backend)
		go func() {
			got := <-backend.submitted
			k.Post(func() { got.reply.End(k.Now(), refused) })
		}()
		resp := post(t, server.URL, streamBody)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 429 || string(body) != errorObject {
			t.Errorf("got %d %s", resp.StatusCode, body)
		}
		if reason := resp.Header.Get("x-llm-d-request-dropped-reason"); reason != "rejected-saturated" {
			t.Errorf("dropped reason %q", reason)
		}
	})
	t.Run("an error in mid-stream is an event of a 200", func(t *testing.T) {
		backend := newScripted()
		k, server := startInference(t, backend)
		go func() {
			got := <-backend.submitted
			k.Post(func() {
				got.reply.Headers(k.Now(), "vllm-0")
				got.reply.Tokens(k.Now(), 1)
			})
			k.Post(func() { got.reply.End(k.Now(), refused) })
		}()
		resp := post(t, server.URL, streamBody)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if want := "data: " + errorObject + "\n\ndata: [DONE]\n\n"; resp.StatusCode != 200 || !strings.HasSuffix(string(body), want) {
			t.Errorf("got %d %s", resp.StatusCode, body)
		}
	})
	t.Run("an evicted stream is cut after what was sent", func(t *testing.T) {
		backend := newScripted()
		k, server := startInference(t, backend)
		go func() {
			got := <-backend.submitted
			k.Post(func() {
				got.reply.Headers(k.Now(), "vllm-0")
				got.reply.Tokens(k.Now(), 1)
				got.reply.End(k.Now(), sim.End{Status: sim.StatusNoAnswer, Cut: true})
			})
		}()
		resp := post(t, server.URL, streamBody)
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %d %v", resp.StatusCode, err)
		}
		if n := strings.Count(string(body), "data: "); n != 2 || strings.Contains(string(body), "[DONE]") {
			t.Errorf("got %d events: %s", n, body)
		}
	})
	t.Run("a router's own body and Retry-After go out as they are", func(t *testing.T) {
		backend := newScripted()
		k, server := startInference(t, backend)
		go func() {
			got := <-backend.submitted
			k.Post(func() {
				got.reply.End(k.Now(), sim.End{Status: 429, DroppedReason: "evicted", RetryAfter: "3", Body: []byte("request evicted by flow control")})
			})
		}()
		resp := post(t, server.URL, streamBody)
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 429 || string(body) != "request evicted by flow control" || resp.Header.Get("Retry-After") != "3" {
			t.Errorf("got %d %q %v %v", resp.StatusCode, body, resp.Header, err)
		}
	})
	t.Run("a body that is no chat request is a 400", func(t *testing.T) {
		_, server := startInference(t, newScripted())
		for _, body := range []string{"{", `{"model":"m","messages":[]}`} {
			if resp := post(t, server.URL, body); resp.StatusCode != 400 {
				t.Errorf("%s: got %d", body, resp.StatusCode)
			}
		}
	})
}

func TestDisconnectAbortsTheCall(t *testing.T) {
	backend := newScripted()
	_, server := startInference(t, backend)
	ctx, hangUp := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(streamBody))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-request-id", "gone")
	failed := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(req)
		failed <- err
	}()
	<-backend.submitted
	hangUp()
	if id := <-backend.aborted; id != "gone" {
		t.Errorf("aborted %q", id)
	}
	if err := <-failed; err == nil {
		t.Error("the client got an answer")
	}
}

func TestAnswerWithoutStreamIsOneObject(t *testing.T) {
	backend := newScripted()
	k, server := startInference(t, backend)
	go func() {
		got := <-backend.submitted
		k.Post(func() {
			got.reply.Headers(k.Now(), "vllm-1")
			got.reply.Tokens(k.Now(), 2)
			got.reply.End(k.Now(), sim.End{Status: 200, FinishReason: "length", Usage: sim.Usage{PromptTokens: 9, OutputTokens: 2}})
		})
	}()
	resp := post(t, server.URL, `{"model":"m","messages":[{"role":"user","content":"word"}],"max_tokens":2}`)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get(HeaderPod) != "vllm-1" ||
		!strings.Contains(string(body), `"finish_reason":"length"`) || !strings.Contains(string(body), `"completion_tokens":2`) {
		t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, body)
	}
}
