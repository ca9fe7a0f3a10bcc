package openai

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"bgbench/pkg/http1"
)

// Dialling configures the connections of a client that measures.
type Dialling struct {
	// Clock stamps reads of the socket; nil is time.Now. It must be the clock of the
	// Client that uses the connections.
	Clock func() time.Time
	// ConnectTimeout bounds the making of one connection, TLS included; 0 is
	// DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Proxy chooses a proxy; nil is none, whatever the environment says, because a
	// proxy in the path would be measured too. http.ProxyFromEnvironment asks it.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS holds private roots or a client certificate.
	TLS *tls.Config
	// HTTP2 speaks HTTP/2 instead of HTTP/1.1, without TLS by prior knowledge; a server
	// that does not is an error. Many streams then share a connection, and chunks are
	// stamped when they reach their stream.
	HTTP2 bool
	// Dialled counts the connections that were opened; may be nil.
	Dialled *atomic.Int64
}

// DefaultConnectTimeout is the bound of a connection where none is given.
const DefaultConnectTimeout = 10 * time.Second

// NewStreamClient makes an HTTP client for streams that are measured: it keeps as many idle
// connections as there were requests at once, asks for no compression, follows no redirect,
// and knows for each byte when the socket delivered it. HTTP/1.1 without a proxy is spoken
// by http1.Transport, which does that at the least cost, all else by net/http.
func NewStreamClient(d Dialling) *http.Client {
	if d.HTTP2 || d.Proxy != nil || !http1.Available {
		return NewHTTPClient(d)
	}
	dial, buffers := d.dialler()
	return client(&http1.Transport{
		Dial:             dial,
		Buffers:          buffers,
		TLS:              d.TLS,
		HandshakeTimeout: d.connectTimeout(),
		IdleTimeout:      idleTimeout,
	})
}

// idleTimeout is how long connections are kept for the next request, as net/http's own
// default.
const idleTimeout = 90 * time.Second

// NewHTTPClient makes an HTTP client that does the same by way of net/http.
func NewHTTPClient(d Dialling) *http.Client {
	dial, _ := d.dialler()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!d.HTTP2)
	protocols.SetHTTP2(d.HTTP2)
	protocols.SetUnencryptedHTTP2(d.HTTP2)
	return client(&http.Transport{
		Proxy: d.Proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			socket, err := dial(ctx, network, address)
			if err != nil {
				return nil, err // and not a nil *http1.Socket
			}
			return socket, nil
		},
		TLSClientConfig:     d.TLS,
		TLSHandshakeTimeout: d.connectTimeout(),
		Protocols:           protocols,
		DisableCompression:  true,
		// Without these, net/http keeps 2 idle connections a host and closes the rest
		// after each burst: the next burst would measure connection set-up.
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: 1 << 16,
		IdleConnTimeout:     idleTimeout,
		// Enough for the headers of a request, whose body goes past it, and for a line of
		// an answer, which comes from the shared buffers. A stream keeps both to its end.
		WriteBufferSize: 1 << 10,
		ReadBufferSize:  1 << 10,
	})
}

func client(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (d Dialling) connectTimeout() time.Duration {
	if d.ConnectTimeout == 0 {
		return DefaultConnectTimeout
	}
	return d.ConnectTimeout
}

// dialler opens sockets that stamp, and that read through the buffers which it returns, too.
func (d Dialling) dialler() (dial func(ctx context.Context, network, address string) (*http1.Socket, error), buffers *http1.Buffers) {
	clock := d.Clock
	if clock == nil {
		clock = time.Now
	}
	dialer := net.Dialer{Timeout: d.connectTimeout(), KeepAlive: 15 * time.Second}
	epoch := clock()
	buffers = new(http1.Buffers)
	return func(ctx context.Context, network, address string) (*http1.Socket, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if d.Dialled != nil {
			d.Dialled.Add(1)
		}
		return http1.NewSocket(conn, buffers, clock, epoch), nil
	}, buffers
}
