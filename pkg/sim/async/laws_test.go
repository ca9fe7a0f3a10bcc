package async

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bgbench/pkg/sim"
)

// TestLaws submits random messages to a random processor before a backend that does
// anything: each message ends exactly once, none is sent after its deadline, never are
// more in flight than there are workers, and nothing is left behind.
func TestLaws(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkLaws(t, rand.New(rand.NewPCG(seed, 9))) })
	}
}

func checkLaws(t *testing.T, random *rand.Rand) {
	concurrency := 1 + random.IntN(6)
	r := newRig(t, func(c *Config) {
		c.Concurrency, c.BatchSize, c.Resume = concurrency, 1+random.IntN(12), random.IntN(2) == 0
		c.PollInterval *= 2
	})
	if random.IntN(3) == 0 {
		r.p.gate = fixed(random.Float64())
		r.k.At(10*time.Minute, func() { r.p.gate = constant{} })
	}
	deadlines := map[string]int64{}
	total := 20 + random.IntN(60)
	for i := range total {
		at := time.Duration(random.IntN(60_000)) * time.Millisecond
		id := fmt.Sprintf("m%02d", i)
		window := time.Duration(random.IntN(200)) * time.Second
		r.k.At(at, func() {
			deadlines[id] = r.k.Instant(r.k.Now() + window).Unix()
			r.submit(id, window, randomAnswers(random)...)
			if random.IntN(10) == 0 {
				r.k.After(time.Duration(random.IntN(30_000))*time.Millisecond, func() { r.p.Withdraw([]string{id, "none"}) })
			}
		})
	}
	var watch func()
	watch = func() {
		if r.p.busy > concurrency || r.inFlight > concurrency {
			t.Errorf("%d in flight, %d workers busy of %d", r.inFlight, r.p.busy, concurrency)
		}
		r.k.After(100*time.Millisecond, watch)
	}
	r.k.After(0, watch)
	r.run(20 * time.Minute)
	for id := range deadlines {
		if n := len(r.results[id]); n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
	for _, s := range r.log {
		if late := r.k.Instant(s.at).Unix() - deadlines[s.id]; late > 0 {
			t.Errorf("%s was sent %d s after its deadline", s.id, late)
		}
	}
	if len(r.p.known)+r.p.queue.len()+r.p.retry.len()+len(r.p.buffered)+r.p.busy != 0 || r.p.inHand != nil {
		t.Errorf("something is left: %d known, %d queued, %d to retry", len(r.p.known), r.p.queue.len(), r.p.retry.len())
	}
	m := r.p.Metrics()
	for _, name := range []string{"async_inflight_requests", "async_queue_depth", "async_broker_backlog"} {
		if got := value(t, m, "llm_d_async_"+name); got != 0 {
			t.Errorf("%s is %v at the end", name, got)
		}
	}
}

// randomAnswers are some attempts of one request.
func randomAnswers(random *rand.Rand) []answer {
	var plan []answer
	for range 1 + random.IntN(4) {
		a := answer{after: time.Duration(random.IntN(20_000)) * time.Millisecond, tokens: random.IntN(5)}
		switch random.IntN(6) {
		case 0:
			a.end = cut
		case 1:
			a.end = evicted.end
		case 2:
			a.end = sim.End{Status: 503}
		case 3:
			a.end = sim.End{Status: 400}
		case 4:
			a.after = time.Hour
		default:
			a.end = ok.end
		}
		plan = append(plan, a)
	}
	return plan
}

// TestTheSetIsInTheOrderOfScoresAndMembers adds, removes and pops at random.
func TestTheSetIsInTheOrderOfScoresAndMembers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var set sortedSet
	inside := map[*message]struct{}{}
	for i := range 20_000 {
		switch random.IntN(5) {
		case 0, 1:
			m := &message{Message: Message{ID: fmt.Sprint(i)}, place: -1}
			set.add(m, float64(random.IntN(20)))
			inside[m] = struct{}{}
		case 2:
			for m := range inside {
				if !set.remove(m) || set.remove(m) {
					t.Fatal("a member is removed once")
				}
				delete(inside, m)
				break
			}
		default:
			got := set.popMin()
			for m := range inside {
				if got == nil || m.score < got.score || m.score == got.score && m.ID < got.ID {
					t.Fatalf("popped %+v before %+v", got, m)
				}
			}
			delete(inside, got)
		}
		if set.len() != len(inside) {
			t.Fatalf("%d members, want %d", set.len(), len(inside))
		}
	}
}
