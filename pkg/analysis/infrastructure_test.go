package analysis

import (
	"math"
	"testing"

	"bgbench/pkg/analysis/analysistest"
)

func TestServersAreSummarizedByPhase(t *testing.T) {
	cell := analysistest.New(analysistest.S2, 1)
	cell.Samples = nil
	// Bursts lie at 40 to 70 s and 80 to 110 s, idle phases at 70 to 80 s and 110 to 120 s.
	idle := func(t float64) bool { return t >= 70 && t < 80 || t >= 110 && t < 120 }
	level := func(t float64) float64 {
		if idle(t) {
			return 2
		}
		return 6
	}
	cell.Series("vllm-0", "vllm:num_requests_waiting", "{}", level)
	cell.Series("vllm-1", "vllm:num_requests_waiting", "{}", level)
	cell.Series("vllm-0", "vllm:kv_cache_usage_perc", "{}", func(float64) float64 { return 0.2 })
	cell.Series("vllm-1", "vllm:kv_cache_usage_perc", "{}", func(float64) float64 { return 0.6 })
	cell.Series("vllm-0", "vllm:num_preemptions_total", "{}", func(t float64) float64 { return math.Max(0, t) })
	cell.Series("router", "llm_d_epp_flow_control_queue_size", `{"priority":"-1"}`, level)
	cell.Series("router", "llm_d_epp_flow_control_queue_size", `{"priority":"100"}`, func(float64) float64 { return 0 })
	got := map[[2]string]Infrastructure{}
	for _, i := range mustSummarize(t, cell).Infrastructure {
		got[[2]string{i.Metric, i.Phase}] = i
	}
	waiting := got[[2]string{"vllm:num_requests_waiting", "burst"}]
	near(t, "waiting of both in the burst", waiting.Mean, 12)
	near(t, "waiting at most in all", got[[2]string{"vllm:num_requests_waiting", PhaseAll}].Max, 12)
	near(t, "waiting of both in the idle phase", got[[2]string{"vllm:num_requests_waiting", "idle"}].Mean, 4)
	if waiting.Rise.Value != nil || waiting.Of != "sum" || waiting.Series != 2 {
		t.Errorf("found %+v, expected a gauge that is the sum of two", waiting)
	}
	near(t, "mean KV cache of both", got[[2]string{"vllm:kv_cache_usage_perc", "burst"}].Mean, 0.4)
	near(t, "preemptions in both idle phases", got[[2]string{"vllm:num_preemptions_total", "idle"}].Rise, 20)
	near(t, "per second", got[[2]string{"vllm:num_preemptions_total", "idle"}].PerS, 1)
	near(t, "queue of one priority", got[[2]string{"llm_d_epp_flow_control_queue_size{priority=-1}", "idle"}].Mean, 2)
	if _, ok := got[[2]string{"llm_d_async_async_dispatch_budget", PhaseAll}]; ok {
		t.Error("a metric that the cell does not have is there")
	}
}

func TestQueueTimesAreOfThoseDispatched(t *testing.T) {
	cell := analysistest.New(analysistest.S2, 1)
	const family = "llm_d_epp_flow_control_request_queue_duration_seconds_"
	series := func(name, labels string, perS float64) {
		cell.Series("router", family+name, labels, func(t float64) float64 { return perS * math.Max(0, t) })
	}
	// Two a second are dispatched, after 0.3 s in the mean, half of them within 0.1 s; one in
	// two seconds is refused after a minute.
	series("count", `{"priority":"-1","outcome":"Dispatched"}`, 2)
	series("sum", `{"priority":"-1","outcome":"Dispatched"}`, 0.6)
	series("bucket", `{"priority":"-1","outcome":"Dispatched","le":"0.1"}`, 1)
	series("bucket", `{"priority":"-1","outcome":"Dispatched","le":"1"}`, 2)
	series("bucket", `{"priority":"-1","outcome":"Dispatched","le":"+Inf"}`, 2)
	series("count", `{"priority":"-1","outcome":"EvictedTTL"}`, 0.5)
	series("sum", `{"priority":"-1","outcome":"EvictedTTL"}`, 30)
	series("bucket", `{"priority":"-1","outcome":"EvictedTTL","le":"+Inf"}`, 0.5)
	series("count", `{"priority":"100","outcome":"Dispatched"}`, 0)
	got := mustSummarize(t, cell).QueueTimes
	if len(got) != 6 || got[0].Priority != "100" || got[1].Priority != "-1" || got[1].Phase != "burst" || got[5].Phase != PhaseAll {
		t.Fatalf("found %+v, expected burst, idle and all, the highest priority first", got)
	}
	if got[0].Times.MeanS.Value != nil || got[0].Times.MeanS.Reason == "" {
		t.Errorf("a priority without a request: %+v", got[0])
	}
	burst := got[1]
	near(t, "dispatched in 60 s of burst", burst.Times.N, 120)
	near(t, "their mean", burst.Times.MeanS, 0.3)
	near(t, "refused", burst.Refused, 30)
	if q := burst.Times.P95; *q.LowS != 0.1 || *q.HighS != 1 {
		t.Errorf("p95 in %v to %v, expected 0.1 to 1", *q.LowS, *q.HighS)
	}
	if q := burst.Times.P50; *q.LowS != 0 || *q.HighS != 0.1 {
		t.Errorf("p50 in %v to %v, expected up to 0.1", *q.LowS, *q.HighS)
	}
}
