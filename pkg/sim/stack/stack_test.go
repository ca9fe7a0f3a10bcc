package stack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// answers remembers what came back for one call.
type answers struct {
	endpoint string
	first    kernel.Time // of the first token
	tokens   int
	ends     []sim.End
	endedAt  kernel.Time
}

func (a *answers) Headers(_ kernel.Time, endpoint string) { a.endpoint = endpoint }
func (a *answers) Tokens(at kernel.Time, n int) {
	if a.tokens == 0 {
		a.first = at
	}
	a.tokens += n
}
func (a *answers) End(at kernel.Time, end sim.End) { a.ends, a.endedAt = append(a.ends, end), at }

// build returns the stack of a catalogue arm with some keys changed.
func build(t *testing.T, k *kernel.Kernel, arm string, sets ...string) *Stack {
	t.Helper()
	a, err := spec.LoadArm(arm, sets)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(k, Config{Arm: a, Model: "Qwen/Qwen3-8B", MaxModelLen: 4096, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run lets the model run until nothing is left to happen.
func run(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	k.After(time.Hour, k.Stop) // the batch processor polls for ever
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func call(id string) *sim.Call {
	return &sim.Call{ID: id, Model: "Qwen/Qwen3-8B", Prompt: sim.PromptOf([]uint32{1, 2, 3}), MaxTokens: 4, IgnoreEOS: true}
}

func TestSourcesFollowTheArm(t *testing.T) {
	tests := []struct {
		arm  string
		sets []string
		want []string
	}{
		{"s0-interactive-only", nil, []string{"vllm-0"}},
		{"s1-no-gateway", nil, []string{"vllm-0"}},
		{"s3-admission-aimd", nil, []string{"vllm-0", "router", "processor", "apiserver"}},
		{"h0-realtime-only", nil, []string{"vllm-0", "router"}},
		{"h2-holdback", nil, []string{"vllm-0", "router", "processor", "apiserver", "async"}},
		{"s2-ungated", []string{"engine.replicas=2"}, []string{"vllm-0", "vllm-1", "processor", "apiserver"}},
	}
	for _, tt := range tests {
		t.Run(tt.arm, func(t *testing.T) {
			s := build(t, kernel.NewVirtual(), tt.arm, tt.sets...)
			var got []string
			for _, source := range s.Sources() {
				got = append(got, source.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if hasGateway := s.Gateway() != nil; hasGateway != slices.Contains(tt.want, "processor") {
				t.Errorf("batch gateway: %v", hasGateway)
			}
		})
	}
}

func TestReplicasAnswerInTurn(t *testing.T) {
	k := kernel.NewVirtual()
	s := build(t, k, "s0-interactive-only", "engine.replicas=2")
	replies := make([]answers, 4)
	for i := range replies {
		s.Inference().Submit(call(string(rune('a'+i))), &replies[i])
	}
	run(t, k)
	var got []string
	for _, r := range replies {
		got = append(got, r.endpoint)
	}
	if want := []string{"vllm-0", "vllm-1", "vllm-0", "vllm-1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPathLatencyDelaysTheFirstTokenOnly(t *testing.T) {
	measure := func(latency string) answers {
		k := kernel.NewVirtual()
		s := build(t, k, "s0-interactive-only", "pathLatency="+latency)
		var a answers
		s.Inference().Submit(call("a"), &a)
		run(t, k)
		return a
	}
	near, far := measure("0s"), measure("100ms")
	if got := far.first - near.first; got != 100*time.Millisecond {
		t.Errorf("the first token is %v later, want 100ms", got)
	}
	if a, b := near.endedAt-near.first, far.endedAt-far.first; a != b {
		t.Errorf("generation took %v near and %v far", a, b)
	}
}

func TestAbortOnTheWayInEndsTheCallOnce(t *testing.T) {
	k := kernel.NewVirtual()
	s := build(t, k, "s0-interactive-only", "pathLatency=100ms")
	var a answers
	abort := s.Inference().Submit(call("a"), &a)
	k.At(50*time.Millisecond, func() { abort(); abort() })
	run(t, k)
	if len(a.ends) != 1 || a.ends[0].Status != sim.StatusAborted || a.endedAt != 50*time.Millisecond {
		t.Errorf("got %+v at %v", a.ends, a.endedAt)
	}
}

func TestWhatCannotBeBuiltIsNamedWithItsArm(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"a model that the catalogue does not have", func(c *Config) { c.Model = "no/such" }, "arm s2-ungated: engine: "},
		{"a gateway that could never dispatch", func(c *Config) { c.Arm.Gateway.Concurrency.PerEndpoint = 0 }, "arm s2-ungated: gateway: "},
		{"a picker configuration that would not start", func(c *Config) { c.Arm.Router = spec.Router{Kind: spec.RouterEPP, Config: "kind: X"} }, "arm s2-ungated: router: endpoint picker config: "},
		{"a dispatch that the model does not have", func(c *Config) { c.Arm.Dispatch = "later" }, `arm s2-ungated: dispatch: found "later", expected none, backlog, sync or async`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			arm, err := spec.LoadArm("s2-ungated", nil)
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Arm: arm, Model: "Qwen/Qwen3-8B", MaxModelLen: 100}
			tt.change(&cfg)
			if _, err := New(kernel.NewVirtual(), cfg); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
