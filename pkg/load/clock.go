package load

import (
	"context"
	"math"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/record"
)

// The Date of an answer says its second: the server's clock was in [Date, Date + 1 s)
// at some instant between sending and receiving. Each answer bounds the offset, and
// answers on both sides of the turn of a second bound it to the gap between them.
const (
	clockSpan = 1200 * time.Millisecond // a turn of the second and some more
	clockGap  = 20 * time.Millisecond
)

// clockOffset measures how far the clock of a server is ahead of this machine's, by
// the Date header of its answers. Shards that measured against the same server know how
// far apart their clocks are. It returns nil where the server tells no date.
func clockOffset(ctx context.Context, c *openai.BatchClient, base string) *record.ClockOffset {
	low, high := math.Inf(-1), math.Inf(1)
	for began := time.Now(); time.Since(began) < clockSpan && ctx.Err() == nil; time.Sleep(clockGap) {
		sent := time.Now()
		date, err := c.Date(ctx, base, "/health")
		received := time.Now()
		if err != nil {
			continue
		}
		low = max(low, date.Sub(received).Seconds())
		high = min(high, date.Add(time.Second).Sub(sent).Seconds())
	}
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return nil
	}
	// Crossed bounds are a clock that was set meanwhile: they still say how wide.
	return &record.ClockOffset{Reference: base, OffsetS: (low + high) / 2, UncertaintyS: math.Abs(high-low) / 2}
}
