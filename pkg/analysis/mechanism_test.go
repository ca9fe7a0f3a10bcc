package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/spec"
)

// always and during describe a series by the time.
func always(v float64) func(float64) float64 { return func(float64) float64 { return v } }

func during(from, to, v, otherwise float64) func(float64) float64 {
	return func(t float64) float64 {
		if t >= from && t < to {
			return v
		}
		return otherwise
	}
}

// climbs is a counter that rises by 1 a second between two instants, and that is there
// from its first rise on.
func climbs(from, to float64) func(float64) float64 {
	return func(t float64) float64 {
		if t <= from {
			return math.NaN()
		}
		return math.Min(t, to) - from
	}
}

// promising is a cell whose arm has every mechanism of the sync gateway and promises one.
func promising(promise string) *analysistest.Cell {
	cell := analysistest.New(analysistest.S2, 1)
	cell.Arm(func(a *spec.Arm) {
		a.Promises = []string{promise}
		a.Gateway.Concurrency.AIMD = spec.AIMD{Enabled: true, Min: 2, BackoffFactor: 0.5, AdditiveIncrease: 1}
		a.Gateway.InferenceObjective = "batch"
		a.Router = promisingRouter()
		if promise == spec.PromiseGate {
			a.Dispatch = spec.DispatchAsync
		}
	})
	return &cell
}

// promisingRouter has flow control, holdback and eviction.
func promisingRouter() spec.Router {
	return spec.Router{
		Kind:                 spec.RouterEPP,
		Objectives:           []spec.Objective{{Name: "chat", Priority: 100}, {Name: "batch", Priority: -10}},
		InteractiveObjective: "chat", Detector: spec.DetectorRequests, MaxConcurrency: 48,
		FlowControl: true, Eviction: true, Holdback: spec.Holdback{MinCeiling: 0.5, MaxCeiling: 1},
	}
}

// The measured time of a cell is 40 s to 120 s.
func TestPromises(t *testing.T) {
	const (
		priority  = `{"priority":"-10"}`
		tenthOf   = `{"le":"0.1","priority":"-10"}`
		saturated = "llm_d_epp_flow_control_pool_saturation"
	)
	admission := func(a *spec.Arm) {
		a.Router.FlowControl, a.Router.Eviction, a.Router.Holdback = false, false, spec.Holdback{}
	}
	held := func(c *analysistest.Cell, saturation, waiting, inFlight float64) {
		c.Series("router", saturated, `{}`, always(saturation))
		c.Series("router", metricQueueSize, priority, always(waiting))
		c.Series("router", metricRouterRequests, priority, always(inFlight))
	}
	cases := []struct {
		name     string
		promise  string
		change   func(*analysistest.Cell)
		ok       bool
		evidence string
	}{
		{"AIMD that cut its limit", spec.PromiseAIMD, func(c *analysistest.Cell) {
			c.Series("processor", metricAIMDLimit, `{"endpoint":"b"}`, during(50, 60, 3, 10))
			c.Series("processor", metricAIMDDecreases, `{"endpoint":"b","signal":"429"}`, climbs(50, 54))
			c.Series("processor", metricAIMDDecreases, `{"endpoint":"b","signal":"5xx"}`, climbs(30, 45))
		}, true, "9 decreases in the measured time; lowest limit seen 3"},
		{"AIMD that cut its limit in the warm-up only", spec.PromiseAIMD, func(c *analysistest.Cell) {
			c.Series("processor", metricAIMDLimit, `{"endpoint":"b"}`, during(20, 30, 3, 10))
			c.Series("processor", metricAIMDDecreases, `{"endpoint":"b","signal":"429"}`, climbs(20, 24))
		}, false, "0 decreases in the measured time; lowest limit seen 10"},
		{"AIMD that never had a signal", spec.PromiseAIMD, func(c *analysistest.Cell) {
			c.Series("processor", metricAIMDLimit, `{"endpoint":"b"}`, always(10))
		}, false, "0 decreases in the measured time; lowest limit seen 10"},
		{"AIMD of a processor that nobody asked", spec.PromiseAIMD, func(c *analysistest.Cell) {
			c.Samples = nil
			c.Series("vllm-0", metricRunning, `{}`, always(1))
		}, false, "metrics.parquet has no batch_processor_aimd_decreases_total"},
		{"a cell without metrics", spec.PromiseAIMD, func(c *analysistest.Cell) { c.Samples = nil },
			false, "the cell has no metrics"},

		{"a pool that was full for a while", spec.PromiseSaturation, func(c *analysistest.Cell) {
			c.Series("router", saturated, `{}`, during(60, 62, 1.25, 0.5))
		}, true, "saturation at most 1.25 in 81 samples of the measured time, from llm_d_epp_flow_control_pool_saturation"},
		{"a pool that was full in the warm-up only", spec.PromiseSaturation, func(c *analysistest.Cell) {
			c.Series("router", saturated, `{}`, during(0, 40, 1.25, 0.96))
		}, false, "saturation at most 0.96 in 81 samples"},
		{"a pool whose requests in flight fill it", spec.PromiseSaturation, func(c *analysistest.Cell) {
			c.Series("router", metricRouterRequests, `{"priority":"100"}`, always(20))
			c.Series("router", metricRouterRequests, priority, during(60, 62, 28, 4))
		}, true, "saturation at most 1 in 81 samples of the measured time, from llm_d_epp_inflight_requests"},
		{"a pool that was full between two samples", spec.PromiseSaturation, func(c *analysistest.Cell) {
			c.Arm(admission)
			c.Series("router", metricRouterRequests, priority, always(27))
			c.Series("router", metricRouterErrors, `{"error_code":"ResourceExhausted","priority":"-10"}`, climbs(60, 63))
		}, true, "from llm_d_epp_inflight_requests; admission control refused 3 requests, which it does only while the pool is full"},
		{"a pool whose requests failed for other reasons", spec.PromiseSaturation, func(c *analysistest.Cell) {
			c.Arm(admission)
			c.Series("router", metricRouterRequests, priority, always(27))
			c.Series("router", metricRouterErrors, `{"error_code":"ServiceUnavailable","priority":"-10"}`, climbs(60, 63))
		}, false, "from llm_d_epp_inflight_requests"},
		{"a pool that nothing tells of", spec.PromiseSaturation, func(*analysistest.Cell) {},
			false, "metrics.parquet has no llm_d_epp_inflight_requests"},

		{"requests that waited", spec.PromiseQueue, func(c *analysistest.Cell) {
			c.Series("router", metricQueueCount, priority, climbs(30, 100))
			c.Series("router", metricQueueBucket, tenthOf, climbs(30, 60))
			c.Series("router", metricQueueBucket, `{"le":"1","priority":"-10"}`, climbs(30, 100))
			c.Series("router", metricQueueSize, priority, always(7))
		}, true, "40 requests left the router's queue after more than 0.1 s in the measured time; longest queue seen 7"},
		{"requests that passed straight through", spec.PromiseQueue, func(c *analysistest.Cell) {
			c.Series("router", metricQueueCount, priority, climbs(30, 100))
			c.Series("router", metricQueueBucket, tenthOf, climbs(30, 100))
			c.Series("router", metricQueueSize, priority, always(1))
		}, false, "0 requests left the router's queue after more than 0.1 s"},

		{"a band that waited although there was room", spec.PromiseCeiling, func(c *analysistest.Cell) { held(c, 0.52, 12, 25) },
			true, "priority -10 waited between its ceiling of 0.5 and a full pool for 100.0 % of the measured time; ceiling 24, above 30 of it in flight (overshoot allowed for) for 0.0 % of the time, limit 5 %, at most 25"},
		{"a band that went above its ceiling", spec.PromiseCeiling, func(c *analysistest.Cell) { held(c, 0.7, 12, 33) },
			false, "ceiling 24, above 30 of it in flight (overshoot allowed for) for 100.0 % of the time, limit 5 %, at most 33"},
		{"a band that never waited", spec.PromiseCeiling, func(c *analysistest.Cell) { held(c, 0.5, 0, 20) },
			false, "a full pool for 0.0 % of the measured time"},
		{"a band that waited because the pool was full", spec.PromiseCeiling, func(c *analysistest.Cell) { held(c, 1, 12, 24) },
			false, "a full pool for 0.0 % of the measured time"},
		{"a band that nothing tells of", spec.PromiseCeiling, func(c *analysistest.Cell) {
			c.Series("router", saturated, `{}`, always(0.5))
		}, false, "llm_d_epp_flow_control_queue_size was not sampled for priority -10 in the measured time"},

		{"evictions", spec.PromiseEviction, func(c *analysistest.Cell) {
			c.Series("router", metricRouterRequests, priority, always(20))
			c.Series("router", metricEvictions, `{"priority":"100"}`, climbs(38, 44))
		}, true, "4 evictions issued in the measured time"},
		{"no eviction", spec.PromiseEviction, func(c *analysistest.Cell) {
			c.Series("router", metricRouterRequests, priority, always(20))
		}, false, "0 evictions issued in the measured time"},

		{"a gate that closed", spec.PromiseGate, func(c *analysistest.Cell) {
			c.Series("async", metricBudget, `{"queue_id":"q"}`, during(60, 100, 0, 0.4))
		}, true, "dispatch budget from 0 to 0.4 in 81 samples of the measured time, 0 for 50.0 % of it"},
		{"a gate that stayed open", spec.PromiseGate, func(c *analysistest.Cell) {
			c.Series("async", metricBudget, `{"queue_id":"q"}`, during(0, 30, 0, 0.4))
		}, false, "dispatch budget from 0.4 to 0.4 in 81 samples"},
		{"a gate that never opened", spec.PromiseGate, func(c *analysistest.Cell) {
			c.Series("async", metricBudget, `{"queue_id":"q"}`, always(0))
		}, false, "dispatch budget from 0 to 0 in 81 samples"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cell := promising(c.promise)
			c.change(cell)
			result := mustSummarize(t, *cell)
			i := slices.IndexFunc(result.Checks, func(k Check) bool { return k.Name == promised(c.promise) })
			if i < 0 {
				t.Fatalf("no check %q in %v", promised(c.promise), result.Checks)
			}
			got := result.Checks[i]
			if got.OK != c.ok || !strings.Contains(got.Evidence, c.evidence) {
				t.Errorf("ok %v, %s; expected ok %v, …%s…", got.OK, got.Evidence, c.ok, c.evidence)
			}
			if result.Valid && !c.ok {
				t.Error("the cell is VALID")
			}
		})
	}
}

func TestWhatIsNotPromisedIsToldAndNotChecked(t *testing.T) {
	cell := promising(spec.PromiseAIMD)
	cell.Arm(func(a *spec.Arm) { a.Promises = nil })
	cell.Series("processor", metricAIMDLimit, `{"endpoint":"b"}`, during(60, 80, 4, 10))
	result := mustSummarize(t, *cell)
	if !result.Valid {
		t.Errorf("INVALID: %s", result.failures())
	}
	a := result.Mechanisms.AIMD
	if a == nil || a.Decreases.Value == nil || *a.Decreases.Value != 0 || *a.LowestLimit.Value != 4 || *a.MeanLimit.Value != 8.5 {
		t.Errorf("found %+v, expected no decrease, a lowest limit of 4 and a mean of 8.5", a)
	}
	if want := [][2]float64{{40, 10}, {60, 4}, {80, 10}}; !slices.Equal(a.Limits, want) {
		t.Errorf("limits %v, expected %v", a.Limits, want)
	}
	if result.Mechanisms.Gate != nil {
		t.Error("a sync gateway has no dispatch gate")
	}
	if s0 := mustSummarize(t, analysistest.New(analysistest.S0, 1)).Mechanisms; s0.AIMD != nil || s0.Saturation != nil || s0.Eviction != nil {
		t.Errorf("an arm without any has %+v", s0)
	}
}
