package http1

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestWhatComesBehindAnAnswerOverTLSIsNotLost has a server put an answer and something that
// nobody asked for into one packet: the socket is then read further than TLS has looked.
func TestWhatComesBehindAnAnswerOverTLSIsNotLost(t *testing.T) {
	certificates := httptest.NewTLSServer(nil)
	defer certificates.Close()
	p := newPeer(t, "tcp", func(p *talk) {
		together := &gathering{Conn: p.Conn}
		config := certificates.TLS.Clone()
		config.DynamicRecordSizingDisabled = true // what is said is one record, of which a part is read
		conn := tls.Server(together, config)
		p.Conn = conn
		p.in.Reset(conn)
		for p.request() != nil {
			together.begin()
			p.say(ok, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 16000\r\n\r\n"+strings.Repeat("x", 16_000))
			together.end()
		}
	})
	var dialled atomic.Int64
	c := overTLS(t, certificates, &dialled)
	transport := c.Transport.(*Transport)
	transport.Dial = p.dial
	for i := range 3 {
		resp, err := c.Post("https://example.com/", "", strings.NewReader("x"))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); n != 2 || err != nil {
			t.Errorf("request %d: found %d bytes, %v", i, n, err)
		}
		resp.Body.Close()
	}
	if n := p.dials.Load(); n != 3 {
		t.Errorf("found %d connections, expected one for each request: the server had said more than it was asked for", n)
	}
}

// gathering writes what it was given between begin and end at once.
type gathering struct {
	net.Conn
	on   bool
	held bytes.Buffer
}

func (g *gathering) begin() { g.on = true }

func (g *gathering) end() {
	g.on = false
	g.Conn.Write(g.held.Bytes())
	g.held.Reset()
}

func (g *gathering) Write(b []byte) (int, error) {
	if g.on {
		return g.held.Write(b)
	}
	return g.Conn.Write(b)
}
