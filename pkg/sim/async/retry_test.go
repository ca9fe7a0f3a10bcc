package async

import (
	"math/rand/v2"
	"testing"
	"time"

	"bgbench/pkg/sim"
)

func TestRetryDelayIsEqualJitterBelowAMinuteAndTheTimeLeft(t *testing.T) {
	tests := []struct {
		name     string
		n        int
		left     time.Duration
		from, to time.Duration
	}{
		{"the first", 1, time.Hour, 2 * time.Second, 4 * time.Second},
		{"the third", 3, time.Hour, 8 * time.Second, 16 * time.Second},
		{"the fourth is the last below a minute", 4, time.Hour, 16 * time.Second, 32 * time.Second},
		{"never above a minute", 5, time.Hour, 30 * time.Second, time.Minute},
		{"nor with many attempts", 1000, time.Hour, 30 * time.Second, time.Minute},
		{"never above the time left", 3, 3 * time.Second, 1500 * time.Millisecond, 3 * time.Second},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			least, most := time.Duration(1<<62), time.Duration(0)
			for range 1000 {
				d := retryDelay(random, tt.n, tt.left)
				least, most = min(least, d), max(most, d)
			}
			if least < tt.from || most >= tt.to || most-least < (tt.to-tt.from)*9/10 {
				t.Errorf("drew %v to %v, want all of [%v, %v)", least, most, tt.from, tt.to)
			}
		})
	}
}

func TestWhatIsSentAgain(t *testing.T) {
	end := func(status int) answer { return answer{after: time.Millisecond, end: sim.End{Status: status}} }
	for _, tt := range []struct {
		name   string
		first  answer
		resume bool
		again  bool
		shed   float64
	}{
		{"429", end(429), false, true, 1},
		{"429 of an eviction", evicted, false, true, 1},
		{"500", end(500), false, true, 0},
		{"503", end(503), false, true, 0},
		{"a connection that breaks in mid-answer", answer{after: time.Millisecond, end: cut}, false, true, 0},
		{"a connection that breaks before an answer is final", answer{after: time.Millisecond, end: sim.End{Status: sim.StatusNoAnswer}}, false, false, 0},
		{"the same with resume", answer{after: time.Millisecond, end: sim.End{Status: sim.StatusNoAnswer}}, true, true, 0},
		{"an abort by the stack is a broken connection", answer{after: time.Millisecond, end: sim.End{Status: sim.StatusAborted}}, false, false, 0},
		{"400", badRequest, false, false, 0},
		{"404", end(404), false, false, 0},
		{"408", end(408), false, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Resume = tt.resume })
			r.submit("m", time.Hour, tt.first, ok)
			r.run(time.Minute)
			got := r.result("m")
			if again := r.attempts["m"] == 2 && got.End.Status == 200; again != tt.again {
				t.Errorf("%d attempts, result %+v", r.attempts["m"], got)
			}
			if shed := value(t, r.p.Metrics(), "llm_d_async_async_shedded_requests_total"); shed != tt.shed {
				t.Errorf("shedded_requests_total is %v, want %v", shed, tt.shed)
			}
			if total := value(t, r.p.Metrics(), "llm_d_async_async_request_total"); total != 1 {
				t.Errorf("request_total is %v, want 1: a retry is not a request", total)
			}
		})
	}
}

func TestARetryComesBackWithItsOriginalDeadlineAtAPollAfterItIsDue(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Concurrency, c.BatchSize = 1, 1 })
	r.submit("urgent", 30*time.Second, answer{after: 10 * time.Millisecond, end: evicted.end}, ok)
	for _, id := range []string{"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"} {
		r.submit(id, time.Hour)
	}
	r.run(time.Minute)
	// Due after 2 to 4 s, and then before everything whose deadline is later.
	at := time.Duration(0)
	for _, s := range r.log[1:] {
		if s.id == "urgent" {
			at = s.at
		}
	}
	if at < 4*time.Second || at > 6*time.Second || at%time.Second != 0 {
		t.Errorf("sent again at %v, want at a poll 4s to 6s into the run: %v", at, r.order())
	}
	if got := value(t, r.p.Metrics(), "llm_d_async_async_request_retries_total"); got != 1 {
		t.Errorf("request_retries_total is %v", got)
	}
}

func TestRetryAfterIsHonouredUpToHalfTheTimeLeft(t *testing.T) {
	for _, tt := range []struct {
		name, header string
		from, to     time.Duration // of the delay, polls included
	}{
		{"seconds, and up to a quarter more", "20", 20 * time.Second, 26 * time.Second},
		{"no more than half the time left", "3000", 50 * time.Second, 64 * time.Second},
		{"the backoff where it is longer", "1", 2 * time.Second, 5 * time.Second},
		{"what cannot be read counts as none", "soon", 2 * time.Second, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.submit("m", 101*time.Second, answer{end: sim.End{Status: 429, RetryAfter: tt.header}}, ok)
			r.run(3 * time.Minute)
			if len(r.log) != 2 {
				t.Fatalf("%d attempts, want 2", len(r.log))
			}
			if d := r.log[1].at - r.log[0].at; d < tt.from || d > tt.to {
				t.Errorf("sent again after %v, want %v to %v", d, tt.from, tt.to)
			}
		})
	}
}

func TestRetriesEndWithTheTime(t *testing.T) {
	r := newRig(t, nil)
	r.submit("m", 2*time.Minute, answer{after: 10 * time.Millisecond, end: sim.End{Status: 503, Message: "busy"}})
	r.run(10 * time.Minute)
	// The last retry is due just before the deadline, so it is cut by it or comes too
	// late for a poll.
	got := r.result("m")
	if got.Code != CodeInferenceError && got.Code != CodeDeadlineExceeded {
		t.Errorf("ended %+v", got)
	}
	if n, at := r.attempts["m"], r.ended["m"]; n < 5 || n > 12 || at < 119*time.Second || at > 122*time.Second {
		t.Errorf("ended at %v after %d attempts", at, n)
	}
}
