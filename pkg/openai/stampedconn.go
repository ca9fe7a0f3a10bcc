package openai

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// stampedConn remembers when the socket was read and written last. The body of an answer
// is read through buffers, the first bytes of it by net/http's own goroutine together
// with the headers: only the socket knows when they came. And the goroutine that sends a
// request may get no processor for a while once the last byte has left, until after the
// answer came: only the socket knows when it went.
type stampedConn struct {
	net.Conn
	shared *sharedReader // nil where Conn is read itself
	clock  func() time.Time
	epoch  time.Time
	// Nanoseconds after epoch: after the last read, before the last write.
	read, written atomic.Int64
}

// newStampedConn stamps the reads of conn, which is read through buffers where the
// system allows it. One goroutine at a time may read it.
func newStampedConn(conn net.Conn, buffers *readBuffers, clock func() time.Time, epoch time.Time) *stampedConn {
	c := &stampedConn{Conn: conn, clock: clock, epoch: epoch}
	c.shared = newSharedReader(conn, buffers, c.stamp)
	return c
}

func (c *stampedConn) Read(b []byte) (int, error) {
	if c.shared != nil {
		return c.shared.Read(b)
	}
	n, err := c.Conn.Read(b)
	c.stamp()
	return n, err
}

func (c *stampedConn) stamp() { c.read.Store(int64(c.clock().Sub(c.epoch))) }

func (c *stampedConn) lastRead() time.Time {
	return c.epoch.Add(time.Duration(c.read.Load()))
}

func (c *stampedConn) Write(b []byte) (int, error) {
	c.written.Store(int64(c.clock().Sub(c.epoch)))
	return c.Conn.Write(b)
}

func (c *stampedConn) lastWrite() time.Time {
	return c.epoch.Add(time.Duration(c.written.Load()))
}

// ReadFrom implements io.ReaderFrom, which net/http looks for. The bytes of a request
// are in memory and need no copy on their way.
func (c *stampedConn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(*bodyReader); ok && int64(body.rest()) <= limited.N {
			return body.WriteTo(c)
		}
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// stamped finds the stamping connection below conn, nil if there is none.
func stamped(conn net.Conn) *stampedConn {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	c, _ := conn.(*stampedConn)
	return c
}
