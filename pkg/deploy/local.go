package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/serve"
	"bgbench/pkg/sim/stack"
)

// Local is an emulated stack behind loopback sockets, in this process.
type Local struct {
	stack   Stack
	kernel  *kernel.Kernel
	servers []*http.Server
	group   errgroup.Group
}

// ListenLocal builds the stack that plan describes and opens its sockets on host:
// the inference gateway on port (0: any free one), everything else on free ports.
// Stack returns the descriptor with the addresses; nothing is answered before Run.
func ListenLocal(plan Stack, host string, port int) (*Local, error) {
	k := kernel.NewWall()
	st, err := stack.New(k, plan.ModelConfig())
	if err != nil {
		return nil, err
	}
	l := &Local{stack: plan, kernel: k}
	model := serve.Model{Name: plan.Model, MaxModelLen: plan.MaxModelLen}
	l.stack.InferenceURL, err = l.listen(host, port, serve.InferenceHandler(k, st.Inference(), model))
	if err != nil {
		return nil, fmt.Errorf("inference gateway: %w", err)
	}
	if g := st.Gateway(); g != nil {
		l.stack.BatchURL, err = l.listen(host, 0, serve.BatchHandler(k, g))
		if err != nil {
			l.close()
			return nil, fmt.Errorf("batch gateway: %w", err)
		}
	}
	for _, source := range st.Sources() {
		url, err := l.listen(host, 0, serve.ObservabilityHandler(k, source.Registry))
		if err != nil {
			l.close()
			return nil, fmt.Errorf("metrics of %s: %w", source.Name, err)
		}
		l.stack.Metrics = append(l.stack.Metrics, Endpoint{Source: source.Name, URL: url + "/metrics"})
	}
	return l, nil
}

// Stack describes what is being served.
func (l *Local) Stack() Stack { return l.stack }

func (l *Local) listen(host string, port int, h http.Handler) (url string, err error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelError)}
	l.servers = append(l.servers, server)
	l.group.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return "http://" + ln.Addr().String(), nil
}

// Run serves until ctx ends; that is its normal end.
func (l *Local) Run(ctx context.Context) error {
	err := l.kernel.Run(ctx)
	l.close()
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, l.group.Wait())
}

func (l *Local) close() {
	for _, s := range l.servers {
		s.Close()
	}
}
