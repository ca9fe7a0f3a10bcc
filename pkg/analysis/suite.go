package analysis

import (
	"slices"

	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

// SuiteRow is an arm as published runs of holdback and eviction put it: the median over
// repeats of the run's p95, the mean with the smallest and the largest, and counts over
// all repeats.
type SuiteRow struct {
	Arm  string `json:"arm"`  // its name
	Runs int    `json:"runs"` // valid trials

	TTFTP50 Repeats `json:"ttft_p50_s"` // interactive requests of the busiest phase
	TTFTP95 Repeats `json:"ttft_p95_s"` // of interactive requests in the busiest phase
	// TTFTChange is the change of the median p95 from that of the baseline: 0.64 is 64 % more.
	TTFTChange Value `json:"ttft_p95_change"`

	Completed Repeats `json:"batch_completed"` // lines, in the measured time
	Span      Repeats `json:"batch_span_s"`    // from the first job's creation to the last one's completion
	BatchE2E  Repeats `json:"batch_e2e_p95_s"` // p95 of lines, first send to end
	Evictions Repeats `json:"evictions"`       // issued by the router
	// OneResult is the share of the evicted lines of all runs that have exactly one final
	// result, an ok.
	OneResult Share   `json:"one_final_result"`
	Redone    Repeats `json:"redone_tokens"` // tokens that were computed again
}

// Repeats is a number over the runs of an arm.
type Repeats struct {
	N      int      `json:"n"`                // runs with a value
	Median *float64 `json:"median"`           // over runs
	Mean   *float64 `json:"mean"`             // over runs
	Min    *float64 `json:"min"`              // over runs
	Max    *float64 `json:"max"`              // over runs
	Total  *float64 `json:"total"`            // over runs
	Reason string   `json:"reason,omitempty"` // why there is none
}

func repeats(e Estimate) Repeats {
	var values []float64
	for _, v := range e.Values {
		if v != nil {
			values = append(values, *v)
		}
	}
	r := Repeats{N: len(values), Reason: e.Reason}
	if len(values) == 0 {
		if r.Reason == "" {
			r.Reason = "the arm has no such metric"
		}
		return r
	}
	r.Reason = ""
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	r.Median, r.Mean, r.Total = e.Median, finite(stats.Mean(values)), finite(sum)
	r.Min, r.Max = finite(slices.Min(values)), finite(slices.Max(values))
	return r
}

// summarizeSuite fills Suite.
func (r *Results) summarizeSuite() {
	r.Suite = []SuiteRow{}
	for _, a := range r.Arms {
		burst := BurstPhase(r.Experiment.ProfileOf(a.Name).Interactive)
		interactive := func(metric, stat string) Repeats {
			return repeats(a.Metrics[MetricKey(burst, record.ClassInteractive, metric, stat)])
		}
		batch := func(metric, stat string) Repeats {
			return repeats(a.Metrics[MetricKey(PhaseAll, record.ClassBatch, metric, stat)])
		}
		row := SuiteRow{
			Arm: a.Name, Runs: a.Trials,
			TTFTP50: interactive(MetricTTFT, StatP50), TTFTP95: interactive(MetricTTFT, StatP95),
			Completed: batch(MetricCompleted, StatValue), Span: batch(MetricSpan, StatValue), BatchE2E: batch(MetricE2E, StatP95),
			Evictions: batch(MetricEvictions, StatValue), Redone: batch(MetricRedone, StatValue),
			OneResult: r.oneResult(a.Name),
		}
		base := r.median(r.Experiment.BaselineOf(a.Name), MetricKey(burst, record.ClassInteractive, MetricTTFT, StatP95))
		switch {
		case row.TTFTP95.Median == nil:
			row.TTFTChange = missing(0, "%s", row.TTFTP95.Reason)
		case base == nil:
			row.TTFTChange = missing(0, "the baseline has no such value")
		default:
			row.TTFTChange = measured(*row.TTFTP95.Median / *base - 1, row.TTFTP95.N)
		}
		r.Suite = append(r.Suite, row)
	}
}

// median of a metric of an arm; nil if there is none.
func (r *Results) median(arm, key string) *float64 {
	for _, a := range r.Arms {
		if a.Name == arm {
			return a.Metrics[key].Median
		}
	}
	return nil
}

// oneResult counts evicted lines over the valid cells of an arm.
func (r *Results) oneResult(arm string) Share {
	lines, one := 0, 0
	reason := "the arm does not evict"
	for _, c := range r.Cells {
		e := c.Batch.Evicted
		if c.Arm != arm || !c.Valid || e == nil {
			continue
		}
		if e.Lines.Value == nil || e.OneResult.Value == nil {
			return unknownShare(e.Lines.Reason)
		}
		reason = "no line was evicted"
		lines += int(*e.Lines.Value)
		one += int(*e.OneResult.Value)
	}
	return shareOfFew(one, lines, reason)
}
