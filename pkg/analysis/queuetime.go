package analysis

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Histograms of the router, by canonical name.
const (
	metricQueueSum      = "llm_d_epp_flow_control_request_queue_duration_seconds_sum"
	metricReleaseBucket = "llm_d_epp_flow_control_revocation_confirmation_seconds_bucket"
	metricReleaseSum    = "llm_d_epp_flow_control_revocation_confirmation_seconds_sum"
	metricReleaseCount  = "llm_d_epp_flow_control_revocation_confirmation_seconds_count"
	metricRevocations   = "llm_d_epp_flow_control_revocations_total"
)

// outcomeDispatched is how the router labels a request that left its queue for a server;
// the other outcomes are refusals.
const outcomeDispatched = "dispatched"

// HistogramTimes is what a histogram of the servers tells of a duration: the exact mean, and
// of a percentile the bucket that it lies in.
type HistogramTimes struct {
	N     Value          `json:"n"`      // observations
	MeanS Value          `json:"mean_s"` // exact, sum over count
	P50   BucketQuantile `json:"p50"`    // the bucket that holds it
	P95   BucketQuantile `json:"p95"`    // the bucket that holds it
	P99   BucketQuantile `json:"p99"`    // the bucket that holds it
}

// BucketQuantile is the bucket that holds a quantile. High is null in the last bucket,
// which has no end.
type BucketQuantile struct {
	LowS   *float64 `json:"low_s"`            // lower bound of the bucket that holds it
	HighS  *float64 `json:"high_s"`           // upper bound; null in the last bucket
	Reason string   `json:"reason,omitempty"` // why there is none
}

// QueueTimes is how long requests of one priority waited in the router, from their arrival
// to their dispatch, in the measured bands of a phase.
type QueueTimes struct {
	Phase    string         `json:"phase"`    // all for all of them
	Priority string         `json:"priority"` // of the band
	Times    HistogramTimes `json:"times"`    // from arrival to dispatch
	// Refused left the queue for no server: it was full, or they waited too long.
	Refused Value `json:"refused"`
}

// ReleaseTimes is how long the router waited for the capacity of an evicted request: from
// the order to end it to the end of its stream, in the measured time.
type ReleaseTimes struct {
	Times     HistogramTimes `json:"times"`     // from the order to the end of the stream
	TimedOut  Value          `json:"timed_out"` // evictions that were never confirmed
	Confirmed Value          `json:"confirmed"` // evictions whose stream ended
}

// queueTimes by phase, then priority, the highest first. Empty where the router has no
// queue or says nothing of it.
func (c *cell) queueTimes() []QueueTimes {
	out := []QueueTimes{}
	counts := c.tracks(metricQueueCount)
	if len(counts) == 0 || c.start.IsZero() {
		return out
	}
	sums, buckets := c.tracks(metricQueueSum), c.tracks(metricQueueBucket)
	priorities := valuesOf(counts, "priority")
	slices.SortFunc(priorities, func(a, b string) int { return byNumber(b, a) })
	for _, phase := range append(phaseNames(c.meta.Profile.Interactive), PhaseAll) {
		in := c.spansOf(phase)
		for _, priority := range priorities {
			of := func(tracks []track, dispatched bool) []track {
				return slices.DeleteFunc(with(tracks, "priority", priority), func(t track) bool {
					outcome, labelled := t.labels["outcome"]
					return labelled && strings.EqualFold(outcome, outcomeDispatched) != dispatched || !labelled && !dispatched
				})
			}
			h := histogramOf(of(buckets, true), of(sums, true), of(counts, true), in)
			refused := 0.0
			for _, s := range in {
				refused += rises(of(counts, false), s)
			}
			out = append(out, QueueTimes{phase, priority, h.times("no request of the priority left the queue in the phase"), measured(refused, len(counts))})
		}
	}
	return out
}

// byNumber orders the texts of numbers; others come first, by their letters.
func byNumber(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return int(math.Copysign(1, x-y)) * rank(x != y)
}

// spansOf are the measured bands of a phase, of all for PhaseAll.
func (c *cell) spansOf(phase string) []span {
	if phase == PhaseAll {
		phase = ""
	}
	var out []span
	for _, b := range c.measuredBands(phase) {
		out = append(out, span{b.StartS, b.EndS})
	}
	return out
}

// releaseTimes of an arm with eviction.
func (c *cell) releaseTimes() *ReleaseTimes {
	counts := c.tracks(metricReleaseCount)
	r := &ReleaseTimes{Confirmed: c.absent(metricRevocations), TimedOut: c.absent(metricRevocations)}
	if len(counts) == 0 || c.start.IsZero() {
		none := c.absent(metricReleaseCount)
		r.Times = histogram{}.times(none.Reason)
		return r
	}
	in := []span{c.measuredTime()}
	r.Times = histogramOf(c.tracks(metricReleaseBucket), c.tracks(metricReleaseSum), counts, in).times("no eviction was confirmed in the measured time")
	if outcomes := c.tracks(metricRevocations); len(outcomes) > 0 {
		r.Confirmed = measured(rises(with(outcomes, "outcome", "confirmed"), in[0]), len(outcomes))
		r.TimedOut = measured(rises(with(outcomes, "outcome", "timed_out"), in[0]), len(outcomes))
	}
	return r
}

// times of a histogram, or the reason why it has none.
func (h histogram) times(none string) HistogramTimes {
	if h.count <= 0 {
		nothing, q := missing(0, "%s", none), BucketQuantile{Reason: none}
		return HistogramTimes{N: measured(0, 0), MeanS: nothing, P50: q, P95: q, P99: q}
	}
	quantile := func(p float64) BucketQuantile {
		low, high := h.bucket(p)
		return BucketQuantile{LowS: finite(low), HighS: finite(high)}
	}
	n := int(h.count)
	return HistogramTimes{measured(h.count, n), measured(h.sum/h.count, n), quantile(0.5), quantile(0.95), quantile(0.99)}
}
