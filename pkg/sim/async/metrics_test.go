package async

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"

	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

var update = flag.Bool("update", false, "write the golden files")

// The page after a success, a retry, a failure, a deadline and a cut stream, while a
// message waits.
func TestTheMetricsPage(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Resume = true
		c.Gate = spec.Gate{
			Type: spec.GatePrometheusBudget, MaxConcurrency: 10, Baseline: 0.05, Fallback: 0.5,
			ScrapeInterval: spec.Duration(15 * time.Second), CacheTTL: spec.Duration(5 * time.Second),
		}
	})
	var picker metric.Registry
	picker.Gauge(readyPodsMetric, "").Set(2)
	picker.Gauge(queueSizeMetric, "").Set(5)
	r.p.cfg.Targets = []Target{{"router", &picker}}
	r.p.gate = newGate(r.p)
	r.submit("good", time.Hour, ok)
	r.submit("shed", time.Hour, evicted, ok)
	r.submit("bad", time.Hour, badRequest)
	r.submit("late", -2*time.Second, ok)
	r.submit("cut", time.Hour, answer{after: time.Second, tokens: 4, end: cut}, ok)
	r.k.At(29500*time.Millisecond, func() { r.submit("waits", time.Hour, ok) })
	r.run(29900 * time.Millisecond)
	var page strings.Builder
	for _, family := range r.p.Metrics().Gather() {
		if _, err := expfmt.MetricFamilyToText(&page, family); err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheBudgetIsRefreshedByPollsAlone(t *testing.T) {
	r := newRig(t, func(c *Config) { c.PollInterval = spec.Duration(10 * time.Second) })
	budget := func() float64 { return value(t, r.p.Metrics(), "llm_d_async_async_dispatch_budget") }
	r.k.At(9*time.Second, func() {
		if budget() != 0 {
			t.Errorf("dispatch_budget is %v before the first poll", budget())
		}
	})
	r.k.At(11*time.Second, func() { r.p.gate = fixed(0.5) })
	r.k.At(19*time.Second, func() {
		if budget() != 1 {
			t.Errorf("dispatch_budget is %v between two polls, want what the last one saw", budget())
		}
	})
	r.run(21 * time.Second)
	if budget() != 0.5 {
		t.Errorf("dispatch_budget is %v after the second poll", budget())
	}
}

func TestOnlyAGateThatAsksPrometheusExposesWhatItRead(t *testing.T) {
	for gate, want := range map[string]bool{spec.GateConstant: false, spec.GateEndpointScrape: false, spec.GatePrometheusBudget: true} {
		r := newRig(t, func(c *Config) {
			c.Gate = spec.Gate{Type: gate, MaxConcurrency: 1, ScrapeInterval: spec.Duration(time.Second), Metric: "x", Endpoint: "router"}
		})
		r.run(5 * time.Second)
		got := false
		for _, f := range r.p.Metrics().Gather() {
			got = got || strings.HasPrefix(f.GetName(), "llm_d_async_async_gate_metric_")
		}
		if got != want {
			t.Errorf("%s: gate_metric gauges: %v, want %v", gate, got, want)
		}
	}
}
