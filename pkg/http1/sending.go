package http1

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"net/http/httptrace"
	"time"
)

// sending is a request on its way. One that the socket takes at once needs no more than the
// caller's goroutine. Another one is written by a second goroutine, because a server may
// answer before it has read all of it, and wait until its answer is read.
type sending struct {
	c     *conn
	trace *httptrace.ClientTrace

	written int64
	err     error
	lost    bool          // err is that of the connection, not of the request
	done    chan struct{} // closed once the three above are final; nil where they are already
}

// small is the size of a body that is sent with the headers in one write.
const small = 24 << 10

// send begins to send req, and closes its body.
func (t *Transport) send(c *conn, req *http.Request, trace *httptrace.ClientTrace) *sending {
	s := &sending{c: c, trace: trace}
	// http.Request.Write tells the trace of its context what it writes to a buffer.
	req = req.WithContext(context.Background())
	// TLS writes in its own time, and the length of a body may be unknown.
	if c.tls != nil || !bodyless(req) && (req.ContentLength <= 0 || req.ContentLength > small) {
		s.done = make(chan struct{})
		go s.stream(t, req)
		return s
	}
	buf := t.Buffers.take()
	text := bytes.NewBuffer(buf[:0])
	if s.err = req.Write(text); s.err == nil {
		var n int
		n, s.err = c.socket.direct.write(text.Bytes())
		text.Next(n)
		s.written, s.lost = int64(n), s.err != nil
	}
	if s.err == nil && text.Len() > 0 {
		s.done = make(chan struct{})
		go func() {
			defer close(s.done)
			_, s.err = text.WriteTo(s)
			t.Buffers.give(buf)
			s.over()
		}()
		return s
	}
	t.Buffers.give(buf)
	s.over()
	return s
}

// stream writes a request as it reads its body.
func (s *sending) stream(t *Transport, req *http.Request) {
	out, _ := t.writers.Get().(*bufio.Writer)
	if out == nil {
		out = bufio.NewWriterSize(nil, len(buffer{}))
	}
	out.Reset(s)
	if s.err = req.Write(out); s.err == nil {
		s.err = out.Flush()
	}
	out.Reset(nil)
	t.writers.Put(out)
	s.over()
	close(s.done)
	if s.fault() != nil {
		s.c.interrupt() // nobody answers half a request
	}
}

// Write implements io.Writer.
func (s *sending) Write(b []byte) (int, error) {
	n, err := s.c.net.Write(b)
	s.written += int64(n)
	s.lost = s.lost || err != nil
	return n, err
}

func (s *sending) over() {
	if s.trace != nil && s.trace.WroteRequest != nil {
		s.trace.WroteRequest(httptrace.WroteRequestInfo{Err: s.err})
	}
}

// fault is the error of a request that could not be written for its own sake, nil if there
// is none so far.
func (s *sending) fault() error {
	if s.done != nil {
		select {
		case <-s.done:
		default:
			return nil
		}
	}
	if s.lost {
		return nil
	}
	return s.err
}

// wait returns when nothing more will be written. The connection must be closed, or all of
// the request accepted.
func (s *sending) wait() {
	if s.done != nil {
		<-s.done
	}
}

// lastWrite is how long the end of a request that was answered may take: the goroutine that
// writes it may get the processor after the one that reads the answer (net/http, where it is
// maxWriteWaitBeforeConnReuse).
const lastWrite = 50 * time.Millisecond

// whole reports whether all of the request went out.
func (s *sending) whole() bool {
	if s.done == nil {
		return s.err == nil
	}
	select {
	case <-s.done:
		return s.err == nil
	default:
	}
	timer := time.NewTimer(lastWrite)
	defer timer.Stop()
	select {
	case <-s.done:
		return s.err == nil
	case <-timer.C:
		return false
	}
}
