//go:build unix

package openai

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// sharedReader reads a socket through buffers that all connections of a client share. It
// waits without one and takes one when there is something to read, until that has been
// handed on: thousands of streams that wait need few, so that these can be large and a
// burst of chunks costs one read (BenchmarkClientPerToken, BenchmarkClientMemory in
// pkg/load).
type sharedReader struct {
	socket  net.Conn
	raw     syscall.RawConn
	buffers *readBuffers
	stamp   func() // called directly after each read of the socket
	try     func(fd uintptr) (over bool)

	buf  *readBuffer // holds rest; nil when that is empty
	rest []byte      // of what was read
	err  error       // of the read; io.EOF at the end
}

// readBuffers is a pool of read buffers.
type readBuffers struct{ pool sync.Pool }

// readBuffer is as large as a burst of some hundred chunks.
type readBuffer [32 << 10]byte

func (p *readBuffers) take() *readBuffer {
	if b, ok := p.pool.Get().(*readBuffer); ok {
		return b
	}
	return new(readBuffer)
}

// newSharedReader returns nil where conn is no socket of the system.
func newSharedReader(conn net.Conn, buffers *readBuffers, stamp func()) *sharedReader {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	r := &sharedReader{socket: conn, raw: raw, buffers: buffers, stamp: stamp}
	r.try = r.tryRead
	return r
}

// Read implements io.Reader.
func (r *sharedReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if len(r.rest) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) == 0 {
		r.buffers.pool.Put(r.buf)
		r.buf, r.rest = nil, nil
	}
	return n, nil
}

// fill reads the socket once.
func (r *sharedReader) fill() error {
	if err := r.raw.Read(r.try); err != nil { // closed, or past its deadline
		r.stamp()
		var inSocket *net.OpError
		if errors.As(err, &inSocket) {
			inSocket.Op = "read"
		}
		return err
	}
	return r.err
}

// tryRead reads the socket if it has something. It reports false where the reader has to
// wait.
func (r *sharedReader) tryRead(fd uintptr) (over bool) {
	buf := r.buffers.take()
	n, err := syscall.Read(int(fd), buf[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), buf[:])
	}
	if err != syscall.EAGAIN {
		r.stamp()
	}
	if n > 0 {
		r.buf, r.rest, r.err = buf, buf[:n], nil
		return true
	}
	r.buffers.pool.Put(buf)
	switch err {
	case nil:
		r.err = io.EOF
	case syscall.EAGAIN:
		return false
	default: // as the net package words it
		r.err = &net.OpError{Op: "read", Net: r.socket.LocalAddr().Network(), Source: r.socket.LocalAddr(), Addr: r.socket.RemoteAddr(), Err: os.NewSyscallError("read", err)}
	}
	return true
}
