package analysis

import (
	"math"
	"slices"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

// CensoredTimes is how long something took of which not all came to see the end: the
// estimate of Kaplan and Meier counts what was given up for as long as it was watched,
// where the percentiles of what ended would leave out just the slowest.
type CensoredTimes struct {
	Unit     string `json:"unit"`     // s
	N        int    `json:"n"`        // ended, given up and never ended
	Ended    int    `json:"ended"`    // that came to their end
	Censored int    `json:"censored"` // given up, by us or by the end of the run
	Never    int    `json:"never"`    // refused: it will not happen, however long one waits
	P50      Value  `json:"p50"`      // by Kaplan and Meier
	P90      Value  `json:"p90"`      // by Kaplan and Meier
	P95      Value  `json:"p95"`      // by Kaplan and Meier
	P99      Value  `json:"p99"`      // by Kaplan and Meier
	// ByEnd is the share that had ended by the longest time that was watched.
	ByEnd Value `json:"ended_ratio"`
	// Low and High are its interval at 95 %, where there are things enough.
	Low  *float64 `json:"ended_ci_low"`
	High *float64 `json:"ended_ci_high"` // upper bound of ended_ratio
}

// manyThings is from how many on a share over time has an interval: Greenwood's variance is
// that of a large sample.
const manyThings = 20

// watched collects the times of things that did not end; those that ended are known
// elsewhere.
type watched struct {
	times []float64   // given up after so long
	since []time.Time // still under way at the end of the run
	never int
}

// add takes a request that did not end ok. happened is what the time would be that is
// asked for, nil if it never came.
func (w *watched) add(q *record.Request) {
	switch q.Status {
	case record.StatusIncomplete:
		if q.SentAt != nil {
			w.since = append(w.since, *q.SentAt)
		} else {
			w.times = append(w.times, 0)
		}
	case record.StatusTimeout, record.StatusCancelled:
		switch {
		case q.E2ES != nil:
			w.times = append(w.times, *q.E2ES)
		case q.SentAt != nil && q.DoneAt != nil:
			w.times = append(w.times, q.DoneAt.Sub(*q.SentAt).Seconds())
		default:
			w.times = append(w.times, 0)
		}
	default:
		w.never++
	}
}

// censoredRequests is for requests, of whose times there are plain percentiles beside it: where
// all ended ok it has nothing to add to them. others ended in the sense asked for, but not ok.
func censoredRequests(ok rising, others []float64, w watched, end time.Time, none string) CensoredTimes {
	if n := ok.len(); n > 0 && len(others)+len(w.times)+len(w.since)+w.never == 0 {
		same := missing(n, "none was given up or refused: the plain percentiles leave nothing out")
		return CensoredTimes{Unit: "s", N: n, Ended: n, P50: same, P90: same, P95: same, P99: same, ByEnd: same}
	}
	ended := append(make([]float64, 0, ok.len()+len(others)), others...)
	for i := range ok.len() {
		ended = append(ended, ok.at(i))
	}
	return censored(ended, w, end, none)
}

// censored puts the times that ended and those that did not together. end is when the run
// was over. none says why there is nothing.
func censored(ended []float64, w watched, end time.Time, none string) CensoredTimes {
	times := append(make([]float64, 0, len(ended)+len(w.times)+len(w.since)+w.never), ended...)
	times = append(times, w.times...)
	for _, since := range w.since {
		times = append(times, max(0, end.Sub(since).Seconds()))
	}
	c := CensoredTimes{Unit: "s", Ended: len(ended), Censored: len(times) - len(ended), Never: w.never}
	for range w.never {
		times = append(times, math.Inf(1)) // watched for ever: it stays among those that wait
	}
	c.N = len(times)
	if c.N == 0 {
		nothing := missing(0, "%s", none)
		c.P50, c.P90, c.P95, c.P99, c.ByEnd = nothing, nothing, nothing, nothing, nothing
		return c
	}
	happened := make([]bool, c.N)
	for i := range ended {
		happened[i] = true
	}
	s := stats.KaplanMeier(times, happened)
	quantile := func(p float64) Value {
		if need := stats.MinimumN(p, level); c.N < need {
			return missing(c.N, "p%g needs at least %d, there are %d", 100*p, need, c.N)
		}
		if at, seen := s.Quantile(p); seen {
			return measured(at, c.N)
		}
		return missing(c.N, "p%g was not seen: %d of %d had not ended when they were given up, %d were refused", 100*p, c.Censored, c.N, c.Never)
	}
	c.P50, c.P90, c.P95, c.P99 = quantile(0.5), quantile(0.9), quantile(0.95), quantile(0.99)
	c.ByEnd = measured(1-s.At(math.MaxFloat64), c.N)
	if in, ok := s.Interval(slices.Max(times), level); ok && c.N >= manyThings {
		c.Low, c.High = finite(1-in.High), finite(1-in.Low)
	}
	return c
}
