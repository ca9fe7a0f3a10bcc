package standin

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
)

// process is one component: a kernel on the wall clock behind a few ports.
type process struct {
	k     *kernel.Kernel
	ports []port
}

type port struct {
	number  int
	handler http.Handler
}

// client is that of a component: its streams are long and many.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 1000,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}}
}

// run serves until ctx ends; that is its normal end.
func (p process) run(ctx context.Context) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	for _, port := range p.ports {
		ln, err := net.Listen("tcp", fmt.Sprintf(":%d", port.number))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: port.handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelError)}
		group.Go(func() error {
			defer stop()
			if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error {
			<-serving.Done()
			return server.Close()
		})
	}
	err := p.k.Run(serving)
	if ctx.Err() != nil {
		err = nil
	}
	stop()
	return errors.Join(err, group.Wait())
}
