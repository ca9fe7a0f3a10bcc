package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/google/uuid"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
)

// Proxy is a router before model servers on other machines, as Envoy with an endpoint
// picker is: requests and answers pass through it byte by byte, and only when and where
// is the router's to say.
type Proxy struct {
	K      *kernel.Kernel
	Router *router.Router
	Client *http.Client

	exchanges map[*sim.Call]*exchange // touched on the kernel's goroutine only
}

// NewProxy returns a proxy; Router is set before it serves.
func NewProxy(k *kernel.Kernel, client *http.Client) *Proxy {
	return &Proxy{K: k, Client: client, exchanges: map[*sim.Call]*exchange{}}
}

// Endpoint is the model server at url as a backend of the router.
func (p *Proxy) Endpoint(name, url string, scrape func() router.Page) router.Endpoint {
	return router.Endpoint{Name: name, Backend: server{p, name, url}, Scrape: scrape}
}

// exchange is one request of a client and its answer. It implements sim.Reply for the
// router, which says how it ended.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	body    []byte
	started atomic.Bool // status and headers are out
	whole   atomic.Bool // the answer is out to its end
	end     sim.End
	ended   chan struct{}
	sent    chan struct{} // closed when nothing writes to w any more; nil while nothing did
}

// Headers implements sim.Reply.
func (x *exchange) Headers(kernel.Time, string) {}

// Tokens implements sim.Reply.
func (x *exchange) Tokens(kernel.Time, int) {}

// End implements sim.Reply.
func (x *exchange) End(_ kernel.Time, end sim.End) {
	x.end = end
	close(x.ended)
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return // the client has gone, or sends what no model takes
	}
	x := &exchange{w: w, r: r, body: body, ended: make(chan struct{})}
	call := &sim.Call{ID: r.Header.Get(openai.HeaderRequestID), Path: r.URL.Path}
	if call.ID == "" {
		call.ID = uuid.NewString()
		r.Header.Set(openai.HeaderRequestID, call.ID)
	}
	if err := router.ReadBody(call, body); err != nil {
		refused := make(chan sim.End, 1)
		p.K.Post(func() { refused <- p.Router.RefuseBody(err) })
		writeEnd(w, <-refused)
		return
	}
	router.ReadHeaders(call, func(name string) (string, bool) {
		values := r.Header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[len(values)-1], true
	})
	var abort func()
	p.K.Post(func() {
		p.exchanges[call] = x
		abort = p.Router.Submit(call, x)
	})
	select {
	case <-x.ended:
	case <-r.Context().Done():
		p.K.Post(func() { abort() })
		<-x.ended
	}
	sending := make(chan chan struct{}, 1)
	p.K.Post(func() {
		delete(p.exchanges, call)
		sending <- x.sent
	})
	if sent := <-sending; sent != nil {
		<-sent
	}
	switch {
	case x.whole.Load() || r.Context().Err() != nil:
	case !x.started.Load():
		writeEnd(w, x.end)
	default:
		panic(http.ErrAbortHandler) // the client holds a status: all that is left is to cut it off
	}
}

// server is a model server as the router's backend.
type server struct {
	p         *Proxy
	name, url string
}

// Submit implements sim.Backend.
func (s server) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	x := s.p.exchanges[call]
	ctx, cancel := context.WithCancel(context.Background())
	x.sent = make(chan struct{})
	go func() {
		end := s.pass(ctx, x, reply)
		close(x.sent)
		s.p.K.Post(func() { reply.End(s.p.K.Now(), end) })
	}()
	return cancel
}

// pass sends the request on and the answer back.
func (s server) pass(ctx context.Context, x *exchange, reply sim.Reply) sim.End {
	aborted := sim.End{Status: sim.StatusAborted, FinishReason: "abort"}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+x.r.URL.RequestURI(), bytes.NewReader(x.body))
	if err != nil {
		return sim.End{Status: http.StatusBadGateway, Message: err.Error()}
	}
	request.Header = x.r.Header.Clone()
	response, err := s.p.Client.Do(request)
	if ctx.Err() != nil {
		return aborted
	}
	if err != nil {
		// Envoy's answer for a server that does not take the connection.
		return sim.End{Status: http.StatusServiceUnavailable, Body: []byte("upstream connect error or disconnect/reset before headers")}
	}
	defer response.Body.Close()
	s.p.K.Post(func() { reply.Headers(s.p.K.Now(), s.name) })
	for name, values := range response.Header {
		x.w.Header()[name] = values
	}
	x.started.Store(true)
	x.w.WriteHeader(response.StatusCode)
	flusher := http.NewResponseController(x.w)
	buf := make([]byte, 32<<10)
	for {
		n, err := response.Body.Read(buf)
		if n > 0 {
			s.p.K.Post(func() { reply.Tokens(s.p.K.Now(), 1) })
			if _, err := x.w.Write(buf[:n]); err != nil {
				return aborted
			}
			flusher.Flush() // an error shows at the next write
		}
		switch {
		case err == io.EOF:
			x.whole.Store(true)
			return sim.End{Status: response.StatusCode}
		case ctx.Err() != nil:
			return aborted
		case err != nil:
			return sim.End{Status: sim.StatusNoAnswer, Message: err.Error(), Cut: true}
		}
	}
}
