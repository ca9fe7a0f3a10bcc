package stack

import (
	"fmt"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/async"
	"bgbench/pkg/sim/engine"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

// Config is what a stack is built from.
type Config struct {
	Arm         spec.Arm
	Model       string
	MaxModelLen int
	Seed        int64 // of everything random in the model
}

// Stack is one arm's stack under test.
type Stack struct {
	inference sim.Backend
	engines   []*engine.Server
	router    *metric.Registry // nil for a router without metrics
	gateway   *gateway.Gateway
	async     *async.Processor
}

// Source is one component's metrics.
type Source struct {
	Name     string // vllm-0, router, processor, apiserver, async
	Registry *metric.Registry
}

// New builds the stack on k.
func New(k *kernel.Kernel, cfg Config) (*Stack, error) {
	engineConfig, err := engine.ConfigOf(cfg.Arm.Engine, cfg.Model, cfg.MaxModelLen)
	if err != nil {
		return nil, fmt.Errorf("arm %s: engine: %w", cfg.Arm.Name, err)
	}
	s := &Stack{}
	for i := range cfg.Arm.Engine.Replicas {
		engineConfig.Name = spec.EngineName(i)
		s.engines = append(s.engines, engine.New(k, engineConfig))
	}
	front, metrics, err := s.front(k, cfg.Arm.Router, cfg.Seed)
	if err != nil {
		return nil, fmt.Errorf("arm %s: router: %w", cfg.Arm.Name, err)
	}
	s.router = metrics
	if metrics != nil {
		// The router counts the gaps between tokens.
		metrics.BeforeReading(s.catchUp)
	}
	s.inference = delayed{k: k, backend: front, by: cfg.Arm.PathLatency.Std()}
	switch cfg.Arm.Dispatch {
	case spec.DispatchNone, spec.DispatchBacklog:
	case spec.DispatchSync, spec.DispatchAsync:
		if err := s.batch(k, cfg, front); err != nil {
			return nil, fmt.Errorf("arm %s: gateway: %w", cfg.Arm.Name, err)
		}
	default:
		return nil, fmt.Errorf("arm %s: dispatch: found %q, expected %s, %s, %s or %s", cfg.Arm.Name,
			cfg.Arm.Dispatch, spec.DispatchNone, spec.DispatchBacklog, spec.DispatchSync, spec.DispatchAsync)
	}
	return s, nil
}

// catchUp has the model servers tell of all tokens.
func (s *Stack) catchUp() {
	for _, e := range s.engines {
		e.CatchUp()
	}
}

// Inference is the inference gateway as clients reach it.
func (s *Stack) Inference() sim.Backend { return s.inference }

// Engines returns the model servers.
func (s *Stack) Engines() []*engine.Server { return s.engines }

// Gateway returns the batch gateway, nil for an arm without one.
func (s *Stack) Gateway() *gateway.Gateway { return s.gateway }

// Sources lists the components that expose metrics.
func (s *Stack) Sources() []Source {
	var sources []Source
	for i, e := range s.engines {
		sources = append(sources, Source{spec.EngineName(i), e.Metrics()})
	}
	if s.router != nil {
		sources = append(sources, Source{spec.EndpointRouter, s.router})
	}
	if s.gateway != nil {
		sources = append(sources,
			Source{"processor", s.gateway.Processor()},
			Source{"apiserver", s.gateway.APIServer()})
	}
	if s.async != nil {
		sources = append(sources, Source{"async", s.async.Metrics()})
	}
	return sources
}
