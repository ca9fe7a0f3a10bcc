package standin

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
	"bgbench/pkg/sim/serve"
)

// Router is a proxy with an endpoint picker, from the configuration file of the latter.
type Router struct {
	ConfigFile  string
	Flags       router.Flags
	Pool        string
	Namespace   string
	Port        int
	MetricsPort int
	DispatchLag time.Duration
	Cluster     *kube.Cluster
}

// lookEvery is the pause between two looks at pods and objectives.
const lookEvery = 500 * time.Millisecond

// Run serves until ctx ends.
func (o Router) Run(ctx context.Context) error {
	config, err := os.ReadFile(o.ConfigFile)
	if err != nil {
		return fmt.Errorf("reading the endpoint picker's configuration: %w", err)
	}
	// The words in which the real component says what it has loaded.
	slog.InfoContext(ctx, "Loaded raw configuration", "config", string(config))
	k := kernel.NewWall()
	proxy := serve.NewProxy(k, client())
	pool, err := o.pool(ctx)
	if err != nil {
		return err
	}
	pages := newPages(ctx)
	endpoints := func(p kube.Pool) []router.Endpoint {
		list := make([]router.Endpoint, 0, len(p.Servers))
		for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
			url := p.Servers[name]
			list = append(list, proxy.Endpoint(name, url, pages.of(url).load))
		}
		return list
	}
	proxy.Router, err = router.New(k, router.Config{
		EndpointPicker: string(config), Flags: o.Flags, Objectives: pool.Objectives,
		DispatchLag: o.DispatchLag, SteadyScrapes: true, Pool: o.Pool, Seed: time.Now().UnixNano(),
	}, endpoints(pool))
	if err != nil {
		return err
	}
	slog.InfoContext(ctx, "Serving", "objectives", pool.Objectives, "servers", pool.Servers)
	watching, stop := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		defer stop()
		failed <- o.follow(watching, pool, func(p kube.Pool) { k.Post(func() { proxy.Router.SetEndpoints(endpoints(p)) }) })
	}()
	mux := http.NewServeMux()
	mux.Handle("POST /", proxy)
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	err = process{k, []port{{o.Port, mux}, {o.MetricsPort, serve.ObservabilityHandler(k, proxy.Router.Metrics())}}}.run(watching)
	stop()
	if followErr := <-failed; followErr != nil {
		return followErr
	}
	return err
}

// pool waits for the InferencePool, which may be made a moment after this process.
func (o Router) pool(ctx context.Context) (kube.Pool, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		pool, ok, err := o.Cluster.Pool(ctx, o.Namespace, o.Pool)
		if err != nil || ok {
			return pool, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return pool, context.Cause(ctx)
		}
	}
}

// follow hands on every change of the model servers. Objectives are read once: a change
// of theirs ends the process, whose next start reads them again.
func (o Router) follow(ctx context.Context, last kube.Pool, changed func(kube.Pool)) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		pool, ok, err := o.Cluster.Pool(ctx, o.Namespace, o.Pool)
		if err != nil || !ok {
			continue // an API server that is away changes nothing
		}
		if !maps.Equal(pool.Objectives, last.Objectives) {
			return fmt.Errorf("objectives of pool %s: found %v, started with %v", o.Pool, pool.Objectives, last.Objectives)
		}
		if !maps.Equal(pool.Servers, last.Servers) {
			slog.InfoContext(ctx, "Servers changed", "servers", pool.Servers)
			changed(pool)
		}
		last = pool
	}
}
