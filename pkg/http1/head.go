package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
)

// headReader hands net/http the head of an answer and no byte of what follows it, which
// stays in the piece of the connection.
type headReader struct {
	c     *conn
	left  int64 // bytes that all heads of the answer may still have
	start bool  // of a head
	head  int   // bytes that are known to belong to it
}

// Read implements io.Reader. It brings a whole head if that came at once, else a line at
// most: who reads to the end of the head has then read no more.
func (h *headReader) Read(p []byte) (int, error) {
	if h.left <= 0 {
		return 0, io.EOF
	}
	c := h.c
	for len(c.piece) == 0 {
		if err := c.more(); err != nil {
			return 0, err
		}
	}
	if h.start {
		h.start, h.head = false, headEnd(c.piece)
	}
	n := h.head
	if n == 0 {
		if n = bytes.IndexByte(c.piece, '\n') + 1; n == 0 {
			n = len(c.piece)
		}
	}
	n = min(n, len(p))
	if int64(n) > h.left {
		n = int(h.left)
	}
	h.left -= int64(n)
	h.head = max(0, h.head-n)
	return copy(p, c.take(n)), nil
}

// headEnd is the length of the head that begins piece, its empty line included; 0 where
// that has not come yet.
func headEnd(piece []byte) int {
	end := bytes.Index(piece, []byte("\n\r\n"))
	if end >= 0 {
		end += 3
		piece = piece[:end]
	}
	if bare := bytes.Index(piece, []byte("\n\n")); bare >= 0 {
		end = bare + 2
	}
	return max(0, end)
}

// answer reads the head of an answer. Its body is still to come, but where it has none. An
// error is an unanswered if it came before the first byte.
func (t *Transport) answer(c *conn, req *http.Request, trace *httptrace.ClientTrace) (*http.Response, error) {
	for len(c.piece) == 0 {
		if err := c.more(); err != nil {
			return nil, unanswered{err}
		}
	}
	if trace != nil && trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	// Taken only now: a request that waits for its answer has no buffer.
	in, _ := t.readers.Get().(*bufio.Reader)
	if in == nil {
		in = bufio.NewReaderSize(nil, headRoom)
	}
	limit := t.MaxHeaderBytes
	if limit <= 0 {
		limit = DefaultMaxHeaderBytes
	}
	head := &headReader{c: c, left: limit}
	in.Reset(head)
	defer func() {
		in.Reset(nil)
		t.readers.Put(in)
	}()
	for {
		head.start = true
		resp, err := http.ReadResponse(in, req)
		switch {
		case err != nil && head.left <= 0:
			return nil, fmt.Errorf("http1: found more than %d bytes of headers", limit)
		case err != nil:
			return nil, err
		case resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols:
			continue // an interim answer (RFC 9110, 15.2)
		}
		return resp, nil
	}
}

// headRoom is the largest line of a head that is read at once.
const headRoom = 4 << 10
