package http1

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tcpPair is a connection that is read like a client's, and its other end.
func tcpPair(t *testing.T) (ours *Socket, theirs *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); other.Close() })
	return NewSocket(conn, new(Buffers), time.Now, time.Now()), other.(*net.TCPConn)
}

func TestAConnectionIsReadLikeItsSocket(t *testing.T) {
	ours, theirs := tcpPair(t)
	text := strings.Repeat("0123456789abcdef", 10_000) // more than a buffer holds
	go func() {
		io.WriteString(theirs, text)
		theirs.CloseWrite()
	}()
	found, err := io.ReadAll(sevenBytes{ours})
	if err != nil || string(found) != text {
		t.Errorf("found %d bytes and %v, expected %d", len(found), err, len(text))
	}
	if n, err := ours.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: found %d, %v", n, err)
	}
}

// sevenBytes reads seven bytes at a time.
type sevenBytes struct{ r io.Reader }

func (s sevenBytes) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 7)]) }

func TestBytesThatCameTogetherHaveOneInstant(t *testing.T) {
	ours, theirs := tcpPair(t)
	io.WriteString(theirs, "ab")
	one := make([]byte, 1)
	ours.Read(one)
	first := ours.LastRead()
	ours.Read(one)
	if string(one) != "b" || !ours.LastRead().Equal(first) {
		t.Errorf("found %q at %v, the first byte at %v", one, ours.LastRead(), first)
	}
	io.WriteString(theirs, "c")
	ours.Read(one)
	if string(one) != "c" || !ours.LastRead().After(first) {
		t.Errorf("found %q at %v, the first byte at %v", one, ours.LastRead(), first)
	}
}

func TestErrorsOfAConnectionAreThoseOfTheNetPackage(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(ours *Socket, theirs *net.TCPConn)
		want error
		text string
	}{
		"a connection that was reset": {func(_ *Socket, theirs *net.TCPConn) { theirs.SetLinger(0); theirs.Close() }, syscall.ECONNRESET, "read: connection reset by peer"},
		"a deadline that passed":      {func(ours *Socket, _ *net.TCPConn) { ours.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded, "i/o timeout"},
		"a connection that we closed": {func(ours *Socket, _ *net.TCPConn) { ours.Close() }, net.ErrClosed, "use of closed network connection"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := tcpPair(t)
			c.fail(ours, theirs)
			_, err := ours.Read(make([]byte, 1))
			var op *net.OpError
			if !errors.Is(err, c.want) || !errors.As(err, &op) || op.Op != "read" || op.Err.Error() != c.text {
				t.Errorf("found %v", err)
			}
		})
	}
}
