package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"os"
	"time"
)

// conn is a connection, which carries one request at a time.
type conn struct {
	to     destination
	net    net.Conn // the socket, or TLS over it
	socket *Socket
	tls    *tls.ConnectionState // nil without TLS
	buf    []byte               // what is read by way of TLS

	piece []byte    // of the last read, what was not taken yet
	at    time.Time // of the last read

	used      bool // for a request already
	idleSince time.Time
	interrupt func()  // ends what reads and writes; may be called on any goroutine
	probe     [1]byte // room for a byte that must not be there
}

// tlsRead is how much is read by way of TLS at a time: some events. A stream that waits
// keeps it.
const tlsRead = 4 << 10

var errNoSocket = errors.New("http1: found a connection that is no socket of the system, expected one that says when it is ready")

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// connect opens a connection.
func (t *Transport) connect(ctx context.Context, to destination, host string) (*conn, error) {
	socket, err := t.Dial(ctx, "tcp", to.address)
	if err != nil {
		return nil, err
	}
	if socket.direct == nil {
		socket.Close()
		return nil, errNoSocket
	}
	c := &conn{to: to, net: socket, socket: socket}
	c.interrupt = func() { socket.SetDeadline(longAgo) } // which fails on a closed one
	if to.scheme == "https" {
		if err := c.handshake(ctx, t.TLS, host, t.HandshakeTimeout); err != nil {
			socket.Close()
			return nil, err
		}
		c.buf = make([]byte, tlsRead)
	}
	return c, nil
}

// handshakeTimeout is the error of a handshake that took too long: a net.Error like that of
// a dialler.
type handshakeTimeout struct{}

func (handshakeTimeout) Error() string   { return "TLS handshake timeout" }
func (handshakeTimeout) Timeout() bool   { return true }
func (handshakeTimeout) Temporary() bool { return true }

func (c *conn) handshake(ctx context.Context, config *tls.Config, host string, limit time.Duration) error {
	config = config.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	config.NextProtos = nil // no other protocol than HTTP/1.1
	over := tls.Client(c.net, config)
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, handshakeTimeout{})
		defer cancel()
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err := over.HandshakeContext(ctx)
	if errors.Is(context.Cause(ctx), handshakeTimeout{}) && err != nil {
		err = handshakeTimeout{}
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(over.ConnectionState(), err)
	}
	if err != nil {
		return err
	}
	state := over.ConnectionState()
	c.net, c.tls = over, &state
	return nil
}

// more reads once. What the last read brought must have been taken, and is not valid any
// more.
func (c *conn) more() (err error) {
	if c.buf == nil {
		c.piece, err = c.socket.direct.next()
	} else {
		var n int
		n, err = c.net.Read(c.buf)
		if c.piece = c.buf[:n]; n > 0 {
			err = nil // it will come again
		}
	}
	c.at = c.socket.LastRead()
	return err
}

// need makes sure that there is something to take. The connection must not end here.
func (c *conn) need() error {
	for len(c.piece) == 0 {
		if err := c.more(); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// unexpected is the error of an end in the middle of a message.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// take takes n bytes of the piece. They are valid until more is called.
func (c *conn) take(n int) []byte {
	taken := c.piece[:n:n]
	c.piece = c.piece[n:]
	return taken
}

// got tells a trace of the connection.
func (c *conn) got() httptrace.GotConnInfo {
	info := httptrace.GotConnInfo{Conn: c.net, Reused: c.used, WasIdle: c.used}
	if c.used {
		info.IdleTime = time.Since(c.idleSince)
	}
	return info
}

// waits reports whether the server waits for a request: it has not closed the connection,
// and said nothing that it was not asked for. Over TLS it may have sent new session keys.
func (c *conn) waits() bool {
	direct := c.socket.direct
	direct.noWait = true
	n, err := c.net.Read(c.probe[:])
	direct.noWait = false
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// rest lets go of what was read. Behind what TLS has taken of the socket there may be the
// start of another record, without which it could read no further one.
func (c *conn) rest() {
	c.piece = nil
	if c.tls == nil {
		c.socket.direct.release()
	}
}

func (c *conn) close() {
	c.piece = nil
	c.socket.direct.release()
	c.net.Close()
}
