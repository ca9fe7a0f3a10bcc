package async

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/spec"
)

func TestAPollTakesTheEarliestDeadlinesFirstAndEqualOnesByTheirIDs(t *testing.T) {
	r := newRig(t, func(c *Config) { c.BatchSize = 2 })
	r.submit("b", time.Hour)
	r.submit("late", 2*time.Hour)
	r.submit("a", time.Hour)
	r.submit("early", time.Minute)
	r.run(10 * time.Second)
	if got, want := r.order(), []string{"early", "a", "b", "late"}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if at := r.log[1].at; at != time.Second {
		t.Errorf("the first poll sent its second message at %v, want 1s", at)
	}
	if at := r.log[2].at; at != 2*time.Second {
		t.Errorf("the second poll sent at %v, want 2s", at)
	}
	if call := r.log[0].call; call.Objective != "batch" || call.Stream {
		t.Errorf("sent %+v, want the objective of the queue and no stream", call)
	}
}

// fixed is a gate with one budget.
type fixed float64

func (f fixed) budget() float64 { return float64(f) }

func TestAPollTakesTheShareOfTheBatchThatTheBudgetIs(t *testing.T) {
	tests := []struct {
		name   string
		budget float64
		sent   int // in three polls
		closed float64
	}{
		{"all of it at budget 1", 1, 30, 0},
		{"nine of ten at 0.95", 0.95, 27, 0},
		{"one at a tenth", 0.1, 3, 0},
		{"none below a tenth: that is closed", 0.099, 0, 3},
		{"none when the gate is closed", 0, 0, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.p.gate = fixed(tt.budget)
			for i := range 100 {
				r.submit(fmt.Sprintf("m%03d", i), time.Hour)
			}
			r.run(3500 * time.Millisecond)
			if len(r.log) != tt.sent {
				t.Errorf("sent %d, want %d", len(r.log), tt.sent)
			}
			if got := value(t, r.p.Metrics(), "llm_d_async_async_dispatch_budget"); got != tt.budget {
				t.Errorf("dispatch_budget is %v", got)
			}
			if got := value(t, r.p.Metrics(), "llm_d_async_async_gate_decisions_total", "gate_closed"); got != tt.closed {
				t.Errorf("gate_closed is %v, want %v", got, tt.closed)
			}
		})
	}
}

func TestWorkersBoundWhatIsInFlightAndHoldUpThePoll(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Concurrency = 2 })
	for i := range 10 {
		r.submit(fmt.Sprintf("m%d", i), time.Hour, answer{after: 1500 * time.Millisecond, end: ok.end})
	}
	r.k.At(1100*time.Millisecond, func() {
		// Two run, two wait in process, one is in the hands of the poll; the others are
		// still in the queue, where one that is more urgent overtakes them.
		if n := r.p.queue.len(); n != 5 {
			t.Errorf("%d messages in the queue, want 5", n)
		}
		if got := value(t, r.p.Metrics(), "llm_d_async_async_queue_depth"); got != 2 {
			t.Errorf("queue_depth is %v, want 2", got)
		}
		if got := value(t, r.p.Metrics(), "llm_d_async_async_inflight_requests"); got != 2 {
			t.Errorf("inflight_requests is %v, want 2", got)
		}
		r.submit("urgent", time.Minute)
	})
	r.run(30 * time.Second)
	if r.most != 2 {
		t.Errorf("%d in flight, want 2", r.most)
	}
	if i := slices.Index(r.order(), "urgent"); i != 5 {
		t.Errorf("the urgent message was sent as number %d, want after the five that were popped: %v", i, r.order())
	}
	// The poll goes on as soon as a worker is free, not at the next tick.
	if at := r.log[4].at; at != 4*time.Second {
		t.Errorf("the fifth was sent at %v, want 4s", at)
	}
}

func TestTheNextPollFollowsAtOnceWhenATickHasPassedMeanwhile(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Concurrency, c.BatchSize = 1, 4 })
	for i := range 8 {
		r.submit(fmt.Sprintf("m%d", i), time.Hour, answer{after: 700 * time.Millisecond, end: ok.end})
	}
	r.run(30 * time.Second)
	for i, s := range r.log {
		if want := time.Second + time.Duration(i)*700*time.Millisecond; s.at != want {
			t.Errorf("message %d was sent at %v, want %v: the worker is never idle", i, s.at, want)
		}
	}
}

func TestAMessageEndsAtItsDeadline(t *testing.T) {
	failure := func(code string) func(Result) bool {
		return func(r Result) bool { return r.Code == code }
	}
	tests := []struct {
		name   string
		change func(*Config)
		window time.Duration
		plan   answer
		want   func(Result) bool
		metric string
	}{
		{"in the queue: it is not sent", nil, -2 * time.Second, ok,
			failure(CodeDeadlineExceeded), "async_exceeded_deadline_requests_total"},
		{"in flight: the connection is given up, which is final without resume", nil, 10 * time.Second, neverEnds,
			failure(CodeInferenceError), "async_failed_requests_total"},
		{"in flight: with resume it is a deadline that has passed", func(c *Config) { c.Resume = true }, 10 * time.Second, neverEnds,
			failure(CodeDeadlineExceeded), "async_exceeded_deadline_requests_total"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.change)
			r.submit("m", tt.window, tt.plan)
			r.run(time.Minute)
			if got := r.result("m"); !tt.want(got) {
				t.Errorf("got %+v", got)
			}
			if got := value(t, r.p.Metrics(), "llm_d_async_"+tt.metric); got != 1 {
				t.Errorf("%s is %v, want 1", tt.metric, got)
			}
			if tt.window > 0 && r.ended["m"] > tt.window+time.Second {
				t.Errorf("ended at %v", r.ended["m"])
			}
		})
	}
}

func TestAWithdrawnMessageIsNotSentAnyMore(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Concurrency = 1 })
	slow := answer{after: 10 * time.Second, end: evicted.end}
	for _, id := range []string{"a-flying", "b-buffered", "c-buffered", "d-in-hand", "e-queued", "f-stays"} {
		r.submit(id, time.Hour, slow, ok)
	}
	r.k.At(2*time.Second, func() {
		r.p.Withdraw([]string{"a-flying", "b-buffered", "c-buffered", "d-in-hand", "e-queued", "unknown"})
		if r.ended["e-queued"] != 2*time.Second {
			t.Error("what waits in the queue has not ended at once")
		}
	})
	r.run(10 * time.Minute)
	if got, want := r.order(), []string{"a-flying", "f-stays", "f-stays"}; !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	for id, results := range r.results {
		want := Result{Code: CodeCancelled, Message: "request cancelled"}
		if id != "f-stays" && (len(results) != 1 || results[0].Code != want.Code) {
			t.Errorf("%s ended %+v", id, results)
		}
	}
	if got := r.result("f-stays"); got.End.Status != 200 {
		t.Errorf("the message that stays ended %+v", got)
	}
}

func TestTheRequestTimeoutIsOfAnAttempt(t *testing.T) {
	for _, resume := range []bool{false, true} {
		r := newRig(t, func(c *Config) { c.Resume, c.RequestTimeout = resume, spec.Duration(5*time.Second) })
		r.submit("m", time.Hour, neverEnds, ok)
		r.run(10 * time.Minute)
		got := r.result("m")
		if !resume && (got.Code != CodeInferenceError || r.ended["m"] != 6*time.Second) {
			t.Errorf("without resume: %+v at %v, want it final after the attempt's 5s", got, r.ended["m"])
		}
		if resume && (got.End.Status != 200 || r.attempts["m"] != 2) {
			t.Errorf("with resume: %+v after %d attempts, want the second to do", got, r.attempts["m"])
		}
	}
}

func TestABackendMayEndACallInsideSubmit(t *testing.T) {
	r := newRig(t, nil)
	r.p.backend = backendFunc(func(_ *sim.Call, reply sim.Reply) func() {
		reply.End(r.k.Now(), sim.End{Status: 200})
		return func() {}
	})
	r.submit("m", time.Hour)
	r.run(5 * time.Second)
	if got := r.result("m"); got.End.Status != 200 {
		t.Errorf("got %+v", got)
	}
}

type backendFunc func(*sim.Call, sim.Reply) func()

func (f backendFunc) Submit(call *sim.Call, reply sim.Reply) func() { return f(call, reply) }
