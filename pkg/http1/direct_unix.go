//go:build unix

package http1

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Available says that the Transport works on this system: it has to ask a socket whether it
// is ready.
const Available = true

// direct reads and writes the socket of a connection by system calls of its own. It waits
// without a buffer and takes one of a pool when there is something to read, until that has
// been used: thousands of streams that wait need few, so that these can be large and a burst
// of chunks costs one read (BenchmarkClientPerToken, BenchmarkClientMemory in pkg/load).
type direct struct {
	of      *Socket
	raw     syscall.RawConn
	buffers *Buffers
	noWait  bool // a read that would wait fails with os.ErrDeadlineExceeded

	tryRead, tryWrite func(fd uintptr) (over bool)

	buf  *buffer // holds rest; nil when there is nothing
	rest []byte  // of what was read
	err  error   // of the read; io.EOF at the end

	out      []byte // what is to be written
	written  int
	writeErr error
}

// Buffers is a pool of buffers that sockets share.
type Buffers struct{ pool sync.Pool }

// buffer is as large as a burst of some hundred chunks.
type buffer [32 << 10]byte

func (p *Buffers) take() *buffer {
	if b, ok := p.pool.Get().(*buffer); ok {
		return b
	}
	return new(buffer)
}

func (p *Buffers) give(b *buffer) { p.pool.Put(b) }

// newDirect returns nil where conn is no socket of the system.
func newDirect(conn net.Conn, buffers *Buffers, of *Socket) *direct {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{of: of, raw: raw, buffers: buffers}
	d.tryRead, d.tryWrite = d.readNow, d.writeNow
	return d
}

// Read implements io.Reader.
func (d *direct) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if len(d.rest) == 0 {
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, d.rest)
	if d.rest = d.rest[n:]; len(d.rest) == 0 {
		d.release()
	}
	return n, nil
}

// next returns what one read of the socket brings. It is valid until the next call, or
// until release.
func (d *direct) next() ([]byte, error) {
	d.release()
	if err := d.fill(); err != nil {
		return nil, err
	}
	return d.rest, nil
}

// release gives the buffer back.
func (d *direct) release() {
	if d.buf != nil {
		d.buffers.give(d.buf)
		d.buf, d.rest = nil, nil
	}
}

// fill reads the socket once.
func (d *direct) fill() error {
	if err := d.raw.Read(d.tryRead); err != nil { // closed, or past its deadline
		d.of.stampRead()
		return named("read", err)
	}
	return d.err
}

// readNow reads the socket if it has something. It reports false where the reader has to
// wait.
func (d *direct) readNow(fd uintptr) (over bool) {
	buf := d.buffers.take()
	n, err := syscall.Read(int(fd), buf[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), buf[:])
	}
	if err != syscall.EAGAIN {
		d.of.stampRead()
	}
	if n > 0 {
		d.buf, d.rest, d.err = buf, buf[:n], nil
		return true
	}
	d.buffers.give(buf)
	switch {
	case err == nil:
		d.err = io.EOF
	case err != syscall.EAGAIN:
		d.err = d.failed("read", err)
	case d.noWait:
		d.err = d.failed("read", os.ErrDeadlineExceeded)
	default:
		return false
	}
	return true
}

// write writes what the socket takes without waiting, which may be nothing.
func (d *direct) write(b []byte) (int, error) {
	d.out, d.written, d.writeErr = b, 0, nil
	d.of.stampWrite()
	err := d.raw.Write(d.tryWrite)
	d.out = nil
	if err != nil {
		return 0, named("write", err)
	}
	return d.written, d.writeErr
}

func (d *direct) writeNow(fd uintptr) (over bool) {
	for d.written < len(d.out) {
		n, err := syscall.Write(int(fd), d.out[d.written:])
		switch {
		case n > 0:
			d.written += n
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		default:
			d.writeErr = d.failed("write", err)
			return true
		}
	}
	return true
}

// failed words an error as the net package does.
func (d *direct) failed(op string, err error) error {
	conn := d.of.Conn
	if number, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, number)
	}
	return &net.OpError{Op: op, Net: conn.LocalAddr().Network(), Source: conn.LocalAddr(), Addr: conn.RemoteAddr(), Err: err}
}

// named calls an error of the raw connection by the operation that it broke.
func named(op string, err error) error {
	var inSocket *net.OpError
	if errors.As(err, &inSocket) {
		inSocket.Op = op
	}
	return err
}
