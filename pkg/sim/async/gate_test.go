package async

import (
	"math"
	"testing"
	"time"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

// pages are the registries of a router and two engines.
type pages struct {
	k                  *kernel.Kernel
	router, one, other metric.Registry
}

func (p *pages) targets() []Target {
	return []Target{{"router", &p.router}, {"vllm-0", &p.one}, {"vllm-1", &p.other}}
}

func (p *pages) processor(gate spec.Gate) *Processor {
	cfg := defaults()
	cfg.Gate, cfg.Targets = gate, p.targets()
	return New(p.k, cfg, nil)
}

func label(name, value string) metric.Label { return metric.Label{Name: name, Value: value} }

func TestPrometheusBudgetTakesTheFirstOfItsQueriesThatHasASample(t *testing.T) {
	queue := func(p *pages, n ...float64) {
		for i, v := range n {
			p.router.Gauge(queueSizeMetric, "", label("priority", string(rune('0'+i)))).Set(v)
		}
	}
	ready := func(p *pages, n float64) { p.router.Gauge(readyPodsMetric, "").Set(n) }
	perPod := func(p *pages, n ...float64) {
		for i, v := range n {
			p.router.Gauge(perPodQueueMetric, "", label("model_server_pod", string(rune('0'+i)))).Set(v)
		}
	}
	running := func(p *pages, one, other float64) {
		p.one.Gauge(runningMetric, "").Set(one)
		p.other.Gauge(runningMetric, "").Set(other)
	}
	tests := []struct {
		name string
		set  func(*pages)
		want float64 // the budget, with 10 a pod and a baseline of 0.1
	}{
		{"what waits in flow control, over ready pods", func(p *pages) { ready(p, 2); queue(p, 3, 5); perPod(p, 9, 9); running(p, 9, 9) }, 1 - 8.0/20 - 0.1},
		{"closed at the baseline", func(p *pages) { ready(p, 2); queue(p, 18) }, 0},
		{"just open above it", func(p *pages) { ready(p, 2); queue(p, 17) }, 0.05},
		{"closed far below it", func(p *pages) { ready(p, 2); queue(p, 100) }, 0},
		{"without flow control, what waits in a pod on average", func(p *pages) { ready(p, 2); perPod(p, 2, 6); running(p, 9, 9) }, 1 - 0.4 - 0.1},
		{"without both, what runs", func(p *pages) { ready(p, 2); running(p, 4, 2) }, 1 - 6.0/20 - 0.1},
		{"the fallback when the pods are not known", func(p *pages) { running(p, 4, 2) }, 0.3},
		{"the fallback when nothing is there", func(*pages) {}, 0.3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &pages{k: kernel.NewVirtual()}
			tt.set(p)
			processor := p.processor(spec.Gate{
				Type: spec.GatePrometheusBudget, MaxConcurrency: 10, Baseline: 0.1, Fallback: 0.3,
				ScrapeInterval: spec.Duration(time.Second), CacheTTL: 0,
			})
			p.k.At(2500*time.Millisecond, p.k.Stop)
			if err := p.k.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := processor.gate.budget(); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("budget %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheValueOfAPrometheusGateIsAsOldAsItsScrapeAndItsCache(t *testing.T) {
	p := &pages{k: kernel.NewVirtual()}
	p.router.Gauge(readyPodsMetric, "").Set(1)
	waiting := p.router.Gauge(queueSizeMetric, "")
	processor := p.processor(spec.Gate{
		Type: spec.GatePrometheusBudget, MaxConcurrency: 100, Baseline: 0,
		ScrapeInterval: spec.Duration(15 * time.Second), CacheTTL: spec.Duration(5 * time.Second),
	})
	// The queue grows by one a second, so what the gate sees tells its age.
	var most, least time.Duration = 0, time.Hour
	var tick func()
	tick = func() {
		now := p.k.Now()
		waiting.Set(now.Seconds())
		if now >= 25*time.Second {
			seen := time.Duration((1 - processor.gate.budget()) * 100 * float64(time.Second))
			most, least = max(most, now-seen), min(least, now-seen)
		}
		p.k.After(time.Second, tick)
	}
	p.k.After(0, tick)
	p.k.At(90*time.Second, p.k.Stop)
	if err := p.k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if most < 15*time.Second || most > 21*time.Second || least > 6*time.Second {
		t.Errorf("values between %v and %v old, want up to 20s", least, most)
	}
}

func TestEndpointScrapeReadsItsPageItself(t *testing.T) {
	tests := []struct {
		name string
		gate spec.Gate
		want float64
	}{
		{"a count over what a pod holds", spec.Gate{Endpoint: "vllm-1", Metric: "vllm:num_requests_waiting", MaxCountPerPod: 5}, 1 - 3.0/5},
		{"less the baseline", spec.Gate{Endpoint: "vllm-1", Metric: "vllm:num_requests_waiting", MaxCountPerPod: 5, Baseline: 0.1}, 1 - 3.0/5 - 0.1},
		{"closed when it is full", spec.Gate{Endpoint: "vllm-1", Metric: "vllm:num_requests_waiting", MaxCountPerPod: 3}, 0},
		{"a share as it is", spec.Gate{Endpoint: "router", Metric: "saturation"}, 0.75},
		{"the fallback for a metric that is not there", spec.Gate{Endpoint: "vllm-0", Metric: "vllm:num_requests_waiting", Fallback: 1}, 1},
		{"the fallback for a page that is not there", spec.Gate{Endpoint: "vllm-7", Metric: "x", Fallback: 0.5}, 0.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &pages{k: kernel.NewVirtual()}
			p.other.Gauge("vllm:num_requests_waiting", "").Set(3)
			p.router.Gauge("saturation", "").Set(0.25)
			tt.gate.Type = spec.GateEndpointScrape
			if got := p.processor(tt.gate).gate.budget(); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("budget %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAPollThatIsHeldUpDoesNotRunOnThroughAGateThatHasClosed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Concurrency = 1 })
	g := &switchable{open: true}
	r.p.gate = g
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		r.submit(id, time.Hour, answer{after: 10 * time.Second, end: ok.end})
	}
	r.k.At(5*time.Second, func() { g.open = false })
	r.run(5 * time.Minute)
	// One ran, two waited in process, one was in hand.
	if len(r.log) != 4 || r.p.queue.len() != 2 {
		t.Errorf("sent %v, %d left", r.order(), r.p.queue.len())
	}
}

type switchable struct{ open bool }

func (s *switchable) budget() float64 {
	if s.open {
		return 1
	}
	return 0
}
