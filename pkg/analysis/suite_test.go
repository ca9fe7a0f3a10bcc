package analysis

import (
	"math"
	"testing"
)

// 38 of 38 have the two-sided exact interval 90.7 % to 100 % (R binom.test).
func TestSuitesPoolCountsAndCompareMedians(t *testing.T) {
	const p95 = "burst/interactive/ttft/p95"
	r := stepResults(map[string]Estimate{p95: estimate("s", values(.342, .350, .338))}, map[string]Estimate{
		p95: estimate("s", values(.561, .548, .570)), "all/batch/evictions/value": estimate(UnitCount, values(10, 12, 16)),
	})
	r.Experiment.Baseline = "a"
	for _, lines := range []float64{10, 12, 16} {
		n := measured(lines, 100)
		r.Cells = append(r.Cells, CellResult{Arm: "b", Valid: true, Batch: BatchSummary{Evicted: &EvictedWork{Lines: n, OneResult: n}}})
	}
	r.summarizeSuite()
	a, b := r.Suite[0], r.Suite[1]
	near(t, "change of the median", b.TTFTChange, .561/.342-1)
	if *b.TTFTP95.Median != .561 || *b.TTFTP95.Min != .548 || *b.TTFTP95.Max != .570 || math.Abs(*b.TTFTP95.Mean-1.679/3) > 1e-12 {
		t.Errorf("found %+v", b.TTFTP95)
	}
	if *b.Evictions.Total != 38 || b.OneResult.Count != 38 || math.Abs(*b.OneResult.Low-0.907) > 5e-4 || *b.OneResult.High != 1 {
		t.Errorf("found %+v evictions, %+v with one result", b.Evictions, b.OneResult)
	}
	if a.OneResult.Value != nil || a.OneResult.Reason != "the arm does not evict" || a.Completed.Reason != "the arm has no such metric" {
		t.Errorf("the baseline: %+v", a)
	}
}
