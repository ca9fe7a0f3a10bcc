package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// End is where a tunnel ends: a Service or a Pod.
type End interface {
	String() string
	find(context.Context, dynamic.Interface) (Pod, error)
}

// Tunnel is a port of loopback whose connections end at a pod.
type Tunnel struct {
	config   *rest.Config
	client   dynamic.Interface
	end      End
	listener net.Listener
	ctx      context.Context
	stop     context.CancelFunc
	serving  sync.WaitGroup

	mu       sync.Mutex
	upstream httpstream.Connection // to the pod; nil until somebody asks, and once it is lost
	port     int                   // of the pod
	requests int
}

// Open listens on a free port of loopback and connects to a pod, so that what is wrong
// is said at once.
func Open(ctx context.Context, config *rest.Config, end End) (*Tunnel, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	t := &Tunnel{config: config, client: client, end: end}
	t.ctx, t.stop = context.WithCancel(ctx)
	if _, _, _, err := t.connection(ctx); err != nil {
		t.stop()
		return nil, err
	}
	if t.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, errors.Join(fmt.Errorf("listening for a tunnel to %s: %w", end, err), t.Close())
	}
	t.serving.Go(t.accept)
	return t, nil
}

// Addr is the host and port to connect to.
func (t *Tunnel) Addr() string { return t.listener.Addr().String() }

// Close ends the tunnel and the connections through it.
func (t *Tunnel) Close() error {
	t.stop()
	var err error
	if t.listener != nil {
		err = t.listener.Close()
	}
	t.mu.Lock()
	if t.upstream != nil {
		err = errors.Join(err, t.upstream.Close())
	}
	t.mu.Unlock()
	t.serving.Wait()
	return err
}

func (t *Tunnel) accept() {
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			return // it is closed
		}
		t.serving.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(t.ctx, func() { conn.Close() })()
			t.forward(conn)
		})
	}
}

// patience bounds how long a connection waits for a pod to be found again.
const patience = 30 * time.Second

// forward joins conn to the pod. What its peer sees of a pod that cannot be reached is a
// connection that is closed.
func (t *Tunnel) forward(conn net.Conn) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	pause := time.NewTicker(500 * time.Millisecond)
	defer pause.Stop()
	for {
		data, failed, end, err := t.streams(ctx)
		if err == nil {
			defer end()
			join(conn, data, failed)
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// join copies both ways until the pod has said all or either side has failed.
func join(conn net.Conn, data, failed httpstream.Stream) {
	over := make(chan struct{}, 3)
	go func() {
		io.Copy(conn, data)
		over <- struct{}{}
	}()
	go func() {
		if _, err := io.Copy(data, conn); err != nil {
			over <- struct{}{}
		}
		data.Close() // the pod hears that there is no more
	}()
	go func() {
		if text, _ := io.ReadAll(failed); len(text) > 0 {
			over <- struct{}{} // the pod refused the port
		}
	}()
	<-over
	data.Reset()
}

// streams opens a pair of streams, on a new connection where the old one is lost.
func (t *Tunnel) streams(ctx context.Context) (data, failed httpstream.Stream, end func(), err error) {
	upstream, port, id, err := t.connection(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	open := func(kind string) (httpstream.Stream, error) {
		return upstream.CreateStream(http.Header{
			http.CanonicalHeaderKey(corev1.StreamType):                 {kind},
			http.CanonicalHeaderKey(corev1.PortHeader):                 {strconv.Itoa(port)},
			http.CanonicalHeaderKey(corev1.PortForwardRequestIDHeader): {strconv.Itoa(id)},
		})
	}
	if failed, err = open(corev1.StreamTypeError); err == nil {
		failed.Close() // nothing is written to it
		data, err = open(corev1.StreamTypeData)
	}
	if err != nil {
		t.lose(upstream)
		return nil, nil, nil, fmt.Errorf("opening a stream to %s: %w", t.end, err)
	}
	return data, failed, func() { upstream.RemoveStreams(data, failed) }, nil
}

// connection is the one to the pod, made anew where there is none that lives.
func (t *Tunnel) connection(ctx context.Context) (c httpstream.Connection, port, id int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	if t.upstream != nil {
		select {
		case <-t.upstream.CloseChan():
			t.upstream = nil
		default:
			return t.upstream, t.port, t.requests, nil
		}
	}
	to, err := t.end.find(ctx, t.client)
	if err != nil {
		return nil, 0, 0, err
	}
	if t.upstream, err = dial(t.config, to); err != nil {
		return nil, 0, 0, fmt.Errorf("forwarding a port to pod %s/%s: %w", to.Namespace, to.Name, err)
	}
	t.port = to.Port
	return t.upstream, t.port, t.requests, nil
}

// lose forgets a connection on which no stream could be opened.
func (t *Tunnel) lose(c httpstream.Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.upstream == c {
		t.upstream = nil
	}
	c.Close()
}

// dial connects to the pod through the API server: over a WebSocket, or as servers
// before Kubernetes 1.31 want it.
func dial(config *rest.Config, to Pod) (httpstream.Connection, error) {
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	address := host.JoinPath("api/v1/namespaces", to.Namespace, "pods", to.Name, "portforward")
	dialer, err := dialerFor(config, address)
	if err != nil {
		return nil, err
	}
	c, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		return nil, errors.Join(fmt.Errorf("found protocol %q, expected %s", protocol, portforward.PortForwardProtocolV1Name), c.Close())
	}
	return c, nil
}

func dialerFor(config *rest.Config, address *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(websocket, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
