package sim

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfterWait is how long e asks its caller to wait, and whether it does: its
// Retry-After is a number of seconds or a date. A date in the past asks for 0.
func (e End) RetryAfterWait(now time.Time) (time.Duration, bool) {
	if e.RetryAfter == "" {
		return 0, false
	}
	if seconds, err := strconv.Atoi(e.RetryAfter); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := time.Parse(http.TimeFormat, e.RetryAfter); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}
