package analysis

import (
	"math"
	"strings"
	"testing"

	"bgbench/pkg/stats"
)

func values(x ...float64) []*Value {
	out := make([]*Value, len(x))
	for i, v := range x {
		if !math.IsNaN(v) { // NaN: the trial has no valid cell
			m := measured(v, 100)
			out[i] = &m
		}
	}
	return out
}

var nan = math.NaN()

func TestEstimateSaysWhatTheTrialsAllow(t *testing.T) {
	cases := []struct {
		name                  string
		trials                []*Value
		median, min, max, geo float64 // NaN for null
		interval              bool
		reason                string
	}{
		{"no valid trial has no value", values(nan, nan), nan, nan, nan, nan, false, "no valid trial"},
		{"one trial has its value and no interval", values(nan, 3), 3, nan, nan, nan, false, "no interval: it needs 3 trials, there is 1"},
		{"two trials have median and range and no interval", values(1, 3), 2, 1, 3, nan, false, "no interval: it needs 3 trials, there are 2"},
		{"three trials have an interval", values(1, 4, 2), 2, 1, 4, 2, true, ""},
		{"a trial without a cell is left out", values(1, nan, 4, 2), 2, 1, 4, 2, true, ""},
		{"a zero has no logarithm", values(0, 0, 0.5), 0, 0, 0.5, nan, false, "no interval: logarithms need values above 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := estimate("s", c.trials)
			for what, pair := range map[string][2]any{
				"median": {e.Median, c.median}, "min": {e.Min, c.min}, "max": {e.Max, c.max}, "geometric mean": {e.GeoMean, c.geo},
			} {
				got, want := pair[0].(*float64), pair[1].(float64)
				if (got == nil) != math.IsNaN(want) || got != nil && math.Abs(*got-want) > 1e-12 {
					t.Errorf("%s is %v, expected %v", what, deref(got), want)
				}
			}
			if (e.Low != nil) != c.interval || (e.High != nil) != c.interval || (e.Method != "") != c.interval {
				t.Errorf("interval %v to %v by %q, expected one: %v", deref(e.Low), deref(e.High), e.Method, c.interval)
			}
			if e.Reason != c.reason {
				t.Errorf("reason %q, expected %q", e.Reason, c.reason)
			}
			if len(e.Values) != len(c.trials) {
				t.Errorf("%d values for %d trials", len(e.Values), len(c.trials))
			}
		})
	}
}

func deref(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func TestReasonsOfTrialsWithoutValue(t *testing.T) {
	few, fewer := missing(10, "p99 needs 299"), missing(9, "p99 needs more")
	got := estimate("s", []*Value{&few, &fewer, nil, &few}).Reason
	if got != "p99 needs 299 (trial 1, 4); p99 needs more (trial 2)" {
		t.Errorf("found %q", got)
	}
}

// R: baseline (342, 350, 338), arm (341, 348, 345) has ratio 1.00395432682 with 95 %
// interval .968669372643 to 1.04052457816 and 90 % interval .979870908916 to
// 1.02862967067, the ends of which are the one-sided 95 % bounds.
func TestVerdictsFollowOneSidedTests(t *testing.T) {
	base := estimate("s", values(.342, .350, .338))
	published := values(.341, .348, .345)
	cases := []struct {
		name    string
		arm     []*Value
		margin  float64
		verdict string
		reason  string
	}{
		{"the upper bound inside the margin protects", published, 0.0287, VerdictProtected, ""},
		{"the upper bound outside the margin concludes nothing", published, 0.0286, VerdictNoConclusion, ""},
		{"the lower bound beyond the margin degrades", values(.561, .548, .570), 0.5, VerdictDegraded, ""},
		{"a ratio beyond the margin whose lower bound is not concludes nothing", values(.561, .548, .570), 0.6, VerdictNoConclusion, ""},
		{"two pairs conclude nothing, however far apart", values(9, 9, nan), 0.05, VerdictNoConclusion,
			"two trials can't give a verdict: a test needs 3 pairs of trials"},
		{"one pair concludes nothing either", values(9, nan, nan), 0.05, VerdictNoConclusion,
			"one trial can't give a verdict: a test needs 3 pairs of trials"},
		{"no pair concludes nothing", values(nan, nan, nan), 0.05, VerdictNoConclusion, "no trial has a value in both arms"},
		{"a zero has no ratio", values(0, 1, 1), 0.05, VerdictNoConclusion, "no ratio: it needs values above 0 in both arms"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := make(detectable).compare(base, estimate("s", c.arm), &c.margin)
			if got.Verdict != c.verdict || got.Reason != c.reason {
				t.Errorf("verdict %q because %q, expected %q %q", got.Verdict, got.Reason, c.verdict, c.reason)
			}
		})
	}
	got := make(detectable).compare(base, estimate("s", published), nil)
	for what, pair := range map[string][2]float64{
		"ratio": {*got.Ratio, 1.00395432682}, "low": {*got.Low, .968669372643}, "high": {*got.High, 1.04052457816},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-10 {
			t.Errorf("%s is %v, expected %v", what, pair[0], pair[1])
		}
	}
	if got.Verdict != "" || got.Margin != nil || got.OneSidedHigh != nil {
		t.Errorf("a metric without a margin has a verdict: %+v", got)
	}
}

// The logs of these pairs have the standard deviation .014402768, of which 3 pairs
// show 3.26404 times.
func TestComparisonsSayWhatTheyCouldHaveShown(t *testing.T) {
	base := estimate("s", values(.342, .350, .338))
	got := make(detectable).compare(base, estimate("s", values(.341, .348, .345)), nil)
	if got.MDE == nil || math.Abs(*got.MDE-0.0481338129) > 1e-9 {
		t.Errorf("found %v, expected about 4.8 %%", deref(got.MDE))
	}
	if got := make(detectable).compare(base, estimate("s", values(.341, .348, nan)), nil); got.MDE != nil || got.Reason == "" {
		t.Errorf("two pairs: found %v because %q, expected none and why", deref(got.MDE), got.Reason)
	}
}

func TestPairsAreOfTheSameTrial(t *testing.T) {
	base := estimate("s", values(1, 2, nan, 4))
	arm := estimate("s", values(nan, 4, 6, 8))
	got := make(detectable).compare(base, arm, nil)
	if got.Pairs != 2 || *got.Ratio != 2 || !strings.Contains(got.Reason, "there are 2") {
		t.Errorf("found %+v, expected ratio 2 of the pairs of trials 2 and 4", got)
	}
}

func TestVerdictsDoNotRestOnSurvivors(t *testing.T) {
	base, same, worse := values(1, 1.01, 0.99), values(1, 1.01, 0.99), values(2, 2.02, 1.98)
	none := []failures{{0, 100}, {0, 100}, {0, 100}}
	two := []failures{{5, 101}, {6, 101}, {0, 100}} // a p95 of 101 is the 96th: five that failed stand above it
	few := []failures{{0, 30}, {0, 30}, {0, 30}}    // too few for a p95, but none that failed
	margin := 0.05
	cases := []struct {
		name                string
		arm                 []*Value
		baseAll, armAll     []failures
		verdict, reasonPart string
	}{
		{"protected where the percentile of all requests is one that ended", same, none, none, VerdictProtected, ""},
		{"not protected where it falls on a failure", same, none, two, VerdictNoConclusion, "all requests falls on one that failed (trial 2)"},
		{"degraded stands where it falls on a failure", worse, none, two, VerdictDegraded, ""},
		{"a baseline that failed is no measure for protected", same, two, none, VerdictNoConclusion, "of the baseline falls on one that failed (trial 2)"},
		{"a baseline that failed is no measure for degraded", worse, two, none, VerdictNoConclusion, "of the baseline falls on one that failed (trial 2)"},
		{"few requests of which none failed take no verdict back", same, few, few, VerdictProtected, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, b := estimate("s", base), estimate("s", c.arm)
			got := make(detectable).compare(a, b, &margin)
			got.withhold(unbounded(c.baseAll, 0.95, a, b), unbounded(c.armAll, 0.95, a, b))
			if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.reasonPart) || c.reasonPart == "" && got.Reason != "" {
				t.Errorf("%q because %q, expected %q because …%s…", got.Verdict, got.Reason, c.verdict, c.reasonPart)
			}
		})
	}
	all := []failures{{9, 9}, {9, 9}, {0, 9}}
	got := unbounded(all, 0.95, estimate("s", values(1, nan, 1)), estimate("s", values(1, 1, nan)))
	if len(got) != 1 || got[0] != "1" {
		t.Errorf("unbounded trials %v, expected those of whole pairs, 1", got)
	}
}

// The count decides as the percentile itself would.
func TestFailuresAreBeyondAQuantileExactlyWhereItFallsOnOne(t *testing.T) {
	for offered := 1; offered <= 130; offered++ {
		for failed := 0; failed <= offered; failed++ {
			for _, p := range []float64{0.5, 0.95, 0.99} {
				var ok sample
				for range offered - failed {
					ok.add(1)
				}
				want := math.IsInf(stats.QuantileAt(offered, p, outcomes{ok.sorted(), failed}.at), 1)
				if got := (failures{failed, offered}).beyond(p); got != want {
					t.Fatalf("p%g of %d requests, %d of which failed: found %v, expected %v", 100*p, offered, failed, got, want)
				}
			}
		}
	}
}

func TestVerdictsAreAdjustedForTheirFamily(t *testing.T) {
	test := func(p float64, verdict string) Comparison { return Comparison{P: &p, Verdict: verdict} }
	r := Results{Arms: []ArmResult{
		{Name: "base", Baseline: true},
		{Name: "a", Against: map[string]Comparison{
			"x": test(0.01, VerdictProtected), "y": test(0.03, VerdictDegraded), "z": {Ratio: new(float64)},
		}},
		{Name: "b", Against: map[string]Comparison{
			"x": test(0.02, VerdictProtected), "y": test(0.3, VerdictNoConclusion),
		}},
	}}
	r.adjustVerdicts()
	for _, want := range []struct {
		arm      int
		key      string
		adjusted float64
		verdict  string
		reason   string
	}{
		{1, "x", 0.04, VerdictProtected, ""}, // 4 tests x 0.01
		{2, "x", 0.06, VerdictNoConclusion, "no verdict: it would be protected by itself (p = 0.02), but not as one of 4 tests (Holm: p = 0.06)"},
		{1, "y", 0.06, VerdictNoConclusion, "no verdict: it would be degraded by itself (p = 0.03), but not as one of 4 tests (Holm: p = 0.06)"},
		{2, "y", 0.3, VerdictNoConclusion, ""},
	} {
		got := r.Arms[want.arm].Against[want.key]
		if got.PAdjusted == nil || math.Abs(*got.PAdjusted-want.adjusted) > 1e-12 || got.Verdict != want.verdict || got.Reason != want.reason {
			t.Errorf("%s of %s: %+v, expected p %g, %q, %q", want.key, r.Arms[want.arm].Name, got, want.adjusted, want.verdict, want.reason)
		}
	}
	if got := r.Arms[1].Against["z"]; got.PAdjusted != nil {
		t.Errorf("a comparison without a test has the p-value %g", *got.PAdjusted)
	}
}

// The spatial data of Efron and Tibshirani (1993), which has a zero: R boot.ci of the mean
// with 100,000 resamples gives 24.115 to 34.269 by BCa.
func TestTheMeanOfManyTrialsHasAnIntervalWhereLogsDoNot(t *testing.T) {
	spatial := []float64{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41}
	e := estimate("1", values(spatial...))
	if e.MeanMethod != methodBCa || math.Abs(*e.MeanLow-24.115) > 0.3 || math.Abs(*e.MeanHigh-34.269) > 0.3 {
		t.Errorf("found %v to %v by %q", deref(e.MeanLow), deref(e.MeanHigh), e.MeanMethod)
	}
	for name, few := range map[string][]*Value{
		"19 trials": values(spatial[:19]...), "equal values": values(make([]float64, 30)...), "values with logs": values(spatial[14:]...),
	} {
		if e := estimate("1", few); e.MeanLow != nil || e.MeanMethod != "" {
			t.Errorf("%s have an interval, %v to %v by %q", name, deref(e.MeanLow), deref(e.MeanHigh), e.MeanMethod)
		}
	}
}

// R: wilcox.test(d, exact = TRUE). There are 2²² ways to set the signs of 22 pairs, too
// many to try.
func TestManyPairsAreTestedByTheirRanks(t *testing.T) {
	d := []float64{-0.41, -0.37, -0.29, -0.22, -0.18, -0.11, -0.06, 0.02, 0.04, 0.09, 0.13, 0.16, 0.21, 0.26, 0.31, 0.33, 0.39, 0.44, 0.47, 0.52, 0.58, 0.61}
	a, b := make([]float64, len(d)), make([]float64, len(d))
	for i := range d {
		a[i], b[i] = 1, math.Exp(d[i])
	}
	c := make(detectable).compare(estimate("s", values(a...)), estimate("s", values(b...)), nil)
	if c.PermutationP == nil || math.Abs(*c.PermutationP-0.0684442520142) > 1e-9 {
		t.Errorf("found %v, expected 0.0684442520142", deref(c.PermutationP))
	}
}
