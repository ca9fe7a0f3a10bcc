package http1

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// Transport is an http.RoundTripper. It calls these hooks of a net/http/httptrace of the
// request: those of its dialler, TLSHandshakeStart, TLSHandshakeDone, GotConn, WroteRequest,
// GotFirstResponseByte and PutIdleConn, the last one before another request can get the
// connection. WroteRequest may come on another goroutine, and after the answer.
//
// It is safe for concurrent use and must not be copied after its first use.
type Transport struct {
	// Dial opens a connection, whose socket must be one of the system.
	Dial func(ctx context.Context, network, address string) (*Socket, error)
	// Buffers are those of the sockets that Dial makes.
	Buffers *Buffers
	// TLS holds private roots or a client certificate; nil is neither.
	TLS *tls.Config
	// HandshakeTimeout bounds the making of TLS; 0 is no bound.
	HandshakeTimeout time.Duration
	// IdleTimeout is how long a connection may idle and still be used; 0 is no bound.
	IdleTimeout time.Duration
	// MaxHeaderBytes bounds the head of an answer; 0 is DefaultMaxHeaderBytes.
	MaxHeaderBytes int64

	idle    pool
	readers sync.Pool // of *bufio.Reader
	writers sync.Pool // of *bufio.Writer
}

// DefaultMaxHeaderBytes is far above what model servers and the proxies before them send.
const DefaultMaxHeaderBytes = 1 << 20

// RoundTrip implements http.RoundTripper. The body of the answer is a *Body, or
// http.NoBody.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	to, host, err := check(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	ctx := req.Context()
	trace := httptrace.ContextClientTrace(ctx)
	for sent := req; ; {
		c, err := t.conn(ctx, to, host)
		if err != nil {
			closeBody(sent)
			return nil, err
		}
		if trace != nil && trace.GotConn != nil {
			trace.GotConn(c.got())
		}
		e := &exchange{t: t, c: c, ctx: ctx, trace: trace}
		resp, err := e.run(sent)
		if err == nil {
			resp.Request = req
			return resp, nil
		}
		if !e.again(req, err) {
			return nil, plain(err)
		}
		if sent, err = rewound(req); err != nil {
			return nil, err
		}
	}
}

// CloseIdleConnections closes the connections that no request uses. http.Client calls it.
func (t *Transport) CloseIdleConnections() { t.idle.close() }

// conn returns a connection that idles, or opens one.
func (t *Transport) conn(ctx context.Context, to destination, host string) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c := t.idle.take(to, time.Now(), t.IdleTimeout); c != nil {
		return c, nil
	}
	c, err := t.connect(ctx, to, host)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return c, err
}
