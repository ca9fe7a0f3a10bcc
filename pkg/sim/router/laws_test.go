package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// server answers every call after a time that the call's MaxTokens give in ms, in
// two pieces; it may fail some.
type server struct {
	k       *kernel.Kernel
	running int
}

func (s *server) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	s.running++
	half := time.Duration(call.MaxTokens) * ms / 2
	var timer kernel.Timer
	done := false
	end := func(e sim.End) {
		done = true
		s.running--
		reply.End(s.k.Now(), e)
	}
	timer = s.k.After(half, func() {
		reply.Headers(s.k.Now(), "server")
		reply.Tokens(s.k.Now(), 1)
		timer = s.k.After(half, func() {
			reply.Tokens(s.k.Now(), 1)
			if call.MaxTokens%7 == 0 {
				end(sim.End{Status: 500})
				return
			}
			end(sim.End{Status: 200, FinishReason: "length", Usage: sim.Usage{PromptTokens: call.Prompt.Len(), OutputTokens: 2}})
		})
	})
	return func() {
		if done {
			return
		}
		timer.Stop()
		s.k.At(s.k.Now(), func() { end(sim.End{Status: sim.StatusAborted, FinishReason: "abort"}) })
	}
}

// client is one call of a random workload.
type client struct {
	k      *kernel.Kernel
	call   *sim.Call
	ends   int
	end    sim.End
	inside bool
}

func (c *client) Headers(kernel.Time, string)  { c.called() }
func (c *client) Tokens(at kernel.Time, n int) { c.called() }
func (c *client) End(_ kernel.Time, e sim.End) {
	c.called()
	c.ends++
	c.end = e
}

func (c *client) called() {
	if c.inside || c.ends > 0 {
		c.ends += 100
	}
}

// Laws over random workloads: every call ends exactly once, nothing is delivered
// after its end or from inside Submit, counts are never negative and return to
// zero, the highest waiting band is served first, and nobody waits before a pool
// with room (work conservation).
func TestLaws(t *testing.T) {
	configs := map[string]string{
		"gate off":      configHead + "plugins:\n- name: sat\n  type: concurrency-detector\n  parameters: {maxConcurrency: 2}\nschedulingProfiles:\n- name: default\nflowControl: {saturationDetector: {pluginRef: sat}}\n",
		"flow control":  config("maxConcurrency: 2", "defaultRequestTTL: 150ms", twoBands, "maxRequests: 12"),
		"eviction":      config("maxConcurrency: 2", withEvict, twoBands, "defaultRequestTTL: 0s"),
		"tokens":        config("concurrencyMode: tokens, maxTokenConcurrency: 60", withEvict, twoBands),
		"fair and late": config("maxConcurrency: 1", withTurns, withSLO, "priorityBands: [{priority: -1, fairnessPolicyRef: round-robin-fairness-policy, orderingPolicyRef: slo-deadline-ordering-policy}]"),
	}
	limit, useLimit := holdbackOf("minCeiling: 0.25")
	configs["holdback"] = config("maxConcurrency: 4", withEvict, twoBands, limit, useLimit)
	for name, text := range configs {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkLaws(t, text) })
		})
	}
}

func checkLaws(t *rapid.T, text string) {
	k := kernel.NewVirtual()
	servers := []*server{{k: k}, {k: k}}
	r, err := New(k, Config{
		EndpointPicker: text,
		Flags:          Flags{AllowExperimentalPlugins: true},
		Objectives:     map[string]int{"interactive": 100, "batch": -1, "low": -5},
		DispatchLag:    time.Duration(rapid.IntRange(0, 2).Draw(t, "lag")) * DefaultDispatchLag,
		Seed:           rapid.Int64().Draw(t, "seed"),
	}, []Endpoint{{Name: "a", Backend: servers[0]}, {Name: "b", Backend: servers[1]}})
	if err != nil {
		t.Fatal(err)
	}
	var clients []*client
	for i := range rapid.IntRange(1, 40).Draw(t, "calls") {
		c := &client{k: k, call: &sim.Call{
			ID:         fmt.Sprint(i),
			Objective:  rapid.SampledFrom([]string{"", "interactive", "batch", "low"}).Draw(t, "objective"),
			FairnessID: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "tenant"),
			Prompt:     sim.PromptOf(make([]uint32, rapid.IntRange(1, 30).Draw(t, "prompt"))),
			MaxTokens:  rapid.IntRange(1, 60).Draw(t, "time"),
			Stream:     rapid.Bool().Draw(t, "stream"),
			TTFTBudget: time.Duration(rapid.IntRange(0, 200).Draw(t, "budget")) * ms,
		}}
		clients = append(clients, c)
		at := kernel.Time(rapid.IntRange(0, 100).Draw(t, "at")) * ms
		k.At(at, func() {
			c.inside = true
			abort := r.Submit(c.call, c)
			c.inside = false
			if rapid.IntRange(0, 9).Draw(t, "abort") == 0 {
				k.After(time.Duration(rapid.IntRange(0, 80).Draw(t, "after"))*ms, func() {
					c.inside = true
					abort()
					abort()
					c.inside = false
				})
			}
		})
	}
	k.At(50*ms, func() { r.SetEndpoints([]Endpoint{{Name: "a", Backend: servers[0]}, {Name: "b", Backend: servers[1]}}) })
	for at := kernel.Time(0); at < 200*ms; at += 7 * ms {
		k.At(at, func() { checkInstant(t, r) })
	}
	k.At(time.Hour, k.Stop)
	if err := k.Run(context.Background()); err != nil && !errors.Is(err, kernel.ErrDeadlock) {
		t.Fatal(err)
	}
	for _, c := range clients {
		if c.ends != 1 {
			t.Fatalf("call %s ended %d times (100 and more: delivered after its end or from inside Submit)", c.call.ID, c.ends)
		}
	}
	for _, e := range r.live {
		for _, l := range e.loads {
			if *l != (load{}) {
				t.Fatalf("%s: %+v in flight after the last end", e.Name, *l)
			}
		}
	}
	if servers[0].running+servers[1].running != 0 || r.active != 0 {
		t.Fatalf("%d run and %d are active after the last end", servers[0].running+servers[1].running, r.active)
	}
	if r.flow != nil && (len(r.flow.tracked.all) != 0 || len(r.flow.tracked.victims) != 0) {
		t.Fatal("requests are tracked after the last end")
	}
}

func checkInstant(t *rapid.T, r *Router) {
	for _, e := range r.live {
		for _, l := range e.loads {
			if l.requests < 0 || l.tokens < 0 {
				t.Fatalf("negative count %+v", *l)
			}
		}
	}
	f := r.flow
	if f == nil {
		return
	}
	var count, bytes int64
	for _, b := range f.bands.list {
		var waiting, size int64
		for _, flow := range b.flows {
			waiting += int64(len(flow.queue.items))
			for _, q := range flow.queue.items {
				size += q.bytes
			}
		}
		if waiting != b.count || size != b.bytes {
			t.Fatalf("band %d holds %d requests of %d bytes, counts %d of %d", b.priority, waiting, size, b.count, b.bytes)
		}
		count, bytes = count+waiting, bytes+size
	}
	if count != f.bands.count || bytes != f.bands.bytes {
		t.Fatalf("bands hold %d requests, count %d", count, f.bands.count)
	}
	// Work conservation: while somebody waits before an open gate a cycle is due.
	if count > 0 && f.gauge(r.k.Now(), r.candidates) < f.ceilings[len(f.ceilings)-1] && !r.ticking {
		t.Fatalf("%d wait, the lowest band's gate is open and no cycle is due", count)
	}
}

// The queue against a sorted slice.
func TestTheQueueIsASortedList(t *testing.T) {
	for name, before := range map[string]ordering{"fcfs": fcfs, "slo deadline": sloDeadline} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				q := queue{before: before}
				var list []*request
				for i := range rapid.IntRange(0, 50).Draw(t, "requests") {
					r := &request{
						seq:      uint64(i),
						enqueued: kernel.Time(rapid.IntRange(0, 5).Draw(t, "enqueued")),
						received: kernel.Time(rapid.IntRange(0, 5).Draw(t, "received")),
						deadline: kernel.Time(rapid.IntRange(0, 3).Draw(t, "deadline")),
					}
					q.push(r)
					list = append(list, r)
				}
				for _, r := range slices.Clone(list) {
					if rapid.Bool().Draw(t, "remove") {
						q.remove(r)
						list = slices.DeleteFunc(list, func(o *request) bool { return o == r })
					}
				}
				slices.SortFunc(list, func(a, b *request) int {
					if before(a, b) {
						return -1
					}
					return 1
				})
				for _, want := range list {
					if q.head() != want {
						t.Fatal("the head is not the first in order")
					}
					q.remove(want)
				}
				if q.head() != nil {
					t.Fatal("something is left")
				}
			})
		})
	}
}

// Strict priority: of requests that wait together none of a lower band is
// dispatched before one of a higher band.
func TestPriorityIsStrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newTimeline(config("maxConcurrency: 1", "priorityBands: [{priority: 100}, {priority: -1}, {priority: -2}]"))
		l.arrive(0, "holder", "standard")
		n := rapid.IntRange(2, 12).Draw(t, "waiting")
		for i := range n {
			l.arrive(float64(10+5*i), fmt.Sprint(i), rapid.SampledFrom([]string{"interactive", "standard", "batch", "low"}).Draw(t, "objective"))
		}
		l.do(200, "finish", "holder")
		l.EndMS = 400
		p, err := play(&l.recording, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		// One is dispatched; the next once it has ended, and so on.
		last, served := 101, 0
		for served < n {
			sent := p.dispatches()
			q := sent[len(sent)-1]
			r := q.reply.(*request)
			if q.id != "holder" {
				if r.priority > last {
					t.Fatalf("%s of priority %d was dispatched after one of %d", q.id, r.priority, last)
				}
				last = r.priority
				served++
			}
			if served == n {
				break
			}
			l.do(200+10*float64(served+1), "finish", q.id)
			if p, err = play(&l.recording, 0, 1); err != nil {
				t.Fatal(err)
			}
		}
	})
}
