package load

import (
	"math/rand/v2"
	"testing"
	"time"

	"bgbench/pkg/record"
)

func TestRetryDelayIsEqualJitterBelowAMinuteAndTheTimeLeft(t *testing.T) {
	tests := []struct {
		name     string
		n        int
		left     time.Duration
		from, to time.Duration
	}{
		{"the first", 1, time.Hour, time.Second, 2 * time.Second},
		{"the third", 3, time.Hour, 4 * time.Second, 8 * time.Second},
		{"never above a minute", 7, time.Hour, 30 * time.Second, time.Minute},
		{"nor with many attempts", 100, time.Hour, 30 * time.Second, time.Minute},
		{"never above the time left", 3, 3 * time.Second, 1500 * time.Millisecond, 3 * time.Second},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			least, most := time.Duration(1<<62), time.Duration(0)
			for range 1000 {
				d, ok := retryDelay(random, tt.n, tt.left)
				if !ok {
					t.Fatal("no retry although time is left")
				}
				least, most = min(least, d), max(most, d)
			}
			if least < tt.from || most > tt.to || most-least < (tt.to-tt.from)*9/10 {
				t.Errorf("drew %v to %v, want all of %v to %v", least, most, tt.from, tt.to)
			}
		})
	}
	if _, ok := retryDelay(random, 1, 0); ok {
		t.Error("a retry after the deadline")
	}
}

func TestWhatIsSentAgain(t *testing.T) {
	for _, tt := range []struct {
		a    Attempt
		want bool
	}{
		{Attempt{Status: record.StatusOK, HTTPStatus: 200}, false},
		{Attempt{Status: record.StatusEvicted, HTTPStatus: 429}, true},
		{Attempt{Status: record.StatusRejected, HTTPStatus: 429}, true},
		{Attempt{Status: record.StatusRateLimited, HTTPStatus: 429}, true},
		{Attempt{Status: record.StatusTransportError}, true},
		{Attempt{Status: record.StatusHTTPError, HTTPStatus: 503}, true},
		{Attempt{Status: record.StatusHTTPError, HTTPStatus: 400}, false},
		{Attempt{Status: record.StatusTimeout}, false},
		{Attempt{Status: record.StatusIncomplete}, false},
	} {
		if got := retryable(tt.a); got != tt.want {
			t.Errorf("%s %d: got %v", tt.a.Status, tt.a.HTTPStatus, got)
		}
	}
}
