package engine

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

var update = flag.Bool("update", false, "rewrite golden files")

func page(t *testing.T, s *Server) string {
	t.Helper()
	var b strings.Builder
	for _, family := range s.Metrics().Gather() {
		if _, err := expfmt.MetricFamilyToText(&b, family); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestTheMetricsPage(t *testing.T) {
	k := kernel.NewVirtual()
	s := New(k, testConfig(t, nil))
	submitAt(k, s, 0, &sim.Call{ID: "a", Prompt: prompt(1, 1000), MaxTokens: 20})
	submitAt(k, s, 200*ms, &sim.Call{ID: "b", Prompt: prompt(1, 1000), MaxTokens: 1})
	a := &answer{k: k}
	k.At(300*ms, func() {
		abort := s.Submit(&sim.Call{ID: "c", Model: testModel, Prompt: prompt(2, 100), MaxTokens: 500}, a)
		k.At(time.Second, abort)
	})
	runToEnd(t, k)
	got := page(t, s)
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page differs from %s (-update rewrites it):\n%s", golden, got)
	}
}

// Names of the families that collectors of vLLM's metrics ask for.
func TestThePageHasVLLMsFamilies(t *testing.T) {
	s := New(kernel.NewVirtual(), testConfig(t, nil))
	text := page(t, s)
	for _, name := range []string{
		`vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-8B"} 0`,
		`vllm:num_requests_waiting_by_reason{engine="0",model_name="Qwen/Qwen3-8B",reason="capacity"} 0`,
		`vllm:request_success_total{engine="0",finished_reason="abort",model_name="Qwen/Qwen3-8B"} 0`,
		`# TYPE vllm:iteration_tokens_total histogram`,
		`# TYPE vllm:prefix_cache_hits_total counter`,
		`vllm:inter_token_latency_seconds_bucket{engine="0",model_name="Qwen/Qwen3-8B",le="0.01"} 0`,
		`vllm:request_prompt_tokens_bucket{engine="0",model_name="Qwen/Qwen3-8B",le="5000"} 0`,
		`num_gpu_blocks="25129"`,
	} {
		if !strings.Contains(text, name) {
			t.Errorf("the page lacks %s", name)
		}
	}
	if strings.Contains(text, `le="10000"`) {
		t.Error("token buckets go beyond the longest request")
	}
}

func TestGaugesHoldTheLastStepAndTimeAloneDoesNotChangeThem(t *testing.T) {
	k := kernel.NewVirtual()
	cfg := testConfig(t, nil)
	cfg.Scheduler.MaxNumSeqs = 1
	s := New(k, cfg)
	submitAt(k, s, 0, &sim.Call{ID: "a", Prompt: prompt(1, 8000), MaxTokens: 3})
	submitAt(k, s, 0, &sim.Call{ID: "b", Prompt: prompt(2, 8000), MaxTokens: 3})
	during := func(at kernel.Time, running, waiting float64) {
		k.At(at, func() {
			if r, w := s.metrics.running.Value(), s.metrics.waiting.Value(); r != running || w != waiting {
				t.Errorf("at %v: got %v running and %v waiting, want %v and %v", at, r, w, running, waiting)
			}
		})
	}
	during(100*ms, 0, 0) // the first step has not ended: nothing was ever reported
	during(265*ms, 1, 1)
	runToEnd(t, k)
	if r, w := s.metrics.running.Value(), s.metrics.waiting.Value(); r != 0 || w != 0 {
		t.Errorf("at the end: got %v running and %v waiting", r, w)
	}
}

func TestHistogramsAgreeWithTheClientsView(t *testing.T) {
	k := kernel.NewVirtual()
	s := New(k, testConfig(t, nil))
	var sum, ttft float64
	var tokens int
	var answers []*answer
	for i := range 40 {
		at := kernel.Time(i) * 37 * ms
		answers = append(answers, submitAt(k, s, at, &sim.Call{ID: string(rune('A' + i)), Prompt: prompt(i, 300+i), MaxTokens: 10 + i}))
	}
	runToEnd(t, k)
	for i, a := range answers {
		times := a.tokenTimes()
		ttft += (times[0] - kernel.Time(i)*37*ms).Seconds()
		sum += (times[len(times)-1] - times[0]).Seconds()
		tokens += len(times)
	}
	for _, family := range s.Metrics().Gather() {
		h := family.Metric[0].GetHistogram()
		switch family.GetName() {
		case "vllm:time_to_first_token_seconds":
			if h.GetSampleCount() != 40 || !within(h.GetSampleSum(), ttft, 1e-9) {
				t.Errorf("ttft: got %d and %v, want 40 and %v", h.GetSampleCount(), h.GetSampleSum(), ttft)
			}
		case "vllm:inter_token_latency_seconds":
			if int(h.GetSampleCount()) != tokens-40 || !within(h.GetSampleSum(), sum, 1e-9) {
				t.Errorf("itl: got %d and %v, want %d and %v", h.GetSampleCount(), h.GetSampleSum(), tokens-40, sum)
			}
		case "vllm:generation_tokens_total":
			if got := family.Metric[0].GetCounter().GetValue(); got != float64(tokens) {
				t.Errorf("generation tokens: got %v, want %d", got, tokens)
			}
		}
	}
}
