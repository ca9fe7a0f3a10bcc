package gateway

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/spec"
)

// droppedTTLExpired is the reason for which the router drops what waited too long
// in its queue. A request with it has no time left, whatever its status says.
const droppedTTLExpired = "rejected-ttl-expired"

// retryable reports whether the processor's HTTP client tries again after end.
func retryable(end sim.End) bool {
	if end.Status == sim.StatusNoAnswer {
		return true
	}
	if end.DroppedReason == droppedTTLExpired &&
		(end.Status == http.StatusTooManyRequests || end.Status == http.StatusServiceUnavailable) {
		return false
	}
	return isCapacity(end.Status)
}

// isCapacity reports whether status says that the server is short of capacity.
func isCapacity(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// droppedEvicted begins the reasons for which the router takes back what it had
// dispatched: evicted, evicted-queue-pressure, evicted-priority.
const droppedEvicted = "evicted"

func isEvicted(end sim.End) bool { return strings.HasPrefix(end.DroppedReason, droppedEvicted) }

// rateLimitFactor makes the backoff after a 429 harder than after a failure.
const rateLimitFactor = 3

// backoff computes the wait before a retry.
type backoff struct {
	initial, max time.Duration
	random       *rand.Rand
	quirks       spec.Quirks
}

// wait is the time between the end of attempt (1-based) and the next one. now is
// for Retry-After as a date. Whatever the rule says is clamped to [initial, max].
func (b backoff) wait(attempt int, end sim.End, now time.Time) time.Duration {
	if !b.quirks.RetryDelayClamped {
		return b.unclamped(attempt, end, now)
	}
	return min(max(b.unclamped(attempt, end, now), b.initial), b.max)
}

func (b backoff) unclamped(attempt int, end sim.End, now time.Time) time.Duration {
	// Retry-After counts on 429 alone.
	if end.Status == http.StatusTooManyRequests || !b.quirks.RetryAfterOnlyOn429 {
		if d, ok := end.RetryAfterWait(now); ok {
			return d
		}
	}
	switch end.Status {
	case http.StatusTooManyRequests:
		return b.exponential(attempt, rateLimitFactor*b.initial, b.max)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return b.exponential(attempt, b.initial, b.max/2)
	}
	return b.exponential(attempt, b.initial, b.max)
}

// exponential doubles base for each attempt before this one up to ceiling (which
// base itself may exceed) and spreads the result evenly over +-50 %
// (cenkalti/backoff v5, ExponentialBackOff).
func (b backoff) exponential(attempt int, base, ceiling time.Duration) time.Duration {
	interval := base
	for range attempt - 1 {
		if interval >= ceiling/2 {
			interval = ceiling
		} else {
			interval *= 2
		}
	}
	return interval/2 + time.Duration(b.random.Float64()*float64(interval))
}
