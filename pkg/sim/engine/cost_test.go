package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bgbench/pkg/spec"
)

func model(t testing.TB, short string) Model {
	m, err := modelNamed("Qwen/" + short)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func gpu(t testing.TB, name string) GPU {
	g, err := gpuNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func within(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

// Parameter counts are those that Hugging Face shows for the repositories
// (safetensors metadata).
func TestModelsHaveTheirPublishedSizes(t *testing.T) {
	for _, c := range []struct {
		name    string
		params  float64
		weights float64 // GB read a step
		kv      float64 // bytes a token
	}{
		{"Qwen2.5-1.5B-Instruct", 1_543_714_304, 3.09, 28_672},
		{"Qwen3-4B", 4_022_468_096, 8.04, 147_456},
		{"Qwen3-8B", 8_190_735_360, 15.14, 147_456},
		{"Qwen2.5-14B-Instruct", 14_770_033_664, 27.98, 196_608},
		{"Qwen2.5-32B-Instruct", 32_763_876_352, 63.97, 262_144},
		{"Qwen2.5-72B-Instruct", 72_706_203_648, 142.92, 327_680},
	} {
		m := model(t, c.name)
		if m.Params() != c.params {
			t.Errorf("%s: parameters: got %.0f, want %.0f", c.name, m.Params(), c.params)
		}
		if got := m.WeightBytes() / 1e9; math.Abs(got-c.weights) > 0.006 {
			t.Errorf("%s: weights: got %.3f GB, want %.2f", c.name, got, c.weights)
		}
		if m.KVBytes() != c.kv {
			t.Errorf("%s: KV: got %.0f bytes a token, want %.0f", c.name, m.KVBytes(), c.kv)
		}
	}
}

func TestKVCacheSizes(t *testing.T) {
	for _, c := range []struct {
		model, gpu  string
		utilization float64
		want, share float64
	}{
		// Measured: vLLM printed 267,472 tokens for a 32B model on an H200.
		{"Qwen2.5-32B-Instruct", "H200", 0.92, 267_472, 0.0005},
		{"Qwen2.5-32B-Instruct", "H200", 0.90, 256_000, 0.002},
		{"Qwen2.5-32B-Instruct", "H100", 0.92, 39_000, 0.02},
		{"Qwen2.5-1.5B-Instruct", "H100", 0.90, 2.47e6, 0.002},
		{"Qwen2.5-1.5B-Instruct", "H100", 0.92, 2.53e6, 0.002},
		{"Qwen2.5-1.5B-Instruct", "H200", 0.90, 4.52e6, 0.002},
		{"Qwen2.5-1.5B-Instruct", "H200", 0.92, 4.62e6, 0.002},
		{"Qwen3-8B", "A100-80", 0.90, 390e3, 0.003},
		{"Qwen3-8B", "H100", 0.90, 390e3, 0.002},
		{"Qwen3-8B", "H100", 0.92, 402e3, 0.002},
		{"Qwen3-8B", "H200", 0.90, 788e3, 0.002},
		{"Qwen3-8B", "H200", 0.92, 809e3, 0.002},
		{"Qwen2.5-14B-Instruct", "H100", 0.90, 226e3, 0.002},
		{"Qwen2.5-14B-Instruct", "H100", 0.92, 235e3, 0.002},
		{"Qwen2.5-14B-Instruct", "H200", 0.90, 524e3, 0.002},
		{"Qwen2.5-14B-Instruct", "H200", 0.92, 540e3, 0.002},
	} {
		arm := spec.Engine{GPU: c.gpu, GPUMemoryUtilization: c.utilization}
		cfg, err := ConfigOf(arm, "Qwen/"+c.model, 8192)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(cfg.Scheduler.NumGPUBlocks * 16); !within(got, c.want, c.share) {
			t.Errorf("%s on %s at %v: got %.0f tokens, want %.0f", c.model, c.gpu, c.utilization, got, c.want)
		}
	}
}

func TestAModelThatDoesNotFitIsRefused(t *testing.T) {
	_, err := ConfigOf(spec.Engine{GPU: "A100-80", GPUMemoryUtilization: 0.9}, "Qwen/Qwen2.5-32B", 0)
	if err == nil || !strings.Contains(err.Error(), "found room for 32389 tokens of KV cache, expected at least maxModelLen 32768") {
		t.Errorf("got %v", err)
	}
	if _, err := ConfigOf(spec.Engine{GPU: "A100-80", GPUMemoryUtilization: 0.3}, "Qwen/Qwen2.5-32B", 16); err == nil {
		t.Error("weights that are larger than the memory were accepted")
	}
}

func TestConfigOfTakesVLLMsDefaults(t *testing.T) {
	for _, c := range []struct {
		gpu            string
		seqs, tokens   int
		model          string
		wantMaxModelen int
	}{
		{"H100", 1024, 8192, "Qwen/Qwen3-8B", 40960},
		{"A100-80", 256, 2048, "Qwen/Qwen2.5-1.5B-Instruct", 32768},
	} {
		cfg, err := ConfigOf(spec.Engine{GPU: c.gpu}, c.model, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := cfg.Scheduler
		if s.MaxNumSeqs != c.seqs || s.MaxNumBatchedTokens != c.tokens || s.MaxModelLen != c.wantMaxModelen || s.BlockSize != 16 || !s.ReserveFullISL || s.Priority {
			t.Errorf("%s: got %+v", c.gpu, s)
		}
		if cfg.GPUMemoryUtilization != 0.92 {
			t.Errorf("%s: utilization: got %v, want 0.92", c.gpu, cfg.GPUMemoryUtilization)
		}
	}
}

func TestConfigOfRefusesNonsense(t *testing.T) {
	for want, arm := range map[string]spec.Engine{
		"maxNumSeqs: found -1":                           {MaxNumSeqs: -1},
		"maxNumBatchedTokens: found -1":                  {MaxNumBatchedTokens: -1},
		"blockSize: found -16":                           {BlockSize: -16},
		"numGPUBlocks: found -2":                         {NumGPUBlocks: -2},
		"gpuMemoryUtilization: found 1.5, expected 0":    {GPUMemoryUtilization: 1.5},
		`schedulingPolicy: found "lifo", expected fcfs `: {SchedulingPolicy: "lifo"},
		"tensorParallelSize: found 3, expected 0":        {TensorParallelSize: 3},
	} {
		arm.GPU = "H100"
		if _, err := ConfigOf(arm, testModel, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func decodes(requests, context int) Load {
	return Load{Requests: requests, Tokens: requests, Context: requests * context}
}

func prefill(tokens int) Load {
	var l Load
	l.add(0, tokens)
	return l
}

// The table was computed with the same formula by hand, in milliseconds; it holds
// units, constants and catalogue together.
func TestStepTimes(t *testing.T) {
	loads := []Load{decodes(1, 1000), decodes(32, 1000), decodes(32, 5000), decodes(48, 2000), decodes(128, 2000),
		prefill(500), prefill(2048), prefill(8192)}
	for _, c := range []struct {
		model, gpu string
		want       []float64
	}{
		{"Qwen2.5-1.5B", "H200", []float64{2.8, 3.4, 4.5, 4.1, 6.2, 4.5, 12.6, 52}},
		{"Qwen3-8B", "A100-80", []float64{11.1, 14.8, 29.1, 22.1, 43.1, 43, 175, 781}},
		{"Qwen3-8B", "H100", []float64{7.7, 10.0, 18.7, 14.5, 26.0, 15, 57, 248}},
		{"Qwen3-8B", "H200", []float64{6.1, 7.8, 13.8, 10.9, 19.1, 15, 57, 248}},
		{"Qwen2.5-14B", "H200", []float64{9.6, 11.8, 19.8, 15.9, 26.7, 27, 106, 461}},
		{"Qwen2.5-32B", "H200", []float64{18.9, 21.7, 32.5, 27.3, 41.3, 61, 243, 1024}},
	} {
		cost := NewCost(model(t, c.model), gpu(t, c.gpu), 1)
		for i, want := range c.want {
			got := cost.StepTime(loads[i]).Seconds() * 1e3
			digits := 1
			if i >= 5 && want == math.Trunc(want) {
				digits = 0
			}
			// One unit of the last digit: the table's own constants were rounded.
			if math.Abs(got-want) > math.Pow10(-digits) {
				t.Errorf("%s on %s: %s: got %.2f ms, want %v", c.model, c.gpu, fmt.Sprintf("%+v", loads[i]), got, want)
			}
		}
	}
}

func TestAStepWithoutWorkTakesNoTime(t *testing.T) {
	cost := NewCost(model(t, "Qwen3-8B"), gpu(t, "H100"), 1)
	if got := cost.StepTime(Load{}); got != 0 {
		t.Errorf("got %v", got)
	}
}
