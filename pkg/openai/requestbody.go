package openai

import (
	"io"
	"net/http"
	"sync"
)

// requestBody is the body of a request that lets go of its bytes once the answer has
// begun: with thousands of streams open, prompts that were sent long ago would take most
// of the memory (BenchmarkClientMemory in pkg/load).
type requestBody struct {
	mu       sync.Mutex
	data     []byte
	free     func([]byte) // is given the bytes once nobody reads them any more; may be nil
	read     bool         // to its end
	answered bool
}

// into makes b the body of req. net/http asks for it again when it finds that an idle
// connection was closed.
func (b *requestBody) into(req *http.Request) {
	req.ContentLength = int64(len(b.data))
	if len(b.data) == 0 {
		req.Body = http.NoBody
		req.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
		return
	}
	req.Body = &bodyReader{of: b}
	req.GetBody = func() (io.ReadCloser, error) { return &bodyReader{of: b}, nil }
}

// release forgets the bytes, as soon as they were read: a server may answer before it
// has the whole request.
func (b *requestBody) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answered = true
	b.forget()
}

func (b *requestBody) forget() {
	if !b.read || !b.answered || b.data == nil {
		return
	}
	if b.free != nil {
		b.free(b.data)
	}
	b.data, b.free = nil, nil // which holds the bytes, too
}

// bodyReader reads a requestBody from its start.
type bodyReader struct {
	of  *requestBody
	pos int
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	b := r.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.pos >= len(b.data) {
		return 0, io.EOF
	}
	n := copy(p, b.data[r.pos:])
	r.advance(n)
	return n, nil
}

// advance steps over n bytes that were read. The caller holds the lock.
func (r *bodyReader) advance(n int) {
	if r.pos += n; r.pos == len(r.of.data) {
		r.of.read = true
		r.of.forget()
	}
}

// Close implements io.Closer.
func (r *bodyReader) Close() error { return nil }
