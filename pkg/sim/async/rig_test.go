package async

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

// answer is what the backend of a rig does with one attempt: n tokens half way, then
// the end, after a time.
type answer struct {
	after  time.Duration
	tokens int
	end    sim.End
}

var (
	ok         = answer{after: 100 * time.Millisecond, end: sim.End{Status: 200, FinishReason: "length"}}
	evicted    = answer{after: 100 * time.Millisecond, end: sim.End{Status: 429, DroppedReason: "evicted"}}
	cut        = sim.End{Status: sim.StatusNoAnswer, Message: "EOF", Cut: true}
	neverEnds  = answer{after: time.Hour}
	badRequest = answer{after: time.Millisecond, end: sim.End{Status: 400, Message: "no"}}
)

// sent is one attempt as the backend saw it.
type sent struct {
	id   string
	at   time.Duration
	call *sim.Call
}

// rig is a processor before a backend that answers by plan.
type rig struct {
	*testing.T
	k        *kernel.Kernel
	p        *Processor
	plans    map[string][]answer // by id, one an attempt and the last for all that follow
	attempts map[string]int
	log      []sent
	inFlight int
	most     int // in flight at one time
	results  map[string][]Result
	ended    map[string]time.Duration
}

func defaults() Config {
	return Config{Pool: "pool", Objective: "batch", Seed: 1, Async: spec.Async{
		Concurrency: 64, PollInterval: spec.Duration(time.Second), BatchSize: 10,
		RequestTimeout: spec.Duration(5 * time.Minute), Gate: spec.Gate{Type: spec.GateConstant},
	}}
}

func newRig(t *testing.T, change func(*Config)) *rig {
	r := &rig{
		T: t, k: kernel.NewVirtual(), plans: map[string][]answer{}, attempts: map[string]int{},
		results: map[string][]Result{}, ended: map[string]time.Duration{},
	}
	cfg := defaults()
	if change != nil {
		change(&cfg)
	}
	r.p = New(r.k, cfg, r)
	return r
}

// Submit implements sim.Backend.
func (r *rig) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	plan := r.plans[call.ID]
	a := ok
	if n := r.attempts[call.ID]; len(plan) > 0 {
		a = plan[min(n, len(plan)-1)]
	}
	r.attempts[call.ID]++
	r.log = append(r.log, sent{call.ID, r.k.Now(), call})
	r.inFlight++
	r.most = max(r.most, r.inFlight)
	ended := false
	end := func(e sim.End) {
		if !ended {
			ended = true
			r.inFlight--
			reply.End(r.k.Now(), e)
		}
	}
	r.k.After(a.after/2, func() {
		if a.tokens > 0 && !ended {
			reply.Headers(r.k.Now(), "vllm-0")
			reply.Tokens(r.k.Now(), a.tokens)
		}
	})
	r.k.After(a.after, func() {
		e := a.end
		if e.Status == 200 {
			e.Usage = sim.Usage{PromptTokens: call.Prompt.Len(), OutputTokens: call.MaxTokens}
		}
		end(e)
	})
	return func() { end(sim.End{Status: sim.StatusAborted}) }
}

// submit queues a message that has window until its deadline.
func (r *rig) submit(id string, window time.Duration, plan ...answer) {
	if len(plan) > 0 {
		r.plans[id] = plan
	}
	deadline := r.k.Instant(r.k.Now() + window).Unix()
	call := &sim.Call{ID: id, Model: "m", Prompt: sim.PromptOf([]uint32{1, 2, 3}), MaxTokens: 10}
	r.p.Submit(Message{ID: id, Deadline: deadline, Call: call}, func(res Result) {
		r.results[id] = append(r.results[id], res)
		r.ended[id] = r.k.Now()
	})
}

func (r *rig) run(until time.Duration) {
	r.Helper()
	r.k.At(until, r.k.Stop)
	if err := r.k.Run(context.Background()); err != nil {
		r.Fatal(err)
	}
}

// result is the only result of a message.
func (r *rig) result(id string) Result {
	r.Helper()
	if len(r.results[id]) != 1 {
		r.Fatalf("%s has %d results, want 1", id, len(r.results[id]))
	}
	return r.results[id][0]
}

func (r *rig) order() []string {
	var ids []string
	for _, s := range r.log {
		ids = append(ids, s.id)
	}
	return ids
}

// value is the sum over the series of a metric whose labels include wanted.
func value(t *testing.T, registry *metric.Registry, name string, wanted ...string) float64 {
	t.Helper()
	for _, f := range registry.Gather() {
		if f.GetName() != name {
			continue
		}
		sum := 0.0
		for _, m := range f.Metric {
			labels := fmt.Sprint(m.Label)
			matches := true
			for _, w := range wanted {
				matches = matches && strings.Contains(labels, w)
			}
			if matches {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		return sum
	}
	t.Fatalf("no metric %s", name)
	return 0
}
