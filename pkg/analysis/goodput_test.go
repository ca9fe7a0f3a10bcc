package analysis

import (
	"testing"
	"time"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// In the burst of S0 the TTFT of the i-th of 240 requests is 0.342·(1 + i/239) s, from its
// due time 1 ms more, and every TPOT is 80/3 ms: 500 ms are kept for i ≤ 109.
func TestGoodputCountsOverWhatWasOffered(t *testing.T) {
	cell := analysistest.New(analysistest.S0, 1)
	failed := 0
	for i := range cell.Requests {
		if q := &cell.Requests[i]; *q.Phase == "burst" && !q.Warmup && failed < 40 {
			q.Status = record.StatusTimeout // the first 40 would have been good
			failed++
		}
	}
	g := mustSummarize(t, cell).Phases[0].Goodput
	if g.Good.Count != 70 || g.Good.N != 240 || *g.Good.Low >= 70.0/240 || *g.Good.High <= 70.0/240 {
		t.Errorf("good: found %+v, expected 70 of 240 inside an interval", g.Good)
	}
	if g.Attained["ttft"].Count != 70 || g.Attained["tpot"].Count != 200 || len(g.Attained) != 2 || g.E2ES != nil {
		t.Errorf("attained: found %+v, expected ttft in 70, tpot in all 200 that ended ok, and no e2e", g.Attained)
	}
	near(t, "good requests per second", g.PerS, 70.0/60)
	near(t, "their tokens", g.TokensPS, 4*70.0/60)
}

func TestGoodputWithoutAnSLOSaysSo(t *testing.T) {
	cell := analysistest.New(analysistest.S0, 1)
	cell.Metadata.Profile.SLO = nil
	g := mustSummarize(t, cell).Phases[0].Goodput
	if g.Good.Value != nil || g.Good.Reason != "the profile declares no SLO" || g.PerS.Reason != g.Good.Reason {
		t.Errorf("found %+v, expected none and why", g)
	}
}

func TestAnswersAreJudgedByEachBound(t *testing.T) {
	second := spec.Duration(time.Second)
	f := func(x float64) *float64 { return &x }
	one, two := int64(1), int64(2)
	cases := []struct {
		name string
		slo  spec.SLO
		q    record.Request
		good bool
	}{
		{"a bound is kept by what equals it", spec.SLO{TTFT: second}, record.Request{TTFTFromDueS: f(1)}, true},
		{"the due time counts, not the send", spec.SLO{TTFT: second}, record.Request{TTFTS: f(0.5), TTFTFromDueS: f(1.1)}, false},
		{"without a due time the send counts", spec.SLO{TTFT: second}, record.Request{TTFTS: f(0.5)}, true},
		{"a time that is not known keeps no bound", spec.SLO{TTFT: second}, record.Request{}, false},
		{"one token has no time per token", spec.SLO{TPOT: second}, record.Request{OutputTokens: &one}, true},
		{"two tokens have one", spec.SLO{TPOT: second}, record.Request{OutputTokens: &two}, false},
		{"all bounds are to be kept", spec.SLO{TTFT: second, E2E: second}, record.Request{TTFTS: f(0.5), E2ES: f(2)}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var g goodCounts
			if g.add(answerOf(&c.q), &c.slo); (g.good == 1) != c.good {
				t.Errorf("good is %v, expected %v", g.good == 1, c.good)
			}
		})
	}
}
