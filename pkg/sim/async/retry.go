package async

import (
	"math/rand/v2"
	"net/http"
	"time"

	"bgbench/pkg/sim"
)

// retryable reports whether another attempt may help. A connection that broke before
// an answer began is final for the Go processor (its category UNKNOWN), which is so
// with every timeout of a request that is not streamed; the Rust processor, the one
// that resumes, tries again.
func (p *Processor) retryable(end sim.End) bool {
	if end.Status == sim.StatusNoAnswer {
		return end.Cut || p.cfg.Resume
	}
	return end.Status == http.StatusTooManyRequests || end.Status >= http.StatusInternalServerError
}

// again puts m into the retry set, or ends it when its time is up.
func (p *Processor) again(m *message, end sim.End) {
	left := time.Duration(m.Deadline-p.unix()) * time.Second
	if left <= 0 {
		p.exceeded(m)
		return
	}
	m.retries++
	p.metrics.retries.Add(1)
	delay := time.Duration(0)
	// What was cut in mid-stream and goes on is sent again at once; what starts from
	// scratch, or was turned away, waits.
	if !p.cfg.Resume || !end.Cut {
		delay = retryDelay(p.random, m.retries, left)
		if asked, ok := end.RetryAfterWait(p.k.Instant(p.k.Now())); ok {
			delay = max(delay, afterAsked(p.random, asked, left))
		}
	}
	p.retry.add(m, (p.k.Now() + delay).Seconds())
}

// Bounds of the delay before a retry (llm-d-async v0.10, worker).
const (
	baseRetryDelay = 2 * time.Second
	maxRetryDelay  = time.Minute
)

// retryDelay is how long retry n (1 for the first) of a request waits that has left
// until its deadline, which is more than 0: somewhere in [t/2, t) with t the least of
// a minute, left and 2 x 2^n seconds.
func retryDelay(random *rand.Rand, n int, left time.Duration) time.Duration {
	t := min(maxRetryDelay, left)
	if n < 5 { // 2 x 2^5 s is above a minute
		t = min(t, baseRetryDelay<<n)
	}
	return t/2 + time.Duration(random.Float64()*float64(t/2))
}

// afterAsked is the wait that a Retry-After asked for, up to half the time that is
// left, and up to a quarter of it more so that not all come back at once.
func afterAsked(random *rand.Rand, asked, left time.Duration) time.Duration {
	wait := min(asked, left/2)
	return wait + time.Duration(random.Float64()*float64(wait)/4)
}
