package standin

import (
	"context"
	"net/http"

	"bgbench/pkg/sim/engine"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/serve"
	"bgbench/pkg/spec"
)

// VLLM is a model server as vLLM's flags describe it.
type VLLM struct {
	Engine      spec.Engine
	Model       string
	MaxModelLen int
	Port        int
}

// Run serves until ctx ends.
func (v VLLM) Run(ctx context.Context) error {
	config, err := engine.ConfigOf(v.Engine, v.Model, v.MaxModelLen)
	if err != nil {
		return err
	}
	k := kernel.NewWall()
	server := engine.New(k, config)
	mux := http.NewServeMux()
	mux.Handle("/", serve.InferenceHandler(k, server, serve.Model{Name: v.Model, MaxModelLen: config.Scheduler.MaxModelLen}))
	mux.Handle("GET /metrics", serve.MetricsHandler(k, server.Metrics()))
	return process{k, []port{{v.Port, mux}}}.run(ctx)
}
