package report

import (
	"strings"
	"testing"

	"bgbench/pkg/analysis"
	"bgbench/pkg/spec"
)

const primaryKey = "burst/interactive/ttft/p95"

// verdicts is an experiment whose arms have the given comparisons.
func verdicts(margin float64, comparisons ...analysis.Comparison) study {
	results := analysis.Results{
		Experiment: spec.Experiment{Margin: margin, Trials: 3, Profile: spec.Profile{
			Interactive: spec.Interactive{Phases: []spec.Phase{{Name: "burst", Rate: 15}, {Name: "idle", Rate: 1}}}}},
		Arms: []analysis.ArmResult{{Name: "base", Baseline: true, Trials: 3}},
	}
	for i, c := range comparisons {
		results.Arms = append(results.Arms, analysis.ArmResult{
			Name: string(rune('x' + i)), Trials: c.Pairs, Against: map[string]analysis.Comparison{primaryKey: c}})
	}
	return newStudy(results)
}

func compared(ratio float64, verdict string) analysis.Comparison {
	return analysis.Comparison{Ratio: number(ratio), Low: number(ratio * 0.9), High: number(ratio * 1.1), Level: 0.95, Pairs: 3, Verdict: verdict}
}

func TestInteractiveSentenceSaysWhatTheVerdictsSay(t *testing.T) {
	for _, c := range []struct {
		name string
		of   study
		want string
	}{
		{"all three verdicts", verdicts(0.1, compared(1.02, analysis.VerdictProtected), compared(3.9, analysis.VerdictDegraded), compared(1.2, analysis.VerdictNoConclusion)),
			"Against base, interactive TTFT p95 in burst is protected within 10 % in x (×1.02, 95 % CI 0.92–1.12, n = 3) and degraded in y (×3.90, 95 % CI 3.51–4.29, n = 3); no conclusion for z (×1.20, 95 % CI 1.08–1.32, n = 3)."},
		{"a large ratio without a verdict is no conclusion", verdicts(0.1, compared(9, "")),
			"Against base, interactive TTFT p95 in burst allows no conclusion for x (×9.00, 95 % CI 8.10–9.90, n = 3)."},
		{"two protected arms", verdicts(0.1, compared(1, analysis.VerdictProtected), compared(1.01, analysis.VerdictProtected)),
			"Against base, interactive TTFT p95 in burst is protected within 10 % in x (×1.00, 95 % CI 0.90–1.10, n = 3) and y (×1.01, 95 % CI 0.91–1.11, n = 3)."},
		{"a reason stands where the ratio is missing", verdicts(0.1, analysis.Comparison{Pairs: 0, Reason: "no valid pair"}),
			"Against base, interactive TTFT p95 in burst allows no conclusion for x (no valid pair, n = 0)."},
		{"a verdict that was withheld says why", verdicts(0.1, func() analysis.Comparison {
			c := compared(1.02, analysis.VerdictNoConclusion)
			c.Reason = "the comparison is among survivors"
			return c
		}()),
			"Against base, interactive TTFT p95 in burst allows no conclusion for x (×1.02, 95 % CI 0.92–1.12, n = 3; the comparison is among survivors)."},
		{"protected in one metric and degraded in another", func() study {
			s := verdicts(0.1, compared(1.02, analysis.VerdictProtected))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(2, analysis.VerdictDegraded)
			return s
		}(),
			"Against base, interactive TTFT p95 in burst is protected within 10 % in x (×1.02, 95 % CI 0.92–1.12, n = 3; but interactive ITL p95 in burst is degraded, ×2.00, n = 3)."},
		{"no conclusion in one metric and degraded in another", func() study {
			s := verdicts(0.1, compared(1.2, analysis.VerdictNoConclusion))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(1.19, analysis.VerdictDegraded)
			return s
		}(),
			"Against base, interactive TTFT p95 in burst allows no conclusion for x (×1.20, 95 % CI 1.08–1.32, n = 3; but interactive ITL p95 in burst is degraded, ×1.19, n = 3)."},
		{"degraded in both", func() study {
			s := verdicts(0.1, compared(3.9, analysis.VerdictDegraded))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(1.19, analysis.VerdictDegraded)
			return s
		}(),
			"Against base, interactive TTFT p95 in burst is degraded in x (×3.90, 95 % CI 3.51–4.29, n = 3; so is interactive ITL p95 in burst, ×1.19, n = 3)."},
		{"no conclusion says what the trials could have shown", verdicts(0.1, func() analysis.Comparison {
			c := compared(1.2, analysis.VerdictNoConclusion)
			c.MDE = number(0.123)
			return c
		}()),
			"Against base, interactive TTFT p95 in burst allows no conclusion for x (×1.20, 95 % CI 1.08–1.32, n = 3; the trials could have shown about 12.3 % or more)."},
		{"two trials can't give a verdict", verdicts(0.1, analysis.Comparison{Ratio: number(1.2), Pairs: 2, Verdict: analysis.VerdictNoConclusion,
			Reason: "two trials can't give a verdict: a test needs 3 pairs of trials"}),
			"Against base, interactive TTFT p95 in burst allows no conclusion for x (×1.20, two trials can't give a verdict: a test needs 3 pairs of trials, n = 2)."},
		{"bounds that round to the margin get more digits", verdicts(0.1, func() analysis.Comparison {
			c := compared(1.11, analysis.VerdictNoConclusion)
			c.Low, c.High = number(1.0962), number(1.10003)
			return c
		}()),
			"Against base, interactive TTFT p95 in burst allows no conclusion for x (×1.11, 95 % CI 1.096–1.10003, n = 3)."},
		{"the baseline alone", verdicts(0.1), "No conclusion: there is no arm to compare with base."},
		{"no baseline", newStudy(analysis.Results{Arms: []analysis.ArmResult{{Name: "a"}}}),
			"No conclusion about interactive traffic: the experiment names no baseline to compare with."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.ReplaceAll(c.of.interactiveSentence(), "\u00a0", " "); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestManyArmsAreToldInShort(t *testing.T) {
	protected := compared(1.02, analysis.VerdictProtected)
	comparisons := make([]analysis.Comparison, manyArms)
	for i := range comparisons {
		comparisons[i] = protected
	}
	s := verdicts(0.1, comparisons...)
	s.Arms[2].Against["burst/interactive/itl/p95"] = compared(1.3, analysis.VerdictDegraded)
	got := strings.ReplaceAll(s.interactiveSentence(), "\u00a0", " ")
	want := "Against base, interactive TTFT p95 in burst is protected within 10 % in x (×1.02), " + s.Arms[2].Name +
		" (×1.02, interactive ITL p95 in burst degraded), "
	if !strings.HasPrefix(got, want) || strings.Contains(got, "CI") {
		t.Errorf("\n got %s\nwant %s…", got, want)
	}
}

func TestBoundsShowOnWhichSideOfTheMarginTheyLie(t *testing.T) {
	c := compared(1.11, analysis.VerdictNoConclusion)
	c.OneSidedLow, c.OneSidedHigh = number(1.1), number(1.1004)
	got := verdicts(0.1, c).comparisons()[0]
	if got.Bounds != "1.10–1.1004" {
		t.Errorf("bounds %s, expected the first to be the margin and the second above it", got.Bounds)
	}
}

func TestBatchSentenceCountsPromises(t *testing.T) {
	arm := func(name string, jobs ...analysis.ArmJob) analysis.ArmResult {
		return analysis.ArmResult{Name: name, Jobs: jobs}
	}
	for _, c := range []struct {
		name string
		arms []analysis.ArmResult
		want string
	}{
		{"met and missed", []analysis.ArmResult{
			arm("a", analysis.ArmJob{Met: 3, Trials: 3}, analysis.ArmJob{Met: 3, Trials: 3}),
			arm("b", analysis.ArmJob{Met: 1, Trials: 3})},
			"Every line of every batch job was done within its window in a (6 of 6, n = 3); jobs failed lines or missed their windows in b (1 of 3, n = 3)."},
		{"all missed", []analysis.ArmResult{arm("b", analysis.ArmJob{Met: 0, Trials: 2})},
			"Batch jobs failed lines or missed their windows in b (0 of 2, n = 2)."},
		{"no job", []analysis.ArmResult{arm("c")},
			"No conclusion about batch deadlines: no valid trial ran a batch job."},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := newStudy(analysis.Results{Arms: c.arms}).batchSentence()
			if got = strings.ReplaceAll(got, "\u00a0", " "); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}
