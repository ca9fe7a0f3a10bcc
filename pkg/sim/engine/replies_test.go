package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// event is one call of a Reply.
type event struct {
	At   kernel.Time
	What string // headers, tokens or end
	N    int
	End  sim.End
}

// answer is a Reply that writes everything down and knows the law: Headers at
// most once and before Tokens, one End, nothing after it, instants that ascend and
// are the kernel's.
type answer struct {
	k      *kernel.Kernel
	events []event
	broken string
	onEnd  func()
}

func (a *answer) note(e event) {
	if n := len(a.events); n > 0 && a.broken == "" {
		last := a.events[n-1]
		switch {
		case last.What == "end":
			a.broken = e.What + " after the end"
		case e.At < last.At:
			a.broken = fmt.Sprintf("%s at %v after %v", e.What, e.At, last.At)
		case e.What == "headers":
			a.broken = "headers after something else"
		}
	} else if e.What == "tokens" {
		a.broken = "tokens before headers"
	}
	if e.At != a.k.Now() {
		a.broken = fmt.Sprintf("%s at %v delivered at %v", e.What, e.At, a.k.Now())
	}
	a.events = append(a.events, e)
}

func (a *answer) Headers(at kernel.Time, endpoint string) {
	a.note(event{At: at, What: "headers"})
}

func (a *answer) Tokens(at kernel.Time, n int) {
	a.note(event{At: at, What: "tokens", N: n})
}

func (a *answer) End(at kernel.Time, end sim.End) {
	a.note(event{At: at, What: "end", End: end})
	if a.onEnd != nil {
		a.onEnd()
	}
}

func (a *answer) end() (sim.End, bool) {
	if n := len(a.events); n > 0 && a.events[n-1].What == "end" {
		return a.events[n-1].End, true
	}
	return sim.End{}, false
}

// tokenTimes are the instants of the tokens.
func (a *answer) tokenTimes() []kernel.Time {
	var at []kernel.Time
	for _, e := range a.events {
		if e.What == "tokens" {
			for range e.N {
				at = append(at, e.At)
			}
		}
	}
	return at
}

const testModel = "Qwen/Qwen3-8B"

func testConfig(tb testing.TB, change func(*spec.Engine)) Config {
	tb.Helper()
	arm := spec.Engine{GPU: "H100", EnablePrefixCaching: true, EnableChunkedPrefill: true}
	if change != nil {
		change(&arm)
	}
	cfg, err := ConfigOf(arm, testModel, 8192)
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

func prompt(seed, n int) sim.Prompt { return sim.PromptOf(promptIDs(seed, n)) }

func promptIDs(seed, n int) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(seed*1_000_003 + i)
	}
	return ids
}

// runToEnd runs k until no event is left.
func runToEnd(tb testing.TB, k *kernel.Kernel) {
	tb.Helper()
	if err := k.Run(tb.Context()); !errors.Is(err, kernel.ErrDeadlock) {
		tb.Fatal(err)
	}
}

func submitAt(k *kernel.Kernel, s *Server, at kernel.Time, call *sim.Call) *answer {
	a := &answer{k: k}
	if call.Model == "" {
		call.Model = testModel
	}
	k.At(at, func() { s.Submit(call, a) })
	return a
}

func approx(got, want, tolerance time.Duration) bool {
	return got >= want-tolerance && got <= want+tolerance
}

func gaps(at []kernel.Time) []time.Duration {
	var out []time.Duration
	for i := 1; i < len(at); i++ {
		out = append(out, at[i]-at[i-1])
	}
	slices.Sort(out)
	return out
}
