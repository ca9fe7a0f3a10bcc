package gateway

import (
	"testing"

	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

func TestAIMDController(t *testing.T) {
	cases := map[string]struct {
		cfg    spec.AIMD
		max    int
		events string // s: success, d: decrease
		want   []int  // the limit after each event
	}{
		"a window of successes as long as the limit adds one": {
			spec.AIMD{Min: 1, BackoffFactor: 0.5, AdditiveIncrease: 1}, 4, "dssss" + "sss", []int{2, 2, 3, 3, 3, 4, 4, 4},
		},
		"the limit never leaves the bounds": {
			spec.AIMD{Min: 2, BackoffFactor: 0.5, AdditiveIncrease: 3}, 4, "ddsss", []int{2, 2, 2, 4, 4},
		},
		"the product is cut to an integer": {
			spec.AIMD{Min: 1, BackoffFactor: 0.7, AdditiveIncrease: 1}, 10, "dddd", []int{7, 4, 2, 1},
		},
		"a decrease at the floor starts the window anew": {
			spec.AIMD{Min: 2, BackoffFactor: 0.5, AdditiveIncrease: 1}, 8, "ddsdss", []int{4, 2, 2, 2, 2, 3},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAIMD(c.cfg, c.max)
			for i, event := range c.events {
				if event == 's' {
					a.success()
				} else {
					a.decrease()
				}
				if a.limit != c.want[i] {
					t.Fatalf("limit %d after event %d of %q, expected %d", a.limit, i, c.events, c.want[i])
				}
			}
		})
	}
}

func TestAIMDMetrics(t *testing.T) {
	cfg := Config{EndpointURL: "http://backend:8000"}
	cfg.Concurrency = spec.Concurrency{Global: 8, PerEndpoint: 4, AIMD: spec.AIMD{Enabled: true, Min: 3, BackoffFactor: 0.5, AdditiveIncrease: 1}}
	cfg.Quirks = spec.ObservedQuirks()
	m := newProcessorMetrics(&cfg, &metric.Registry{})
	ep := newEndpoint(&cfg, "http://backend:8000", m)
	for _, s := range []signal{signal429, signal429, signalNone, signalSuccess, signalSuccess, signalSuccess, signal5xx} {
		ep.semaphore.acquire(nil)
		ep.done(s, true, 0, 0)
	}
	url := metric.Label{Name: "endpoint", Value: "http://backend:8000"}
	for name, want := range map[string]float64{
		"limit": 3, "decreases by 429 (one of them at the floor)": 2, "decreases by 5xx": 1, "increases": 1,
	} {
		got := map[string]float64{
			"limit": ep.metrics.limit.Value(),
			"decreases by 429 (one of them at the floor)": m.registry.Counter("batch_processor_aimd_decreases_total", "", url, metric.Label{Name: "signal", Value: "429"}).Value(),
			"decreases by 5xx":                            m.registry.Counter("batch_processor_aimd_decreases_total", "", url, metric.Label{Name: "signal", Value: "5xx"}).Value(),
			"increases":                                   m.registry.Counter("batch_processor_aimd_increases_total", "", url).Value(),
		}[name]
		if got != want {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
	}
}
