package openai

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/record"
)

func TestEveryTimeoutHasItsWord(t *testing.T) {
	const short, long = 30 * time.Millisecond, time.Minute
	hang := func(w http.ResponseWriter, r *http.Request, events ...string) {
		io.Copy(io.Discard, r.Body) // the server notices a client that goes only then
		if events != nil {
			stream(w, events...)
		}
		<-r.Context().Done()
	}
	silent := func(w http.ResponseWriter, r *http.Request) { hang(w, r) }
	headersOnly := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		hang(w, r)
	}
	halfAHeader := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Ty")
		io.Copy(io.Discard, conn) // until the client is gone
	}
	roleOnly := func(w http.ResponseWriter, r *http.Request) { hang(w, r, role) }
	oneToken := func(w http.ResponseWriter, r *http.Request) { hang(w, r, role, content("a", 1)) }
	finished := func(w http.ResponseWriter, r *http.Request) { hang(w, r, role, content("a", 1), length) }
	whole := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		hang(w, r)
	}
	for name, c := range map[string]struct {
		handler  http.HandlerFunc
		timeouts Timeouts
		err      string
		chunks   int
	}{
		"no headers":                         {silent, Timeouts{Headers: short, FirstToken: long, Idle: long}, "headers timeout after 30ms", 0},
		"half a header":                      {halfAHeader, Timeouts{Headers: short}, "headers timeout after 30ms", 0},
		"no headers, bounded by first token": {silent, Timeouts{FirstToken: short}, "first token timeout after 30ms", 0},
		"headers and no event":               {headersOnly, Timeouts{Headers: long, FirstToken: short, Idle: long}, "first token timeout after 30ms", 0},
		"an empty role chunk is no token":    {roleOnly, Timeouts{Headers: long, FirstToken: short, Idle: short}, "first token timeout after 30ms", 0},
		"a stream that stops":                {oneToken, Timeouts{Connect: long, Headers: long, FirstToken: long, Idle: short}, "idle timeout after 30ms", 1},
		"a stream that stops before [DONE]":  {finished, Timeouts{Idle: short}, "idle timeout after 30ms", 1},
		"an answer that does not stream":     {whole, Timeouts{FirstToken: short}, "first token timeout after 30ms", 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := &Client{BaseURL: serve(t, c.handler), Timeouts: c.timeouts}
			r := client.Stream(t.Context(), Call{Body: []byte("{}")}, nil)
			if r.Status != record.StatusTimeout || r.Error != c.err || r.Chunks != c.chunks || r.DoneAt.Sub(r.StartedAt) < short {
				t.Errorf("found %s %q with %d chunks after %s, expected timeout %q with %d", r.Status, r.Error, r.Chunks, r.DoneAt.Sub(r.StartedAt), c.err, c.chunks)
			}
		})
	}
}

func TestAConnectionThatIsNeverMadeIsAConnectTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// A TLS server that never says a word is a connection that is never made.
	for name, client := range map[string]*Client{
		"by the watchdog": {Timeouts: Timeouts{Connect: 30 * time.Millisecond}},
		"by the dialler":  {HTTP: NewHTTPClient(Dialling{ConnectTimeout: 30 * time.Millisecond})},
	} {
		client.BaseURL = "https://" + l.Addr().String()
		r := client.Stream(t.Context(), Call{}, nil)
		if r.Status != record.StatusTimeout || !strings.HasPrefix(r.Error, "connect timeout") || !r.SentAt.IsZero() {
			t.Errorf("%s: found %s %q, expected a connect timeout", name, r.Status, r.Error)
		}
	}
}

func TestAStreamThatGoesOnOutlivesItsIdleTimeout(t *testing.T) {
	gap := 20 * time.Millisecond
	client := &Client{Timeouts: Timeouts{Idle: 10 * gap}}
	client.BaseURL = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 15 { // in all longer than the timeout
			stream(w, content("a", i+1))
			time.Sleep(gap)
		}
		stream(w, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, "[DONE]")
	})
	if r := client.Stream(t.Context(), Call{}, nil); r.Status != record.StatusOK || r.Chunks != 15 {
		t.Errorf("found %s %q with %d chunks", r.Status, r.Error, r.Chunks)
	}
}
