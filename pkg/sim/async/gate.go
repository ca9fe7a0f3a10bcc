package async

import (
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// gate says how much of the capacity may be given to the queue now.
type gate interface {
	// budget is from 0 (closed) to 1 (all).
	budget() float64
}

func newGate(p *Processor) gate {
	g := &metricGate{k: p.k, cfg: p.cfg.Gate}
	switch p.cfg.Gate.Type {
	case spec.GatePrometheusBudget:
		g.source = newPrometheus(p.k, p.cfg).dispatchBudget
		g.gauges = newGateGauges(&p.metrics.registry, p.metrics.labels, p.cfg)
		return g
	case spec.GateEndpointScrape:
		g.source = endpoint{target(p.cfg.Targets, p.cfg.Gate.Endpoint), p.cfg.Gate}.headroom
		return g
	}
	return constant{}
}

// constant is a gate that is always open.
type constant struct{}

func (constant) budget() float64 { return 1 }

// metricGate opens by what a metric leaves above the baseline.
type metricGate struct {
	k   *kernel.Kernel
	cfg spec.Gate
	// source reads the free share of capacity; ok is false while there is no value.
	source func() (free float64, ok bool)
	gauges *gateGauges // nil for a gate that does not ask Prometheus

	read  bool // once at least
	at    kernel.Time
	free  float64
	known bool
}

func (g *metricGate) budget() float64 {
	if now := g.k.Now(); !g.read || now-g.at >= g.cfg.CacheTTL.Std() {
		g.read, g.at = true, now
		g.free, g.known = g.source()
	}
	if g.gauges != nil {
		g.gauges.set(g.free, g.known, g.cfg.Baseline)
	}
	switch {
	case !g.known:
		return g.cfg.Fallback
	case g.free <= g.cfg.Baseline:
		return 0
	}
	return min(1, g.free-g.cfg.Baseline)
}

// endpoint is the page of one server, which the gate asks itself.
type endpoint struct {
	page Gatherer // nil for a page that is not there
	cfg  spec.Gate
}

func (e endpoint) headroom() (float64, bool) {
	if e.page == nil {
		return 0, false
	}
	sum, n := total(e.page.Gather(), e.cfg.Metric)
	if n == 0 {
		return 0, false
	}
	if e.cfg.MaxCountPerPod > 0 {
		sum /= e.cfg.MaxCountPerPod
	}
	return 1 - sum, true
}

func target(targets []Target, name string) Gatherer {
	for _, t := range targets {
		if t.Name == name {
			return t.Registry
		}
	}
	return nil
}
