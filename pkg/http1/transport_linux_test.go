package http1

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// heard is what the hooks of a trace were told, in order.
type heard struct {
	mu    sync.Mutex
	hooks []string
}

func (h *heard) add(hook string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks = append(h.hooks, hook)
}

func (h *heard) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, _ error) { h.add("connected") },
		GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused {
				h.add("reused")
			} else {
				h.add("new")
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				h.add("not written")
			} else {
				h.add("written")
			}
		},
		GotFirstResponseByte: func() { h.add("first byte") },
		PutIdleConn:          func(error) { h.add("idle") },
	})
}

// post sends a body and returns the answer's.
func post(t *testing.T, c *http.Client, ctx context.Context, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://peer/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) {
		for p.request() != nil {
			p.say(ok)
		}
	})
	c := p.ours(t)
	var h heard
	for range 3 {
		if answer, err := post(t, c, h.trace(t.Context()), "x"); err != nil || answer != "ok" {
			t.Fatalf("found %q, %v", answer, err)
		}
	}
	want := []string{"connected", "new", "written", "first byte", "idle", "reused", "written", "first byte", "idle", "reused", "written", "first byte", "idle"}
	if !slices.Equal(h.hooks, want) || p.dials.Load() != 1 {
		t.Errorf("found %d connections and %q, expected one and %q", p.dials.Load(), h.hooks, want)
	}
	c.CloseIdleConnections()
	if _, err := post(t, c, t.Context(), "x"); err != nil || p.dials.Load() != 2 {
		t.Errorf("found %v and %d connections after idle ones were closed, expected another one", err, p.dials.Load())
	}
}

func TestAnAnswerEndsItsConnection(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		read   int // bytes of the body, before it is closed
	}{
		"that says so":                      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 9},
		"of HTTP/1.0":                       {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 9},
		"with more than it announced":       {ok + "!", 9},
		"that switches protocols":           {"HTTP/1.1 101 Switching Protocols\r\n\r\n", 9},
		"that was not read to its end":      {ok, 1},
		"whose end was not looked for":      {ok, 2},
		"that was followed by another one":  {ok + ok, 9},
		"whose chunks were not read":        {chunkedHead + "2\r\nok\r\n0\r\n\r\n", 0},
		"with bytes behind the last chunk":  {chunkedHead + "2\r\nok\r\n0\r\n\r\n!", 9},
		"without a body but something else": {"HTTP/1.1 204 No Content\r\n\r\n!", 9},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, "tcp", func(p *talk) {
				for p.request() != nil {
					p.say(c.answer)
				}
			})
			client := p.ours(t)
			for range 2 {
				resp, err := client.Get("http://peer/")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.CopyN(io.Discard, resp.Body, int64(c.read)); err != nil && err != io.EOF {
					t.Error(err)
				}
				resp.Body.Close()
				if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
					t.Error("a body that was closed can be read")
				}
			}
			if n := p.dials.Load(); n != 2 {
				t.Errorf("found %d connections for two requests, expected one for each", n)
			}
		})
	}
}

// TestARequestIsSentAgain holds the rule when that happens. The server ends its second
// connection, and all later ones, after an answer; how it ends the first one differs.
func TestARequestIsSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		header string
		end    func(p *talk, closed chan<- bool) // after the answer to the first request
		again  bool
	}{
		"if the server has closed the idle connection": {"POST", "", func(p *talk, closed chan<- bool) {
			p.Close()
			closed <- true
		}, true},
		"if the server has reset the idle connection": {"POST", "", func(p *talk, closed chan<- bool) {
			p.Conn.(*net.TCPConn).SetLinger(0)
			p.Close()
			closed <- true
		}, true},
		"if the server has said that it took too long": {"POST", "", func(p *talk, closed chan<- bool) {
			p.say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
			closed <- true
		}, true},
		"if the server has begun to say something": {"POST", "", func(p *talk, closed chan<- bool) {
			p.say("HTTP/1.1 4")
			closed <- true
			<-p.late
		}, true},
		"not if the server ends the connection while it is sent": {"POST", "", func(p *talk, closed chan<- bool) {
			closed <- true
			p.Conn.Read(make([]byte, 1))
			p.Conn.(*net.TCPConn).SetLinger(0)
		}, false},
		"not if the server has read it": {"POST", "", func(p *talk, closed chan<- bool) {
			closed <- true
			p.request()
		}, false},
		"if the server has read it, but it may be made twice": {"GET", "", func(p *talk, closed chan<- bool) {
			closed <- true
			p.request()
		}, true},
		"if the server has read it, but it has a key": {"POST", "Idempotency-Key", func(p *talk, closed chan<- bool) {
			closed <- true
			p.request()
		}, true},
		"not if a part of the answer came": {"GET", "", func(p *talk, closed chan<- bool) {
			closed <- true
			p.request()
			p.say("HTTP/1.1 200 O")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan bool, 1)
			p := newPeer(t, "tcp", func(p *talk) {
				for p.request() != nil {
					p.say(ok)
					if p.number == 1 {
						c.end(p, closed)
						return
					}
				}
			})
			client := p.ours(t)
			ask := func() error {
				req, err := http.NewRequest(c.method, "http://peer/", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				if c.header != "" {
					req.Header.Set(c.header, "1")
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			}
			if err := ask(); err != nil {
				t.Fatal(err)
			}
			<-closed
			err := ask()
			if n := p.dials.Load(); (err == nil) != c.again || (n == 2) != c.again {
				t.Errorf("found %v after %d connections, expected it to be sent again: %v", err, n, c.again)
			}
		})
	}
}

func TestANewConnectionThatEndsIsNoReasonToSendAgain(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) { p.request() })
	_, err := p.ours(t).Get("http://peer/")
	if n := p.dials.Load(); !errors.Is(err, io.EOF) || n != 1 {
		t.Errorf("found %v after %d connections, expected EOF after one", err, n)
	}
}

func TestAResetInAStreamIsAnError(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) {
		p.request()
		p.say(chunkedHead + "5\r\nhello\r\n")
		p.Conn.Read(make([]byte, 1)) // until the client has what it was sent
		p.Conn.(*net.TCPConn).SetLinger(0)
	})
	var socket *Socket
	dial := p.dial
	p.dial = func(ctx context.Context, network, address string) (s *Socket, err error) {
		socket, err = dial(ctx, network, address)
		return socket, err
	}
	resp, err := p.ours(t).Get("http://peer/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	piece, at, err := resp.Body.(*Body).NextPiece()
	if string(piece) != "hello" || err != nil || at.IsZero() {
		t.Errorf("found %q at %v, %v", piece, at, err)
	}
	socket.Conn.Write([]byte("x"))
	_, _, err = resp.Body.(*Body).NextPiece()
	var op *net.OpError
	if !errors.As(err, &op) || !strings.Contains(err.Error(), "connection reset by peer") {
		t.Errorf("found %v", err)
	}
}

func TestTheContextEndsARequestAtAnyMoment(t *testing.T) {
	hang := func(p *talk) { io.Copy(io.Discard, p.Conn) } // until the client is gone
	for name, c := range map[string]struct {
		serve func(p *talk)
		body  int
	}{
		"while the body is sent":      {func(p *talk) { <-p.late }, 32 << 20},
		"before the answer":           {hang, 10},
		"in the headers":              {func(p *talk) { p.request(); p.say("HTTP/1.1 200 OK\r\nA: "); hang(p) }, 10},
		"in the body":                 {func(p *talk) { p.request(); p.say(chunkedHead + "5\r\nhello\r\n"); hang(p) }, 10},
		"in a line before a chunk":    {func(p *talk) { p.request(); p.say(chunkedHead + "5"); hang(p) }, 10},
		"after interim answers":       {func(p *talk) { p.request(); p.say("HTTP/1.1 100 Continue\r\n\r\n"); hang(p) }, 10},
		"in a body without an end":    {func(p *talk) { p.request(); p.say("HTTP/1.1 200 OK\r\n\r\nhello"); hang(p) }, 10},
		"in a body that has a length": {func(p *talk) { p.request(); p.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"); hang(p) }, 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, "tcp", c.serve)
			for range 20 {
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("enough")
				var ended sync.WaitGroup
				ended.Go(func() {
					runtime.Gosched()
					cancel(why)
				})
				if _, err := post(t, p.ours(t), ctx, strings.Repeat("x", c.body)); !errors.Is(err, why) {
					t.Errorf("found %v, expected what ended the context", err)
				}
				ended.Wait()
			}
		})
	}
}

func TestAContextThatEndsAfterTheAnswerTouchesNoOtherRequest(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) {
		for p.request() != nil {
			p.say(ok)
		}
	})
	c := p.ours(t)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		if answer, err := post(t, c, ctx, "x"); answer != "ok" || err != nil {
			t.Fatalf("found %q, %v", answer, err)
		}
		go cancel()
	}
	if n := p.dials.Load(); n != 1 {
		t.Errorf("found %d connections, expected 1", n)
	}
}

func TestAServerMayAnswerBeforeItHasReadTheRequest(t *testing.T) {
	const size = 16 << 20
	got := make(chan int, 1)
	p := newPeer(t, "tcp", func(p *talk) {
		// More than fits in the sockets, so that a client which only writes would be stuck.
		p.say(chunkedHead+"400000\r\n", strings.Repeat("y", 4<<20), "\r\n")
		r, err := http.ReadRequest(p.in)
		if err != nil {
			t.Error(err)
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		got <- int(n)
		p.say("0\r\n\r\n")
		for p.request() != nil {
			p.say(ok)
		}
	})
	c := p.ours(t)
	answer, err := post(t, c, t.Context(), strings.Repeat("x", size))
	if n := <-got; n != size || len(answer) != 4<<20 || err != nil {
		t.Errorf("sent %d bytes, found %d and %v", n, len(answer), err)
	}
	if _, err := post(t, c, t.Context(), "x"); err != nil || p.dials.Load() != 1 {
		t.Errorf("found %v and %d connections, expected the same one once the request was through", err, p.dials.Load())
	}
}

func TestAnAnswerToARequestThatWasNotReadCounts(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) {
		p.say("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		p.Conn.(*net.TCPConn).CloseWrite()
		<-p.late
	})
	if answer, err := post(t, p.ours(t), t.Context(), strings.Repeat("x", 32<<20)); answer != "no" || err != nil {
		t.Errorf("found %q, %v", answer, err)
	}
}

func TestARequestThatFailsForItsOwnSakeIsNotSentAgain(t *testing.T) {
	broken := errors.New("disk on fire")
	p := newPeer(t, "tcp", func(p *talk) {
		for p.request() != nil {
			p.say(ok)
		}
	})
	c := p.ours(t)
	if _, err := post(t, c, t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	for name, length := range map[string]int64{"short": 100, "long": small + 100, "unknown": -1} {
		before := p.dials.Load()
		req, err := http.NewRequest(http.MethodPost, "http://peer/", io.MultiReader(strings.NewReader("x"), failing{broken}))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		req.GetBody = func() (io.ReadCloser, error) { t.Error("the body is asked for again"); return http.NoBody, nil }
		if _, err = c.Do(req); err == nil || !strings.Contains(err.Error(), broken.Error()) || p.dials.Load() > before+1 {
			t.Errorf("%s: found %v after %d connections", name, err, p.dials.Load()-before)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestBodiesOfAnyLengthArrive(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) {
		for {
			r, err := http.ReadRequest(p.in)
			if err != nil {
				return
			}
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				t.Error(err)
			}
			if r.Host != "peer" || n != r.ContentLength && r.ContentLength >= 0 {
				t.Errorf("found %d bytes of %d for host %q", n, r.ContentLength, r.Host)
			}
			p.say(ok)
		}
	})
	c := p.ours(t)
	for _, size := range []int{0, 1, small, small + 1, 200_000} {
		for _, known := range []bool{true, false} {
			var body io.Reader = strings.NewReader(strings.Repeat("x", size))
			if !known {
				body = struct{ io.Reader }{body}
			}
			resp, err := c.Post("http://peer/", "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	if n := p.dials.Load(); n != 1 {
		t.Errorf("found %d connections, expected 1", n)
	}
}

func TestARequestThatCannotBeSentIsRefused(t *testing.T) {
	p := newPeer(t, "tcp", func(*talk) {})
	for want, change := range map[string]func(r *http.Request){
		"http1: found no host in the URL of a request":                                     func(r *http.Request) { r.URL.Host = "" },
		`http1: found scheme "ftp", expected http or https`:                                func(r *http.Request) { r.URL.Scheme = "ftp" },
		`http1: found method "a b", expected another one`:                                  func(r *http.Request) { r.Method = "a b" },
		`http1: found method "CONNECT", expected another one`:                              func(r *http.Request) { r.Method = "CONNECT" },
		`http1: found "a b", expected the name of a header`:                                func(r *http.Request) { r.Header["a b"] = []string{""} },
		`http1: found a control character in header "A"`:                                   func(r *http.Request) { r.Header["A"] = []string{"k3y\n"} },
		"http1: found a request with a trailer, Expect or Upgrade, expected none of them":  func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"http1: found a request with a trailer, Expect or Upgrade, expected none of them ": func(r *http.Request) { r.Trailer = http.Header{"A": nil} },
	} {
		req, err := http.NewRequest(http.MethodGet, "http://peer/", nil)
		if err != nil {
			t.Fatal(err)
		}
		change(req)
		closed := false
		req.Body = closing{&closed}
		_, err = p.ours(t).Transport.RoundTrip(req)
		if err == nil || err.Error() != strings.TrimSpace(want) || !closed {
			t.Errorf("found %v, body closed %v, expected %s", err, closed, want)
		}
	}
	if n := p.dials.Load(); n != 0 {
		t.Errorf("found %d connections", n)
	}
}

type closing struct{ closed *bool }

func (c closing) Read([]byte) (int, error) { return 0, io.EOF }
func (c closing) Close() error             { *c.closed = true; return nil }

// overTLS is a client of s.
func overTLS(t *testing.T, s *httptest.Server, dialled *atomic.Int64) *http.Client {
	var buffers Buffers
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return client(t, &Transport{Buffers: &buffers, TLS: &tls.Config{RootCAs: roots}, HandshakeTimeout: 20 * time.Second,
		Dial: func(ctx context.Context, network, _ string) (*Socket, error) {
			dialled.Add(1)
			conn, err := (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
			if err != nil {
				return nil, err
			}
			return NewSocket(conn, &buffers, time.Now, time.Now()), nil
		}})
}

func TestConnectionsOverTLSAreUsedAgainAndReplaced(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if n != r.ContentLength || r.ProtoMajor != 1 {
			t.Errorf("found %d bytes of %d by %s", n, r.ContentLength, r.Proto)
		}
		for range 3 {
			io.WriteString(w, strings.Repeat("x", 10_000))
			w.(http.Flusher).Flush()
		}
	}))
	defer s.Close()
	var dialled atomic.Int64
	c := overTLS(t, s, &dialled)
	ask := func(size int) {
		t.Helper()
		resp, err := c.Post("https://example.com/", "", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); n != 30_000 || err != nil || resp.TLS == nil {
			t.Errorf("found %d bytes, %v, TLS %v", n, err, resp.TLS)
		}
	}
	for _, size := range []int{1, 100_000, 1} {
		ask(size)
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("found %d connections, expected 1", n)
	}
	s.CloseClientConnections()
	ask(1)
	if n := dialled.Load(); n != 2 {
		t.Errorf("found %d connections, expected another one after the server closed the first", n)
	}
}

func TestAHandshakeIsBounded(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) { <-p.late })
	c := client(t, &Transport{Dial: p.dial, Buffers: &p.buffers, HandshakeTimeout: 20 * time.Millisecond})
	_, err := c.Get("https://peer/")
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || !strings.HasSuffix(err.Error(), "TLS handshake timeout") {
		t.Errorf("found %v", err)
	}
}

func TestAConnectionThatIdledTooLongIsClosed(t *testing.T) {
	var p pool
	now := time.Now()
	pr := newPeer(t, "tcp", func(p *talk) { p.request() })
	tr := &Transport{Dial: pr.dial, Buffers: &pr.buffers}
	to := destination{"http", "peer:80"}
	var conns []*conn
	for i := range 3 {
		c, err := tr.connect(t.Context(), to, "peer")
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		p.put(c, now.Add(time.Duration(i)*time.Minute))
	}
	if c := p.take(to, now.Add(2*time.Minute), 90*time.Second); c != conns[2] {
		t.Errorf("found %p, expected the one that was used last of %p", c, conns)
	}
	if c := p.take(to, now.Add(5*time.Minute), 90*time.Second); c != nil {
		t.Errorf("found %p, expected none that idled for so long", c)
	}
	for i, c := range conns[:2] {
		if _, err := c.net.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("connection %d: found %v, expected that it is closed", i, err)
		}
	}
	p.close()
	p.put(conns[2], now)
	if _, err := conns[2].net.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("found %v for a connection that came back after the pool was closed", err)
	}
}

func TestNoGoroutineStays(t *testing.T) {
	p := newPeer(t, "tcp", func(p *talk) {
		for p.request() != nil {
			p.say(ok)
		}
	})
	c := p.ours(t)
	var ended sync.WaitGroup
	for range 50 {
		ended.Go(func() {
			if _, err := post(t, c, t.Context(), strings.Repeat("x", 100_000)); err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
	c.CloseIdleConnections()
	buf := make([]byte, 1<<20)
	for stack := ""; ; {
		stack = string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stack, "http1.(*sending)") && !strings.Contains(stack, "http1.(*exchange)") {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(stack)
		}
		runtime.Gosched()
	}
}
