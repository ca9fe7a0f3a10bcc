package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain keeps net/http from telling the log of each answer that it wonders about.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// peer is a server that says what it was told to, on sockets of a kind that keeps the
// borders of writes: what it writes at once is read at once, and nothing else with it.
type peer struct {
	listener net.Listener
	dials    atomic.Int64 // connections that were asked for
	dial     func(ctx context.Context, network, address string) (*Socket, error)
	buffers  Buffers
}

// talk is the server's side of a connection.
type talk struct {
	net.Conn
	in     *bufio.Reader
	number int64           // of the connection, from 1
	late   <-chan struct{} // closed when the test is over
}

// request reads a request with its body, nil at the end of the connection.
func (p *talk) request() *http.Request {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil
	}
	return r
}

// say writes each piece for itself.
func (p *talk) say(pieces ...string) {
	for _, piece := range pieces {
		if _, err := io.WriteString(p, piece); err != nil {
			return
		}
	}
}

// newPeer serves each connection with serve and closes it then.
func newPeer(t testing.TB, network string, serve func(p *talk)) *peer {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unixpacket" {
		address = filepath.Join(t.TempDir(), "peer")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{listener: l}
	epoch := time.Now()
	p.dial = func(ctx context.Context, _, _ string) (*Socket, error) {
		p.dials.Add(1)
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, l.Addr().String())
		if err != nil {
			return nil, err
		}
		return NewSocket(conn, &p.buffers, time.Now, epoch), nil
	}
	ended, late := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		number := int64(0)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			number++
			// Of a packet, what is not read at once is lost.
			t := &talk{conn, bufio.NewReaderSize(conn, 64<<10), number, late}
			go func() {
				defer conn.Close()
				serve(t)
			}()
		}
	}()
	t.Cleanup(func() {
		close(late)
		l.Close()
		<-ended
	})
	return p
}

// ours and theirs are clients of the peer, by this package and by net/http.
func (p *peer) ours(t testing.TB) *http.Client {
	return client(t, &Transport{Dial: p.dial, Buffers: &p.buffers, MaxHeaderBytes: headLimit})
}

func (p *peer) theirs(t testing.TB) *http.Client {
	return client(t, &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return p.dial(ctx, network, address)
		},
		DisableCompression: true, MaxResponseHeaderBytes: headLimit,
	})
}

const headLimit = 64 << 10

func client(t testing.TB, transport http.RoundTripper) *http.Client {
	c := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// outcome is what a client makes of an answer.
type outcome struct {
	head string // status line, headers and framing
	body string
	err  string // the kind of error
}

// do makes a request and reads its answer to the end.
func do(t testing.TB, c *http.Client, method string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://peer/path", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return outcome{err: "no answer: " + kind(t, err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	var header strings.Builder
	if err := resp.Header.Write(&header); err != nil {
		t.Error(err)
	}
	head := fmt.Sprintf("%s %s\n%slength %d, encoding %q, close %v", resp.Proto, resp.Status, header.String(), resp.ContentLength, resp.TransferEncoding, resp.Close)
	return outcome{head, string(body), kind(t, err)}
}

// kind is what two clients must agree on about an error, whose words are their own.
func kind(t testing.TB, err error) string {
	var timeout net.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut off"
	case errors.Is(err, io.EOF):
		return "closed"
	case errors.As(err, &timeout) && timeout.Timeout():
		t.Errorf("the request hung: %v", err)
	}
	return "malformed"
}
