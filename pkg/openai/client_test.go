package openai

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bgbench/pkg/record"
)

// watcher is an Observer that writes down what it is told.
type watcher struct {
	calls  []string
	tokens []int
	at     []time.Time
	chunk  func() // called with each chunk, may be nil
}

func (w *watcher) Sent(at time.Time, reused bool) {
	w.calls = append(w.calls, fmt.Sprintf("sent reused=%v", reused))
	w.at = append(w.at, at)
}

func (w *watcher) Headers(at time.Time, status int, header http.Header) {
	w.calls = append(w.calls, fmt.Sprintf("headers %d %s", status, header.Get("Content-Type")))
	w.at = append(w.at, at)
}

func (w *watcher) Chunk(at time.Time, tokens int) {
	w.calls = append(w.calls, "chunk")
	w.tokens = append(w.tokens, tokens)
	w.at = append(w.at, at)
	if w.chunk != nil {
		w.chunk()
	}
}

// stream sends events, each as a write of its own.
func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, e := range events {
		io.WriteString(w, "data: "+e+"\n\n")
		w.(http.Flusher).Flush()
	}
}

func content(text string, tokens int) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}],"usage":{"prompt_tokens":7,"completion_tokens":%d}}`, text, tokens)
}

const (
	role   = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":7,"completion_tokens":0}}`
	length = `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":4}}`
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestStreamFollowsAnAnswerToItsEnd(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for name, expected := range map[string]string{
			"Authorization": "Bearer k3y", "Content-Type": "application/json", "User-Agent": "bgbench",
			"X-Request-Id": "r-1", "X-Tenant": "t", "Accept-Encoding": "",
		} {
			if found := r.Header.Get(name); found != expected {
				t.Errorf("header %s: found %q, expected %q", name, found, expected)
			}
		}
		if r.Method+" "+r.URL.Path != "POST /v1/chat/completions" || string(body) != `{"stream":true}` {
			t.Errorf("found %s %s with body %s", r.Method, r.URL.Path, body)
		}
		w.Header().Set(HeaderInferencePod, "vllm-3")
		stream(w, role, content("a", 1), content("bc", 3), length, "[DONE]")
	})
	client := &Client{BaseURL: url + "/", APIKey: "k3y", Header: http.Header{"x-tenant": {"t"}}}
	call := Call{Body: []byte(`{"stream":true}`), Header: http.Header{HeaderRequestID: {"r-1"}}}

	var w watcher
	r := client.Stream(t.Context(), call, &w)
	if r.Status != record.StatusOK || r.Error != "" {
		t.Fatalf("found status %s: %s", r.Status, r.Error)
	}
	sum := sha256.Sum256([]byte("abc"))
	if r.HTTPStatus != 200 || r.Endpoint != "vllm-3" || r.FinishReason != "length" || r.Chunks != 2 || *r.OutputTokens != 4 || *r.PromptTokens != 7 ||
		r.TokenSource != record.TokensFromContinuousUsage || r.TextSHA256 != hex.EncodeToString(sum[:]) || r.CachedTokens != nil {
		t.Errorf("found %+v", r)
	}
	if r.BytesSent != int64(len(call.Body)) || r.BytesReceived < 400 || r.ConnectionReused {
		t.Errorf("found %d bytes sent, %d received, reused %v", r.BytesSent, r.BytesReceived, r.ConnectionReused)
	}
	expected := []string{"sent reused=false", "headers 200 text/event-stream; charset=utf-8", "chunk", "chunk"}
	if !slices.Equal(w.calls, expected) || !slices.Equal(w.tokens, []int{1, 2}) {
		t.Errorf("the observer heard %q with tokens %v", w.calls, w.tokens)
	}
	instants := []time.Time{r.StartedAt, r.SentAt, r.HeadersAt, r.FirstChunkAt, r.FirstTokenAt, r.LastTokenAt, r.DoneAt}
	for i := range instants[1:] {
		if instants[i+1].Before(instants[i]) || instants[i].IsZero() {
			t.Errorf("instants are not in order: %v", instants)
		}
	}
	if !slices.Equal(w.at, []time.Time{r.SentAt, r.HeadersAt, r.FirstTokenAt, r.LastTokenAt}) {
		t.Errorf("the observer heard of %v, the result says %v", w.at, instants)
	}

	if again := client.Stream(t.Context(), call, nil); again.Status != record.StatusOK || !again.ConnectionReused || *again.OutputTokens != 4 {
		t.Errorf("found %+v from the second request, expected the same on the same connection", again)
	}
}

func TestStreamTellsRefusalsApart(t *testing.T) {
	sim := func(name string) string {
		data, err := os.ReadFile("testdata/inference-sim/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, c := range map[string]struct {
		code         int
		reason, body string
		status       string
		err          string
	}{
		"queue full":                           {429, "rejected-saturated", "inference error: ResourceExhausted - request rejected pre-queue: queue at capacity", record.StatusRejected, "inference error: ResourceExhausted - request rejected pre-queue: queue at capacity"},
		"time in the queue ran out":            {429, "rejected-ttl-expired", "", record.StatusRejected, "Too Many Requests"},
		"no model server":                      {503, "rejected-no-endpoints", "", record.StatusRejected, "Service Unavailable"},
		"evicted before the answer began":      {429, "evicted", "request evicted by flow control", record.StatusEvicted, "request evicted by flow control"},
		"evicted by a longer reason":           {429, "evicted-priority", "", record.StatusEvicted, "Too Many Requests"},
		"429 without a reason":                 {429, "", sim("error-429.body"), record.StatusRateLimited, "Simulated error triggered by X-Return-Error header (code 429)"},
		"429 with a reason nobody knows":       {429, "other", "", record.StatusRateLimited, "Too Many Requests"},
		"context length":                       {400, "", sim("error-400-too-long.body"), record.StatusHTTPError, "This model's maximum context length is 8192 tokens. However, you requested 9006 tokens (6 in the messages, 9000 in the completion). Please reduce the length of the messages or completion"},
		"unknown model":                        {404, "", sim("error-404-model.body"), record.StatusHTTPError, "The model `nope` does not exist."},
		"a web server's detail":                {422, "", `{"detail":"no"}`, record.StatusHTTPError, `"no"`},
		"a message without an error object":    {500, "", `{"message":"no"}`, record.StatusHTTPError, "no"},
		"a page of a proxy":                    {502, "", "<html>\n  bad\n gateway</html>", record.StatusHTTPError, "<html> bad gateway</html>"},
		"an answer that repeats the key":       {401, "", `{"error":{"message":"wrong key k3y"}}`, record.StatusHTTPError, "wrong key [redacted]"},
		"a redirection, which is not followed": {307, "", "", record.StatusHTTPError, "redirect to /elsewhere refused"},
		"another success":                      {204, "", "", record.StatusHTTPError, "No Content"},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.reason != "" {
					w.Header().Set(HeaderDroppedReason, c.reason)
				}
				w.Header().Set("Location", "/elsewhere?key=k3y")
				w.WriteHeader(c.code)
				io.WriteString(w, c.body)
			})
			client := &Client{BaseURL: url, APIKey: "k3y"}
			r := client.Stream(t.Context(), Call{}, nil)
			if r.Status != c.status || r.HTTPStatus != c.code || r.DroppedReason != c.reason || r.Error != c.err {
				t.Errorf("found %s %d %q %q, expected %s %d %q %q", r.Status, r.HTTPStatus, r.DroppedReason, r.Error, c.status, c.code, c.reason, c.err)
			}
			if r.SentAt.IsZero() || r.HeadersAt.IsZero() || r.DoneAt.IsZero() || !r.FirstChunkAt.IsZero() || !r.FirstTokenAt.IsZero() {
				t.Errorf("found instants %+v", r)
			}
		})
	}
}

func TestStreamOfAnAnswerThatBreaks(t *testing.T) {
	cutAfter := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			stream(w, events...)
			panic(http.ErrAbortHandler) // the chunked body has no end
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  string
		err     string
		chunks  int
	}{
		"cut in the middle":           {cutAfter(role, content("a", 1)), record.StatusTransportError, "stream broke after 1 chunks: unexpected EOF", 1},
		"cut after the finish reason": {cutAfter(role, content("a", 1), length), record.StatusTransportError, "stream broke after 1 chunks: unexpected EOF", 1},
		"cut after [DONE]":            {cutAfter(role, content("a", 1), length, "[DONE]"), record.StatusOK, "", 1},
		"ended without [DONE]":        {func(w http.ResponseWriter, _ *http.Request) { stream(w, role, content("a", 1), length) }, record.StatusOK, "", 1},
		"ended without finish reason": {func(w http.ResponseWriter, _ *http.Request) { stream(w, role, content("a", 1)) }, record.StatusProtocolError, "stream ended without a finish reason and [DONE]", 1},
		"no event":                    {func(w http.ResponseWriter, _ *http.Request) { stream(w) }, record.StatusProtocolError, "stream ended without an event", 0},
		"an error inside": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, role, content("a", 1), `{"error":{"message":"boom k3y"}}`, "[DONE]")
		}, record.StatusHTTPError, "boom [redacted]", 1},
		"a page of another server": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<html>hello</html>")
		}, record.StatusProtocolError, "stream ended without an event; it is text/html", 0},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { stream(w, "a") }, record.StatusProtocolError, "chunk is not the JSON of a completion: invalid character 'a' looking for beginning of value", 0},
		"aborted by the engine": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, role, content("a", 1), strings.Replace(length, "length", "abort", 1), "[DONE]")
		}, record.StatusProtocolError, "server ended the answer with finish reason abort", 1},
		"closed before it began":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, record.StatusTransportError, "EOF", 0},
		"more than the client accepts": {func(w http.ResponseWriter, _ *http.Request) { stream(w, role, strings.Repeat(" ", 5000)) }, record.StatusProtocolError, "answer is too large", 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := &Client{BaseURL: serve(t, c.handler), APIKey: "k3y", MaxAnswerBytes: 4000}
			r := client.Stream(t.Context(), Call{}, nil)
			if r.Status != c.status || r.Error != c.err || r.Chunks != c.chunks || r.DoneAt.IsZero() {
				t.Errorf("found %s %q with %d chunks, expected %s %q with %d", r.Status, r.Error, r.Chunks, c.status, c.err, c.chunks)
			}
		})
	}
}

func TestAnAnswerIsWholeAtDoneEvenIfTheServerKeepsTheConnection(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, role, content("a", 1), length, "[DONE]", content("b", 2))
		<-r.Context().Done()
	})
	r := (&Client{BaseURL: url}).Stream(t.Context(), Call{}, nil)
	if r.Status != record.StatusOK || r.Chunks != 1 || *r.OutputTokens != 4 {
		t.Errorf("found %+v, expected what came before [DONE]", r)
	}
}

func TestTokensWithoutTextAreOutput(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, role, length, "[DONE]") })
	r := (&Client{BaseURL: url}).Stream(t.Context(), Call{}, nil)
	if r.Status != record.StatusOK || *r.OutputTokens != 4 || !r.FirstTokenAt.IsZero() || r.FirstChunkAt.IsZero() || r.TokenSource != record.TokensFromUsage {
		t.Errorf("found %+v, expected an answer of 4 tokens that has no first token", r)
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(t *testing.T) (context.Context, func())
		status string
	}{
		"cancelled": {func(t *testing.T) (context.Context, func()) { return context.WithCancel(t.Context()) }, record.StatusCancelled},
		"timed out": {func(t *testing.T) (context.Context, func()) {
			ctx := &deadline{Context: t.Context(), done: make(chan struct{})}
			return ctx, func() { close(ctx.done) }
		}, record.StatusTimeout},
	} {
		for where, events := range map[string][]string{"in the stream": {role, content("a", 1)}, "before the answer": nil} {
			t.Run(name+" "+where, func(t *testing.T) {
				arrived := make(chan struct{})
				url := serve(t, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					if events != nil {
						stream(w, events...)
					}
					close(arrived)
					<-r.Context().Done() // the server notices that the client is gone
				})
				ctx, end := c.end(t)
				var w watcher
				if events != nil {
					w.chunk = end
				} else {
					go func() { <-arrived; end() }()
				}
				r := (&Client{BaseURL: url}).Stream(ctx, Call{Body: []byte("{}")}, &w)
				if r.Status != c.status || r.SentAt.IsZero() || r.DoneAt.Before(r.SentAt) || r.HeadersAt.IsZero() != (events == nil) {
					t.Errorf("found %+v, expected status %s", r, c.status)
				}
				if events != nil && (r.Chunks != 1 || r.LastTokenAt.IsZero()) {
					t.Errorf("found %d chunks, expected what came before the end", r.Chunks)
				}
			})
		}
	}
}

// deadline is a context whose deadline passes when a test says so.
type deadline struct {
	context.Context
	done chan struct{}
}

func (d *deadline) Done() <-chan struct{} { return d.done }

func (d *deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestStreamToNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r := (&Client{BaseURL: "http://" + l.Addr().String()}).Stream(t.Context(), Call{}, nil)
	expected := "dial " + l.Addr().String() + ": connect: connection refused"
	if r.Status != record.StatusTransportError || r.Error != expected || !r.SentAt.IsZero() || r.BytesSent != 0 {
		t.Errorf("found %s %q, expected %s %q", r.Status, r.Error, record.StatusTransportError, expected)
	}
	if r := (&Client{BaseURL: "http://[::1"}).Stream(t.Context(), Call{}, nil); r.Status != record.StatusTransportError || r.Error != "missing ']' in host" {
		t.Errorf("found %s %q for a broken URL", r.Status, r.Error)
	}
}

func TestStreamReadsAnAnswerThatDoesNotStream(t *testing.T) {
	recorded, err := os.ReadFile("testdata/inference-sim/chat-nonstream.body")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("To be or "))
	for name, c := range map[string]struct {
		body, status, err, sum string
		tokens                 int64
	}{
		"a completion":          {string(recorded), record.StatusOK, "", hex.EncodeToString(sum[:]), 3},
		"an error":              {`{"error":{"message":"boom"}}`, record.StatusHTTPError, "boom", "", -1},
		"no choice":             {`{"choices":[]}`, record.StatusProtocolError, "answer has no choices", "", -1},
		"no JSON":               {`<`, record.StatusProtocolError, "answer is not the JSON of a completion: invalid character '<' looking for beginning of value", "", -1},
		"aborted by the engine": {`{"choices":[{"finish_reason":"abort"}]}`, record.StatusProtocolError, "server ended the answer with finish reason abort", "", -1},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, c.body)
			})
			r := (&Client{BaseURL: url}).Stream(t.Context(), Call{}, nil)
			if r.Status != c.status || r.Error != c.err || r.TextSHA256 != c.sum || r.DoneAt.IsZero() || !r.FirstTokenAt.IsZero() || r.BytesReceived != int64(len(c.body)) {
				t.Errorf("found %+v", r)
			}
			if (c.tokens < 0) != (r.OutputTokens == nil) || r.OutputTokens != nil && *r.OutputTokens != c.tokens {
				t.Errorf("found output tokens %v, expected %d", r.OutputTokens, c.tokens)
			}
		})
	}
}

// A client that stamps after net/http's buffers would stamp the last chunk of this
// answer late: nobody reads it before the observer of the first chunk returns.
func TestChunksAreStampedWhenTheSocketDeliversThem(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	tick := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Millisecond)
		return now
	}
	// One segment holds headers, three chunks and the end.
	var answer strings.Builder
	answer.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, e := range []string{content("a", 1), content("b", 2), content("c", 3), "[DONE]"} {
		fmt.Fprintf(&answer, "%x\r\ndata: %s\n\n\r\n", len("data: \n\n")+len(e), e)
	}
	answer.WriteString("0\r\n\r\n")
	client := &Client{BaseURL: "http://" + answerOnce(t, answer.String()), Clock: tick}
	w := watcher{chunk: func() {
		for range 100 {
			tick() // the observer takes its time
		}
	}}
	r := client.Stream(t.Context(), Call{}, &w)
	if r.Status != record.StatusOK || r.Chunks != 3 {
		t.Fatalf("found %+v", r)
	}
	for _, at := range []time.Time{r.FirstChunkAt, r.FirstTokenAt, r.LastTokenAt, r.DoneAt} {
		if !at.Equal(r.HeadersAt) {
			t.Errorf("found %v, expected the instant of the read that brought the headers, %v", at, r.HeadersAt)
		}
	}
}

// answerOnce accepts one connection, reads a request's head and writes bytes.
func answerOnce(t *testing.T, answer string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			served <- err
			return
		}
		_, err = io.WriteString(conn, answer)
		served <- err
	}()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestConnectionsOfABurstAreKept(t *testing.T) {
	const burst = 20
	var mu sync.Mutex
	connections := map[string]bool{}
	var here sync.WaitGroup
	here.Add(burst)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		here.Done()
		here.Wait() // all of a burst are open at once
		stream(w, role, content("a", 1), length, "[DONE]")
	})
	client := &Client{BaseURL: url}
	for round := range 2 {
		if round > 0 {
			here.Add(burst)
		}
		var done sync.WaitGroup
		for range burst {
			done.Go(func() {
				if r := client.Stream(t.Context(), Call{}, nil); r.Status != record.StatusOK || r.ConnectionReused != (round == 1) {
					t.Errorf("round %d: found status %s, reused %v", round, r.Status, r.ConnectionReused)
				}
			})
		}
		done.Wait()
	}
	if len(connections) != burst {
		t.Errorf("found %d connections, expected %d", len(connections), burst)
	}
}

func TestClientUsesAProxyOnlyWhenAsked(t *testing.T) {
	proxied := false
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		proxied = r.URL.Host == "model.invalid"
		stream(w, role, content("a", 1), length, "[DONE]")
	})
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	client := &Client{BaseURL: "http://model.invalid"}
	if r := client.Stream(t.Context(), Call{}, nil); r.Status != record.StatusTransportError || proxied {
		t.Errorf("found status %s, proxied %v, expected no proxy", r.Status, proxied)
	}
	to, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	client = &Client{BaseURL: "http://model.invalid", HTTP: NewHTTPClient(Dialling{Proxy: http.ProxyURL(to)})}
	if r := client.Stream(t.Context(), Call{}, nil); r.Status != record.StatusOK || !proxied {
		t.Errorf("found status %s, proxied %v, expected the proxy that was asked for", r.Status, proxied)
	}
}

func TestClientStreamsOverTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("found %s, expected HTTP/1.1", r.Proto)
		}
		stream(w, role, content("a", 1), length, "[DONE]")
	}))
	defer s.Close()
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig
	client := &Client{BaseURL: s.URL, HTTP: NewHTTPClient(Dialling{TLS: roots})}
	r := client.Stream(t.Context(), Call{}, nil)
	if r.Status != record.StatusOK || r.FirstTokenAt.Before(r.HeadersAt) || r.FirstTokenAt.Before(r.SentAt) {
		t.Errorf("found %+v", r)
	}
}

func TestClientSpeaksHTTP2WhereItIsAskedTo(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("found %s, expected HTTP/2", r.Proto)
		}
		stream(w, role, content("a", 1), length, "[DONE]")
	})
	plain, secure := httptest.NewUnstartedServer(handler), httptest.NewUnstartedServer(handler)
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	defer plain.Close()
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	var dialled atomic.Int64
	roots := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := NewHTTPClient(Dialling{HTTP2: true, TLS: &tls.Config{RootCAs: roots}, Dialled: &dialled})
	defer client.CloseIdleConnections()
	for _, base := range []string{plain.URL, secure.URL} {
		for i := range 2 {
			r := (&Client{BaseURL: base, HTTP: client}).Stream(t.Context(), Call{Body: []byte("{}")}, nil)
			if r.Status != record.StatusOK || r.Chunks != 1 || r.ConnectionReused != (i == 1) || r.FirstTokenAt.Before(r.SentAt) {
				t.Errorf("%s: found %+v", base, r)
			}
		}
	}
	if n := dialled.Load(); n != 2 {
		t.Errorf("found %d connections, expected one to each server", n)
	}
}

func TestClientWorksWithATransportWithoutHooks(t *testing.T) {
	client := &Client{BaseURL: "http://model", HTTP: &http.Client{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		stream(w, role, content("a", 1), length, "[DONE]")
		return w.Result(), nil
	})}}
	var w watcher
	r := client.Stream(t.Context(), Call{}, &w)
	if r.Status != record.StatusOK || r.SentAt.IsZero() || r.HeadersAt.IsZero() || len(w.calls) != 3 {
		t.Errorf("found %+v and calls %q", r, w.calls)
	}
	client.HTTP.Transport = transportFunc(func(*http.Request) (*http.Response, error) { return nil, errors.New("no") })
	if r := client.Stream(t.Context(), Call{}, nil); r.Status != record.StatusTransportError || r.Error != "no" {
		t.Errorf("found %s %q", r.Status, r.Error)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnAnswerThatIsCompressedUnaskedIsRefused(t *testing.T) {
	for encoding, want := range map[string]string{
		"gzip": record.StatusProtocolError, "br": record.StatusProtocolError, "identity": record.StatusOK, "": record.StatusOK,
	} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if asked := r.Header["Accept-Encoding"]; asked != nil {
				t.Errorf("found Accept-Encoding %q, expected none", asked)
			}
			w.Header().Set("Content-Encoding", encoding)
			stream(w, role, content("a", 1), length, "[DONE]")
		})
		for name, client := range map[string]*http.Client{"http1": NewStreamClient(Dialling{}), "net/http": NewHTTPClient(Dialling{})} {
			r := (&Client{BaseURL: url, HTTP: client}).Stream(t.Context(), Call{}, nil)
			if r.Status != want || r.DoneAt.IsZero() || want != record.StatusOK && r.Error != "found an answer in content encoding "+encoding+", which was not asked for" {
				t.Errorf("%q by %s: found %s %q, expected %s", encoding, name, r.Status, r.Error, want)
			}
			client.CloseIdleConnections()
		}
	}
}

func TestAHostAmongTheHeadersIsTheHostOfTheRequest(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "model.example" {
			t.Errorf("found host %s", r.Host)
		}
		stream(w, role, content("a", 1), length, "[DONE]")
	})
	header := http.Header{"Host": {"model.example"}}
	for _, client := range []*http.Client{NewStreamClient(Dialling{}), NewHTTPClient(Dialling{})} {
		if r := (&Client{BaseURL: url, HTTP: client, Header: header}).Stream(t.Context(), Call{}, nil); r.Status != record.StatusOK {
			t.Errorf("found %s %q", r.Status, r.Error)
		}
		client.CloseIdleConnections()
	}
}
