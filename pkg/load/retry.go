package load

import (
	"math/rand/v2"
	"time"

	"bgbench/pkg/record"
)

// retryable reports whether llm-d's async processor would send the request again:
// after a 429, a 5xx, or a connection that broke.
func retryable(a Attempt) bool {
	switch a.Status {
	case record.StatusRejected, record.StatusEvicted, record.StatusRateLimited, record.StatusTransportError:
		return true
	case record.StatusHTTPError:
		return a.HTTPStatus >= 500
	}
	return false
}

const longestRetryDelay = time.Minute

// retryDelay is how long the async processor waits after attempt number n (1 for
// the first) of a request that has left until its deadline: somewhere in [t/2, t)
// with t the least of a minute, left and 2 x 2^(n-1) seconds (llm-d-async v0.10).
// ok is false when no time is left.
func retryDelay(random *rand.Rand, n int, left time.Duration) (delay time.Duration, ok bool) {
	if left <= 0 {
		return 0, false
	}
	t := min(longestRetryDelay, left)
	if n < 6 { // 2 x 2^5 s is above a minute
		t = min(t, 2*time.Second<<(n-1))
	}
	return t/2 + time.Duration(random.Int64N(int64(t/2)+1)), true
}
