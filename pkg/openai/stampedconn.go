package openai

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// stampedConn remembers when the socket was read last. The body of an answer is
// read through buffers, the first bytes of it by net/http's own goroutine together
// with the headers: only the socket knows when they came.
type stampedConn struct {
	net.Conn
	shared *sharedReader // nil where Conn is read itself
	clock  func() time.Time
	epoch  time.Time
	last   atomic.Int64 // nanoseconds after epoch
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

func (c *stampedConn) stamp() { c.last.Store(int64(c.clock().Sub(c.epoch))) }

func (c *stampedConn) lastRead() time.Time {
	return c.epoch.Add(time.Duration(c.last.Load()))
}

// stamped finds the stamping connection below conn, nil if there is none.
func stamped(conn net.Conn) *stampedConn {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	c, _ := conn.(*stampedConn)
	return c
}
