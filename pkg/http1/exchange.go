package http1

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"time"
)

// exchange is a request and its answer on a connection.
type exchange struct {
	t     *Transport
	c     *conn
	ctx   context.Context
	trace *httptrace.ClientTrace
	sent  *sending
	stop  func() bool // keeps the end of the context from touching the connection
}

// run sends req and reads the head of its answer. After an error the connection is closed.
func (e *exchange) run(req *http.Request) (*http.Response, error) {
	e.stop = context.AfterFunc(e.ctx, e.c.interrupt)
	e.sent = e.t.send(e.c, req, e.trace)
	if e.sent.done == nil && e.sent.err != nil && e.sent.written == 0 {
		return nil, e.fail(e.sent.err)
	}
	// Where a part of the request went out, an answer may have come before the rest failed.
	resp, err := e.t.answer(e.c, req, e.trace)
	if err != nil {
		return nil, e.fail(err)
	}
	resp.TLS = e.c.tls
	closing := resp.Close || req.Close || resp.StatusCode == http.StatusSwitchingProtocols
	if resp.Body == http.NoBody {
		e.end(!closing)
		return resp, nil
	}
	body := &Body{exchange: e, closing: closing}
	switch {
	case len(resp.TransferEncoding) > 0:
		body.framing = byChunks
	case resp.ContentLength >= 0:
		body.framing, body.left = byLength, resp.ContentLength
	default:
		body.framing = byClose
	}
	resp.Body, resp.Trailer = body, nil
	return resp, nil
}

// end ends the exchange. The connection is kept if the answer was whole.
func (e *exchange) end(whole bool) {
	c := e.c
	if live := e.stop(); !live || !whole || len(c.piece) > 0 || !e.sent.whole() {
		c.close()
		return
	}
	c.rest()
	c.used = true
	if e.trace != nil && e.trace.PutIdleConn != nil {
		e.trace.PutIdleConn(nil)
	}
	e.t.idle.put(c, time.Now())
}

// fail ends an exchange without an answer and returns why.
func (e *exchange) fail(err error) error {
	err = e.reason(err)
	e.stop()
	e.c.close()
	e.sent.wait()
	return err
}

// reason is why reading ended with err: often because something else did.
func (e *exchange) reason(err error) error {
	if cause := context.Cause(e.ctx); cause != nil {
		return cause
	}
	if fault := e.sent.fault(); fault != nil {
		return fault
	}
	return err
}

// unanswered is the error of a connection that ended before the first byte of an answer.
type unanswered struct{ error }

// plain takes the mark off an error.
func plain(err error) error {
	if before, ok := err.(unanswered); ok {
		return before.error
	}
	return err
}

// again reports whether a request that failed may be sent once more. The rule is that of
// net/http: only after a connection that had been used before, which the server may have
// closed meanwhile; and then if no byte of the request left, or if no byte of an answer came
// and the request may be made twice.
func (e *exchange) again(req *http.Request, err error) bool {
	if !e.c.used || !bodyless(req) && req.GetBody == nil || e.sent.fault() != nil {
		return false
	}
	if e.sent.written == 0 {
		return true
	}
	_, before := err.(unanswered)
	return before && idempotent(req)
}
