package async

import (
	"math"
	"math/rand/v2"
	"time"

	dto "github.com/prometheus/client_model/go"

	"bgbench/pkg/random"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// prometheus is the server that prometheus-budget asks: of each page it knows what
// its last scrape saw. Prometheus spreads the scrapes of its targets over the
// interval.
type prometheus struct {
	k       *kernel.Kernel
	cfg     Config
	scraped map[string][]*dto.MetricFamily // by target
}

func newPrometheus(k *kernel.Kernel, cfg Config) *prometheus {
	p := &prometheus{k: k, cfg: cfg, scraped: map[string][]*dto.MetricFamily{}}
	offsets := rand.New(random.Stream(cfg.Seed, "async", "scrape"))
	interval := cfg.Gate.ScrapeInterval.Std()
	for _, t := range cfg.Targets {
		var scrape func()
		scrape = func() {
			p.scraped[t.Name] = t.Registry.Gather()
			k.After(interval, scrape)
		}
		k.After(time.Duration(offsets.Int64N(int64(interval))), scrape)
	}
	return p
}

// Metrics that the budget is made of (llm-d-async v0.10, prometheus-budget): the
// endpoint picker's under their old names, and vLLM's.
const (
	queueSizeMetric   = "inference_extension_flow_control_queue_size"
	readyPodsMetric   = "inference_pool_ready_pods"
	perPodQueueMetric = "inference_pool_per_pod_queue_size"
	runningMetric     = "vllm:num_requests_running"
)

const routerTarget = spec.EndpointRouter

// dispatchBudget is the free share of capacity by the first of three queries that
// has a sample: what waits in flow control, what waits in a model server, what runs.
// They measure different things; a pod counts MaxConcurrency in each.
func (p *prometheus) dispatchBudget() (float64, bool) {
	router := p.scraped[routerTarget]
	perPod := float64(p.cfg.Gate.MaxConcurrency)
	pods, _ := total(router, readyPodsMetric)
	if waiting, n := total(router, queueSizeMetric); n > 0 && pods > 0 {
		return 1 - waiting/(pods*perPod), true
	}
	if waiting, n := total(router, perPodQueueMetric); n > 0 {
		return 1 - waiting/float64(n)/perPod, true
	}
	running, servers := 0.0, 0
	for _, t := range p.cfg.Targets {
		if t.Name == routerTarget {
			continue
		}
		sum, n := total(p.scraped[t.Name], runningMetric)
		running += sum
		servers += n
	}
	if servers > 0 && pods > 0 {
		return 1 - running/(pods*perPod), true
	}
	return 0, false
}

// total adds up the series of a gauge or counter and says how many there are.
func total(page []*dto.MetricFamily, name string) (sum float64, series int) {
	for _, family := range page {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.Metric {
			v := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			if !math.IsNaN(v) {
				sum += v
				series++
			}
		}
	}
	return sum, series
}
