package router

import (
	"context"
	"fmt"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// instantServer ends a call after a time, without allocations of its own.
type instantServer struct {
	k    *kernel.Kernel
	time time.Duration
}

func (s *instantServer) Submit(_ *sim.Call, reply sim.Reply) (abort func()) {
	s.k.After(s.time, func() { reply.End(s.k.Now(), sim.End{Status: 200}) })
	return func() {}
}

// again submits its call whenever it has ended: a closed loop of one.
type again struct {
	r    *Router
	call *sim.Call
	done *int
	stop int
}

func (a *again) Headers(kernel.Time, string) {}
func (a *again) Tokens(kernel.Time, int)     {}
func (a *again) End(kernel.Time, sim.End) {
	if *a.done++; *a.done >= a.stop {
		a.r.k.Stop()
		return
	}
	a.r.Submit(a.call, a)
}

func benchmarkRouter(b *testing.B, text string, clients int) {
	k := kernel.NewVirtual()
	var endpoints []Endpoint
	for i := range 4 {
		endpoints = append(endpoints, Endpoint{Name: fmt.Sprint(i), Backend: &instantServer{k, 20 * ms}})
	}
	r, err := New(k, Config{
		EndpointPicker: text, Flags: Flags{AllowExperimentalPlugins: true},
		Objectives: map[string]int{"interactive": 100, "batch": -1}, DispatchLag: DefaultDispatchLag,
	}, endpoints)
	if err != nil {
		b.Fatal(err)
	}
	done := 0
	for i := range clients {
		call := &sim.Call{ID: fmt.Sprint(i), Objective: []string{"interactive", "batch"}[i%2], PromptEstimate: 100, MaxTokens: 10}
		a := &again{r, call, &done, b.N}
		k.At(0, func() { r.Submit(call, a) })
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := k.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(k.Now().Seconds()/b.Elapsed().Seconds(), "sim-s/s")
}

// BenchmarkBacklog is 64 requests running and 1,000 waiting.
func BenchmarkBacklog(b *testing.B) {
	limit, useLimit := holdbackOf("minCeiling: 0.5")
	benchmarkRouter(b, config("maxConcurrency: 16", twoBands, limit, useLimit), 1000)
}

// BenchmarkGateOff is admission alone.
func BenchmarkGateOff(b *testing.B) {
	benchmarkRouter(b, configHead+"plugins:\n- name: sat\n  type: concurrency-detector\nschedulingProfiles:\n- name: default\nflowControl: {saturationDetector: {pluginRef: sat}}\n", 64)
}

// BenchmarkCycle is a dispatch cycle before a full pool.
func BenchmarkCycle(b *testing.B) {
	r := blocked(b)
	b.ReportAllocs()
	for b.Loop() {
		r.cycle()
	}
}

func TestACycleAllocatesNothing(t *testing.T) {
	r := blocked(t)
	if n := testing.AllocsPerRun(100, r.cycle); n != 0 {
		t.Errorf("%v allocations a cycle, want 0", n)
	}
}

// blocked is a router with a full pool and requests that wait.
func blocked(t testing.TB) *Router {
	k := kernel.NewVirtual()
	limit, useLimit := holdbackOf("minCeiling: 0.5")
	r, err := New(k, Config{
		EndpointPicker: config("maxConcurrency: 4", withEvict, twoBands, limit, useLimit), Flags: Flags{AllowExperimentalPlugins: true},
		Objectives: map[string]int{"interactive": 100},
	}, []Endpoint{{Name: "a", Backend: &instantServer{k, time.Hour}}, {Name: "b", Backend: &instantServer{k, time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for i := range 100 {
		call := &sim.Call{ID: fmt.Sprint(i), Objective: "interactive", PromptEstimate: 100}
		k.At(kernel.Time(i)*ms, func() { r.Submit(call, &again{r, call, &done, 1000}) })
	}
	k.At(200*ms, k.Stop)
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r.flow.bands.count == 0 || r.flow.detector.saturation(k.Now(), r.candidates) < 1 {
		t.Fatal("the pool is not full")
	}
	return r
}
