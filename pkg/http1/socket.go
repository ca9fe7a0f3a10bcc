package http1

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// Socket is a connection that remembers when it was read and written last. The body of an
// answer may be read through buffers, and the goroutine that sends a request may get no
// processor for a while once the last byte has left, until after the answer came: only the
// socket knows when bytes came and went.
type Socket struct {
	net.Conn
	direct *direct // nil where Conn is no socket of the system
	clock  func() time.Time
	epoch  time.Time
	// Nanoseconds after epoch: after the last read, before the last write.
	read, written atomic.Int64
}

// NewSocket stamps the reads and writes of conn by clock. It is read through buffers where
// the system allows it. One goroutine at a time may read it.
func NewSocket(conn net.Conn, buffers *Buffers, clock func() time.Time, epoch time.Time) *Socket {
	s := &Socket{Conn: conn, clock: clock, epoch: epoch}
	s.direct = newDirect(conn, buffers, s)
	return s
}

// SocketOf finds the Socket below conn, nil if there is none.
func SocketOf(conn net.Conn) *Socket {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	s, _ := conn.(*Socket)
	return s
}

// Read implements net.Conn.
func (s *Socket) Read(b []byte) (int, error) {
	if s.direct != nil {
		return s.direct.Read(b)
	}
	n, err := s.Conn.Read(b)
	s.stampRead()
	return n, err
}

// Write implements net.Conn.
func (s *Socket) Write(b []byte) (int, error) {
	s.stampWrite()
	return s.Conn.Write(b)
}

func (s *Socket) stampRead() { s.read.Store(int64(s.clock().Sub(s.epoch))) }

func (s *Socket) stampWrite() { s.written.Store(int64(s.clock().Sub(s.epoch))) }

// LastRead is the instant directly after the last read.
func (s *Socket) LastRead() time.Time { return s.epoch.Add(time.Duration(s.read.Load())) }

// LastWrite is the instant directly before the last write.
func (s *Socket) LastWrite() time.Time { return s.epoch.Add(time.Duration(s.written.Load())) }
