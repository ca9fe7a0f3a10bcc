package stack

import (
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/async"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
	"bgbench/pkg/spec"
)

// batch builds the batch gateway of s and, with dispatch async, the async processor
// behind it. Both run inside the cluster: they reach the router without the client's
// path latency.
func (s *Stack) batch(k *kernel.Kernel, cfg Config, front sim.Backend) error {
	config := gateway.Config{Gateway: cfg.Arm.Gateway, Seed: cfg.Seed}
	if config.InferenceGateway == spec.InferenceGatewayPerModel {
		config.ModelGateways = []gateway.ModelGateway{{Model: cfg.Model}}
	}
	if cfg.Arm.Dispatch == spec.DispatchAsync {
		// The queue has no semaphores and no AIMD (llm-d batch gateway, async dispatch).
		config.Concurrency.AIMD.Enabled = false
	}
	if err := config.Validate(); err != nil {
		return err
	}
	if cfg.Arm.Dispatch == spec.DispatchAsync {
		if err := s.gateMetric(cfg.Arm.Async.Gate); err != nil {
			return err
		}
		s.async = async.New(k, async.Config{
			Async:     cfg.Arm.Async,
			Objective: cfg.Arm.Gateway.InferenceObjective,
			Pool:      poolName,
			Targets:   s.targets(),
			Seed:      cfg.Seed,
		}, front)
		config.Async = s.async
	}
	s.gateway = gateway.New(k, config, front)
	return nil
}

// gateMetric refuses a metric that the page which the gate reads does not have: the
// budget would be the fallback for ever.
func (s *Stack) gateMetric(g spec.Gate) error {
	if g.Type != spec.GateEndpointScrape {
		return nil
	}
	if g.Endpoint == spec.EndpointRouter {
		if router.HasValue(g.Metric) {
			return nil
		}
	} else if slices.ContainsFunc(s.engines[0].Metrics().Gather(), func(f *dto.MetricFamily) bool {
		return f.GetName() == g.Metric && f.GetType() != dto.MetricType_HISTOGRAM
	}) {
		return nil
	}
	return fmt.Errorf("async.gate.metric: found %q, expected a count or a gauge of the page of %s, such as vllm:num_requests_waiting of %s or llm_d_epp_flow_control_queue_size of %s",
		g.Metric, g.Endpoint, spec.EngineName(0), spec.EndpointRouter)
}

// targets are the pages that a dispatch gate may read.
func (s *Stack) targets() []async.Target {
	var targets []async.Target
	for i, e := range s.engines {
		targets = append(targets, async.Target{Name: spec.EngineName(i), Registry: e.Metrics()})
	}
	if s.router != nil {
		targets = append(targets, async.Target{Name: spec.EndpointRouter, Registry: s.router})
	}
	return targets
}
