package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// BenchmarkSchedulerDecodes is one step of 100 requests that decode.
func BenchmarkSchedulerDecodes(b *testing.B) {
	for _, async := range []bool{false, true} {
		b.Run(fmt.Sprintf("async=%v", async), func(b *testing.B) {
			cfg := testConfig(b, nil).Scheduler
			cfg.AsyncScheduling = async
			var s *Scheduler
			var last *Batch
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%2000 == 0 { // before the first request has its 2,200 tokens
					b.StopTimer()
					s, last = hundredDecodes(cfg)
					b.StartTimer()
				}
				batch := s.Schedule()
				if async {
					batch, last = last, batch
				}
				s.Update(batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/token")
		})
	}
}

// hundredDecodes returns a scheduler whose 100 requests have had their prefill, and fill
// their blocks in different steps. last is the batch that is on its way under
// async scheduling.
func hundredDecodes(cfg SchedulerConfig) (s *Scheduler, last *Batch) {
	s = NewScheduler(cfg)
	for i := range 100 {
		s.Add(&Request{ID: fmt.Sprint(i), Prompt: prompt(i, 100+i), MaxTokens: 2200, Output: recordedOutput(i)})
	}
	for s.Waiting() > 0 {
		last = s.Schedule()
		if s.Waiting() > 0 || !cfg.AsyncScheduling {
			s.Update(last)
		}
	}
	return s, last
}

// BenchmarkAdmission is the admission, prefill and end of a prompt of 3,500 tokens
// of which 2,048 are in the cache.
func BenchmarkAdmission(b *testing.B) {
	s := NewScheduler(testConfig(b, nil).Scheduler)
	ids := append(promptIDs(1, 2048), make([]uint32, 1452)...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for j := 2048; j < len(ids); j++ {
			ids[j] = uint32(i ^ j)
		}
		s.Add(&Request{ID: "r", Prompt: sim.PromptOf(ids), MaxTokens: 1, Output: recordedOutput(i)})
		s.Update(s.Schedule())
	}
}

// BenchmarkServer runs one Qwen3-8B on an H100 under the mixed load that the
// default profile makes without a gate: interactive requests by Poisson at 15/s
// for 90 s and 1/s for 90 s, prompts of 3,500 tokens that start with one of 32
// system prompts of 2,048, 500 output tokens, and 100 batch requests of the same
// kind always in flight.
func BenchmarkServer(b *testing.B) {
	for _, async := range []bool{false, true} {
		b.Run(fmt.Sprintf("async=%v", async), func(b *testing.B) { benchmarkServer(b, async) })
	}
}

func benchmarkServer(b *testing.B, async bool) {
	var seconds float64
	var tokens int
	prompts := mixedPrompts(4096)
	b.ReportAllocs()
	for b.Loop() {
		k := kernel.NewVirtual()
		s := New(k, testConfig(b, func(e *spec.Engine) { e.AsyncScheduling = async }))
		(&mixedLoad{k: k, s: s, rng: rand.New(rand.NewPCG(1, 2)), prompts: prompts}).start()
		k.At(360*time.Second, k.Stop)
		if err := k.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		seconds += k.Now().Seconds()
		tokens += s.Stats().OutputTokens
	}
	b.ReportMetric(seconds/b.Elapsed().Seconds(), "sim_s/wall_s")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(tokens), "ns/token")
}

type mixedLoad struct {
	k       *kernel.Kernel
	s       *Server
	rng     *rand.Rand
	prompts []sim.Prompt
	n       int
}

func mixedPrompts(n int) []sim.Prompt {
	var prompts []sim.Prompt
	for i := range n {
		prompts = append(prompts, sim.PromptOf(append(promptIDs(i%32, 2048), promptIDs(1000+i, 1452)...)))
	}
	return prompts
}

func (m *mixedLoad) start() {
	for range 100 {
		m.k.At(0, m.batch)
	}
	m.next(0)
}

func (m *mixedLoad) batch() { m.submit(&quiet{onEnd: m.batch}) }

func (m *mixedLoad) next(at kernel.Time) {
	rate := 15.0
	if int(at.Seconds())/90%2 == 1 {
		rate = 1
	}
	at += time.Duration(m.rng.ExpFloat64() / rate * 1e9)
	m.k.At(at, func() {
		m.submit(new(quiet))
		m.next(at)
	})
}

func (m *mixedLoad) submit(reply sim.Reply) {
	call := &sim.Call{ID: "r", Model: testModel, Prompt: m.prompts[m.n], MaxTokens: 10 + m.rng.IntN(981)}
	m.n++
	m.s.Submit(call, reply)
}

// quiet is a Reply that notes the gaps between tokens, as a recorder does.
type quiet struct {
	last  kernel.Time
	gaps  []float32
	onEnd func()
}

func (q *quiet) Headers(kernel.Time, string) {}

func (q *quiet) Tokens(at kernel.Time, n int) {
	q.gaps = append(q.gaps, float32(at-q.last))
	q.last = at
}

func (q *quiet) End(kernel.Time, sim.End) {
	if q.onEnd != nil {
		q.onEnd()
	}
}
