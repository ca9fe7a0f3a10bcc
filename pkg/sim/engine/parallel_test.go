package engine

import (
	"math"
	"strings"
	"testing"

	"bgbench/pkg/spec"
)

func shard(t testing.TB, short string, tp int) Model {
	t.Helper()
	s, err := model(t, short).Shard(tp)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShardsTogetherAreTheModelAndTheirCopies(t *testing.T) {
	for _, c := range []struct {
		name   string
		tp     int
		copies float64 // of the KV cache
	}{
		{"Qwen2.5-1.5B", 1, 1},
		{"Qwen2.5-1.5B", 2, 1},
		{"Qwen2.5-1.5B", 4, 2}, // two KV heads on four GPUs
		{"Qwen3-8B", 8, 1},
		{"Qwen2.5-32B", 8, 1},
		{"Qwen2.5-72B", 4, 1},
	} {
		m, s, tp := model(t, c.name), shard(t, c.name, c.tp), float64(c.tp)
		if got, want := tp*s.KVBytes(), c.copies*m.KVBytes(); got != want {
			t.Errorf("%s on %d: KV: got %.0f bytes a token on all, want %.0f", c.name, c.tp, got, want)
		}
		// The norms and the copies of KV heads: 1.4 % of the smallest model.
		if got, want := tp*s.Params(), m.Params(); got < want || got > 1.02*want {
			t.Errorf("%s on %d: parameters: got %.0f on all, want %.0f and little more", c.name, c.tp, got, want)
		}
		if got, want := tp*s.WeightBytes(), m.WeightBytes(); got < want || got > 1.02*want {
			t.Errorf("%s on %d: weights: got %.0f bytes on all, want %.0f and little more", c.name, c.tp, got, want)
		}
	}
}

// vLLM refuses the first in ModelConfig, the others where it builds the layers.
func TestAModelThatCannotBeSplitIsRefused(t *testing.T) {
	_, err := ConfigOf(spec.Engine{GPU: "H100", TensorParallelSize: 8}, "Qwen/Qwen2.5-1.5B", 0)
	if want := "tensorParallelSize: found 8, expected a divisor of the 12 attention heads of Qwen/Qwen2.5-1.5B-Instruct"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	odd := model(t, "Qwen3-8B")
	for want, change := range map[string]func(*Model){
		"a divisor or a multiple of the 3 KV heads": func(m *Model) { m.KVHeads = 3 },
		"a divisor of the MLP's 1001":               func(m *Model) { m.FFN = 1001 },
		"the vocabulary's 151937 rows":              func(m *Model) { m.Vocab++ },
	} {
		m := odd
		change(&m)
		if _, err := m.Shard(2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The room is worked out by hand from gpu-memory-utilization, a GPU's part of the
// weights and the reserve.
func TestKVCacheOfAReplicaOnSeveralGPUs(t *testing.T) {
	for _, c := range []struct {
		model, gpu string
		tp         int
		want       int // tokens
	}{
		// (79.1 GiB x 0.92 - 145.41e9 B / 2 - 2.3 GiB) / 163,840 B
		{"Qwen2.5-72B", "H100", 2, 18_080},
		// (139.8 GiB x 0.92 - 145.41e9 B / 2 - 2.3 GiB) / 163,840 B
		{"Qwen2.5-72B", "H200", 2, 384_000},
		// (79.1 GiB x 0.92 - 65.53e9 B / 2 - 2.3 GiB) / 131,072 B
		{"Qwen2.5-32B", "H100", 2, 327_300},
	} {
		cfg, err := ConfigOf(spec.Engine{GPU: c.gpu, TensorParallelSize: c.tp}, "Qwen/"+c.model, 8192)
		if err != nil {
			t.Fatal(err)
		}
		if got := 16 * cfg.Scheduler.NumGPUBlocks; !within(float64(got), float64(c.want), 0.005) {
			t.Errorf("%s on %d x %s: got %d tokens, want %d", c.model, c.tp, c.gpu, got, c.want)
		}
	}
	_, err := ConfigOf(spec.Engine{GPU: "H100"}, "Qwen/Qwen2.5-72B", 8192)
	if err == nil || !strings.Contains(err.Error(), "fitting Qwen/Qwen2.5-72B on 1 x H100") {
		t.Errorf("72 billion parameters on one H100: got %v", err)
	}
}

// A step on n GPUs is that of the part which each holds, and 2 all-reduces a layer.
func TestTheLinkCostsLatencyAndBytes(t *testing.T) {
	for _, c := range []struct {
		gpu  string
		tp   int
		load Load
		want float64 // ms, of 80 layers with 8192 values
	}{
		{"H100", 2, decodes(1, 1), 160 * (6.6e-3 + 2*0.6e-3 + 16384/450e6)},
		{"H100", 8, decodes(32, 1), 160 * (6.6e-3 + 14*0.6e-3 + 14./8*32*16384/450e6)},
		{"A100-80", 4, prefill(2048), 160 * (6.6e-3 + 6*0.6e-3 + 6./4*2048*16384/300e6)},
		{"H100", 1, prefill(2048), 0},
	} {
		s := shard(t, "Qwen2.5-72B", c.tp)
		with, without := NewCost(s, gpu(t, c.gpu), c.tp), NewCost(s, gpu(t, c.gpu), 1)
		got := (with.StepTime(c.load) - without.StepTime(c.load)).Seconds() * 1e3
		if math.Abs(got-c.want) > 1e-5 {
			t.Errorf("%d x %s, %+v: got %.6f ms, want %.6f", c.tp, c.gpu, c.load, got, c.want)
		}
	}
}
