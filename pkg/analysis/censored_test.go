package analysis

import (
	"math"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/record"
)

func TestWhatWasGivenUpCountsForAsLongAsItWasWatched(t *testing.T) {
	// 10 ended after 1 s to 10 s. The 10 that were under way after 5.5 s drop out of those
	// watched, so that each later end weighs three times as much: 5 of 20 ended before, and
	// the other 15 are as the five of them that were watched.
	var ended []float64
	for i := range 10 {
		ended = append(ended, float64(i+1))
	}
	var w watched
	sent := zero
	for range 10 {
		w.add(&record.Request{Status: record.StatusIncomplete, SentAt: &sent})
	}
	c := censored(ended, w, zero.Add(5500*time.Millisecond), "none")
	if c.N != 20 || c.Ended != 10 || c.Censored != 10 || c.Never != 0 {
		t.Errorf("found %+v", c)
	}
	near(t, "p50", c.P50, 7) // 15·(4/5)(3/4) = 9 of 20 have not ended at 7 s, 12 at 6 s
	near(t, "ended at last", c.ByEnd, 1)

	// Refused ones never end: a half of all is not seen.
	for range 11 {
		w.add(&record.Request{Status: record.StatusRejected})
	}
	c = censored(ended[:5], w, zero.Add(5500*time.Millisecond), "none")
	if c.Never != 11 || c.P50.Value != nil || !strings.Contains(c.P50.Reason, "p50 was not seen: 10 of 26 had not ended when they were given up, 11 were refused") {
		t.Errorf("found %+v, p50 %s", c, show(c.P50))
	}
	near(t, "ended at last", c.ByEnd, 5.0/26)
	// Greenwood on the scale of log(−log), from 5 ends among 26 to 22 that were watched.
	if math.Abs(*c.Low-.084923333) > 1e-8 || math.Abs(*c.High-.401886226) > 1e-8 {
		t.Errorf("its interval is %v to %v, expected .0849 to .4019", *c.Low, *c.High)
	}

	if c = censored(nil, watched{}, zero, "nothing was there"); c.P50.Reason != "nothing was there" {
		t.Errorf("found %s", show(c.P50))
	}
}

func TestTimeoutsAreWatchedUntilTheyWereGivenUp(t *testing.T) {
	var w watched
	took, sent, done := 3.0, zero, zero.Add(4*time.Second)
	w.add(&record.Request{Status: record.StatusTimeout, E2ES: &took})
	w.add(&record.Request{Status: record.StatusCancelled, SentAt: &sent, DoneAt: &done})
	w.add(&record.Request{Status: record.StatusIncomplete})
	if len(w.times) != 3 || w.times[0] != 3 || w.times[1] != 4 || w.times[2] != 0 || w.never != 0 {
		t.Errorf("found %+v, expected 3 s, 4 s and 0 s for one that was never sent", w)
	}
}
