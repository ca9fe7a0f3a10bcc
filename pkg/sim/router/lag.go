package router

import (
	"math/rand/v2"
	"time"

	"bgbench/pkg/random"
	"bgbench/pkg/sim/kernel"
)

// DefaultDispatchLag is what an endpoint picker on two cores was seen to need from
// the decision to dispatch a request until it counts as in flight.
const DefaultDispatchLag = 400 * time.Microsecond

// lag draws how long the router's own work takes. A request counts as in flight
// only after it was scheduled, in another goroutine than the one that dispatches,
// so a burst overshoots its limit.
type lag struct {
	mean time.Duration
	rng  *rand.Rand
	read kernel.Time // when the latest arrival was read
	sent kernel.Time // when the latest dispatch of a waiter counts
}

func newLag(mean time.Duration, seed int64) lag {
	return lag{mean: mean, rng: rand.New(random.Stream(seed, "router", "dispatch lag"))}
}

// slow is the share of waiters that take longer to wake than a tick: of 348
// releases of one slot under a backlog, 22 let two requests through.
const slow = 22.0 / 348

// dispatch is when a request that is dispatched now counts: after the mean, give or
// take a half. One that waited takes several times that now and then, and never
// overtakes another that did.
func (l *lag) dispatch(now kernel.Time, waited bool) kernel.Time {
	if l.mean == 0 {
		return now
	}
	if !waited {
		return now + l.scaled(0.55, 1.45)
	}
	low, high := 0.55, 1.45
	if l.rng.Float64() < slow {
		low, high = 2.5, 5
	}
	l.sent = max(l.sent, now+l.scaled(low, high))
	return l.sent
}

// teardown is the time from an eviction to the end of its stream.
func (l *lag) teardown() time.Duration { return l.scaled(0.25, 0.5) }

func (l *lag) scaled(low, high float64) time.Duration {
	return time.Duration((low + (high-low)*l.rng.Float64()) * float64(l.mean))
}

// intake is when a request that arrives now has been read and parsed. Requests of
// one instant come in one after the other, two in a mean lag: a burst of 64 on a
// limit of 16 let in 17 to 19.
func (l *lag) intake(now kernel.Time) kernel.Time {
	l.read = max(l.read, now) + time.Duration(float64(l.mean)/2)
	return l.read
}

// filterShare is the part of the lag after which the scheduler has looked at the
// endpoints: requests of a burst pass a filter before any of them counts.
const filterShare = 0.3
