package http1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
)

// TestTheNextAnswerIsFoundBehindOne reads two answers from one connection, of which the
// first one has an end that is easily missed.
func TestTheNextAnswerIsFoundBehindOne(t *testing.T) {
	for name, c := range map[string]struct{ method, answer, body string }{
		"a length that is that of no body":     {http.MethodHead, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", ""},
		"chunks that never come":               {http.MethodHead, chunkedHead, ""},
		"neither length nor body":              {http.MethodHead, "HTTP/1.1 200 OK\r\n\r\n", ""},
		"204":                                  {http.MethodGet, "HTTP/1.1 204 No Content\r\n\r\n", ""},
		"204 with a length":                    {http.MethodGet, "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", ""},
		"304 with a length":                    {http.MethodGet, "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", ""},
		"304 with chunks":                      {http.MethodGet, "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		"length 0":                             {http.MethodGet, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
		"chunks with extensions":               {http.MethodGet, chunkedHead + "2;a=b;c=\"0\\\"\"\r\nhi\r\n0;end\r\n\r\n", "hi"},
		"a trailer":                            {http.MethodGet, chunkedHead + "2\r\nhi\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n", "hi"},
		"chunks and a length, of which one is": {http.MethodGet, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "hi"},
		"a header that goes on":                {http.MethodGet, "HTTP/1.1 200 OK\r\nA: 1\r\n Content-Length: 9\r\nContent-Length: 2\r\n\r\nhi", "hi"},
		"interim answers before it":            {http.MethodGet, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n" + ok, "ok"},
		"HTTP/1.0 that keeps its connection":   {http.MethodGet, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", "hi"},
		"a compression that nobody asked for":  {http.MethodGet, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "\x1f\x8b"},
		"a redirection":                        {http.MethodGet, "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 2\r\n\r\nhi", "hi"},
		"a refusal":                            {http.MethodGet, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno", "no"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, "tcp", func(p *talk) {
				for _, answer := range []string{c.answer, ok} {
					if p.request() != nil {
						p.say(answer)
					}
				}
				p.request()
			})
			client := p.ours(t)
			for _, exchange := range []struct{ method, body string }{{c.method, c.body}, {http.MethodGet, "ok"}} {
				if got := do(t, client, exchange.method); got.body != exchange.body || got.err != "" {
					t.Errorf("found %+v, expected %q", got, exchange.body)
				}
			}
			if n := p.dials.Load(); n != 1 {
				t.Errorf("found %d connections, expected 1", n)
			}
		})
	}
}

// TestACancelledStreamGivesItsConnectionUp ends a stream in the middle of a chunk. What is
// left of it must not be read as the next answer.
func TestACancelledStreamGivesItsConnectionUp(t *testing.T) {
	for name, text := range map[string]string{
		"in the data of a chunk":      chunkedHead + "5\r\nhel",
		"between two chunks":          chunkedHead + "3\r\nhel\r\n",
		"in the line before a chunk":  chunkedHead + "3\r\nhel\r\n5",
		"before the empty line at it": chunkedHead + "3\r\nhel\r\n0\r\n",
		"in a body with a length":     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		"in a body without one":       "HTTP/1.1 200 OK\r\n\r\nhel",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, "tcp", func(p *talk) {
				p.request()
				if p.number == 1 {
					p.say(text)
					io.Copy(io.Discard, p.Conn) // until the client is gone
					return
				}
				p.say(ok)
			})
			client := p.ours(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://peer/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			cancel()
			if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
				t.Errorf("found %v, expected what ended the context", err)
			}
			resp.Body.Close()
			if got := do(t, client, http.MethodGet); got.body != "ok" || p.dials.Load() != 2 {
				t.Errorf("found %+v after %d connections, expected ok on another one", got, p.dials.Load())
			}
		})
	}
}
