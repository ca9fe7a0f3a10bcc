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
			"Against base, interactive TTFT p95 in burst (n = 3) is protected within 10 % in x (×1.02) and degraded in y (×3.90); no conclusion for z (×1.20)."},
		{"a large ratio without a verdict is no conclusion", verdicts(0.1, compared(9, "")),
			"Against base, interactive TTFT p95 in burst (n = 3) allows no conclusion for x (×9.00)."},
		{"two protected arms", verdicts(0.1, compared(1, analysis.VerdictProtected), compared(1.01, analysis.VerdictProtected)),
			"Against base, interactive TTFT p95 in burst (n = 3) is protected within 10 % in x (×1.00) and y (×1.01)."},
		{"a reason stands where the ratio is missing", verdicts(0.1, analysis.Comparison{Pairs: 0, Reason: "no valid pair"}),
			"Against base, interactive TTFT p95 in burst (n = 0) allows no conclusion for x (no valid pair)."},
		{"arms of other pairs each say theirs", verdicts(0.1, compared(1.02, analysis.VerdictProtected), analysis.Comparison{Ratio: number(1.2), Pairs: 2, Verdict: analysis.VerdictNoConclusion}),
			"Against base, interactive TTFT p95 in burst is protected within 10 % in x (×1.02, n = 3); no conclusion for y (×1.20, n = 2)."},
		{"protected in one metric and degraded in another", func() study {
			s := verdicts(0.1, compared(1.02, analysis.VerdictProtected))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(2, analysis.VerdictDegraded)
			return s
		}(),
			"Against base, interactive TTFT p95 in burst (n = 3) is protected within 10 % in x (×1.02); but interactive ITL p95 in burst is degraded in x (×2.00)."},
		{"no conclusion in one metric and degraded in two", func() study {
			s := verdicts(0.1, compared(1.2, analysis.VerdictNoConclusion))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(1.19, analysis.VerdictDegraded)
			s.Arms[1].Against["burst/interactive/ttft/p99"] = compared(3, analysis.VerdictDegraded)
			return s
		}(),
			"Against base, interactive TTFT p95 in burst (n = 3) allows no conclusion for x (×1.20); but interactive ITL p95 in burst is degraded in x (×1.19), interactive TTFT p99 in burst is degraded in x (×3.00)."},
		{"degraded in both is told arm by arm", func() study {
			s := verdicts(0.1, compared(3.9, analysis.VerdictDegraded))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(1.19, analysis.VerdictDegraded)
			return s
		}(),
			"Against base, interactive TTFT p95 in burst (n = 3) is degraded in x (×3.90)."},
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

func TestManyArmsAreCounted(t *testing.T) {
	protected := compared(1.02, analysis.VerdictProtected)
	comparisons := make([]analysis.Comparison, manyArms)
	for i := range comparisons {
		comparisons[i] = protected
	}
	comparisons[9] = compared(5, analysis.VerdictDegraded)
	s := verdicts(0.1, comparisons...)
	s.Arms[2].Against["burst/interactive/itl/p95"] = compared(1.3, analysis.VerdictDegraded)
	got := strings.ReplaceAll(s.interactiveSentence(), "\u00a0", " ")
	want := "Against base, interactive TTFT p95 in burst (n = 3) is protected within 10 % in 9 of 10 arms tested and degraded in " + s.Arms[10].Tag.Label() +
		" (×5.00); but interactive ITL p95 in burst is degraded in " + s.Arms[2].Name + " (×1.30)."
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for i := range s.Arms {
		s.Arms[i].Point = []string{"slow", "fast"}[i%2]
	}
	s.Arms[1].ArmResult.Baseline = true
	s.Results.Arms[1].Baseline = true
	for i := range s.Results.Arms {
		s.Results.Arms[i].Point = s.Arms[i].Point
	}
	if got := s.interactiveSentence(); !strings.HasPrefix(got, "Against the baselines of 2 workloads, ") {
		t.Errorf("of two workloads it says %s", got)
	}
}

// What the two sentences leave out stands below them, arm by arm.
func TestFindingsTellWhatStandsBehindAVerdict(t *testing.T) {
	for _, c := range []struct {
		name string
		of   study
		want string
	}{
		{"a verdict with its interval", verdicts(0.1, compared(1.02, analysis.VerdictProtected)),
			"interactive TTFT p95 in burst ×1.02, 95 % CI 0.92–1.12, n = 3."},
		{"a verdict that was withheld says why", verdicts(0.1, func() analysis.Comparison {
			c := compared(1.02, analysis.VerdictNoConclusion)
			c.Reason = "the comparison is among survivors"
			return c
		}()),
			"interactive TTFT p95 in burst ×1.02, 95 % CI 0.92–1.12, n = 3; the comparison is among survivors."},
		{"no conclusion says what the trials could have shown", verdicts(0.1, func() analysis.Comparison {
			c := compared(1.2, analysis.VerdictNoConclusion)
			c.MDE = number(0.123)
			return c
		}()),
			"interactive TTFT p95 in burst ×1.20, 95 % CI 1.08–1.32, n = 3; the trials could have shown about 12.3 % or more."},
		{"two trials can't give a verdict", verdicts(0.1, analysis.Comparison{Ratio: number(1.2), Pairs: 2, Verdict: analysis.VerdictNoConclusion,
			Reason: "two trials can't give a verdict: a test needs 3 pairs of trials"}),
			"interactive TTFT p95 in burst ×1.20, two trials can't give a verdict: a test needs 3 pairs of trials, n = 2."},
		{"bounds that round to the margin get more digits", verdicts(0.1, func() analysis.Comparison {
			c := compared(1.11, analysis.VerdictNoConclusion)
			c.Low, c.High = number(1.0962), number(1.10003)
			return c
		}()),
			"interactive TTFT p95 in burst ×1.11, 95 % CI 1.096–1.10003, n = 3."},
		{"degraded in both", func() study {
			s := verdicts(0.1, compared(3.9, analysis.VerdictDegraded))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(1.19, analysis.VerdictDegraded)
			return s
		}(),
			"interactive TTFT p95 in burst ×3.90, 95 % CI 3.51–4.29, n = 3; so is interactive ITL p95 in burst, ×1.19, n = 3."},
		{"protected in one and degraded in another", func() study {
			s := verdicts(0.1, compared(1, analysis.VerdictProtected))
			s.Arms[1].Against["burst/interactive/itl/p95"] = compared(1.19, analysis.VerdictDegraded)
			return s
		}(),
			"interactive TTFT p95 in burst ×1.00, 95 % CI 0.90–1.10, n = 3; but interactive ITL p95 in burst is degraded, ×1.19, n = 3."},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := c.of.findings()
			if len(found) != 1 || found[0].Arm.Name != "x" {
				t.Fatalf("found %+v, expected one of x", found)
			}
			if got := strings.ReplaceAll(found[0].Text, "\u00a0", " "); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
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
		return analysis.ArmResult{Name: name, Trials: 3, Jobs: jobs}
	}
	job := func(met int) analysis.ArmJob { return analysis.ArmJob{Job: "A", WindowS: 60, Met: met, Trials: 3} }
	cells := func(arm string, jobs ...analysis.JobSummary) []analysis.CellResult {
		var all []analysis.CellResult
		for i, j := range jobs {
			j.Job, j.WindowS, j.Total = "A", 60, 100
			all = append(all, analysis.CellResult{Arm: arm, Trial: i + 1, Valid: true, Jobs: []analysis.JobSummary{j}})
		}
		return all
	}
	inTime := analysis.JobSummary{Met: true, CompletionS: measured(50, 1)}
	failed := func(n int64) analysis.JobSummary { return analysis.JobSummary{Failed: n, CompletionS: measured(50, 1)} }
	late, never := analysis.JobSummary{CompletionS: measured(70, 1)}, analysis.JobSummary{CompletionS: missing("still in_progress")}
	for _, c := range []struct {
		name  string
		arms  []analysis.ArmResult
		cells []analysis.CellResult
		want  string
		why   string // of the last arm, in the table
	}{
		{"met, failed lines and missed", []analysis.ArmResult{arm("a", job(3)), arm("b", job(1)), arm("c", job(0))},
			append(append(cells("a", inTime, inTime, inTime), cells("b", inTime, failed(2), failed(7))...), cells("c", late, never, failed(1))...),
			"Counted over n = 3, not tested: every line of every batch job was done within its window in a (3 of 3); jobs had failed lines in b (2 of 3) and c (1 of 3); jobs missed their windows in c (2 of 3).",
			"1 of 100 lines failed in 1 of 3 trials; late in 1 of 3 trials; unfinished in 1 of 3 trials"},
		{"lines failed in every trial", []analysis.ArmResult{arm("b", job(0))}, cells("b", failed(31), failed(36), failed(34)),
			"Counted over n = 3, not tested: jobs had failed lines in b (3 of 3).", "31–36 of 100 lines failed"},
		{"nothing says why", []analysis.ArmResult{arm("b", job(2))}, nil,
			"Counted over n = 3, not tested: jobs missed their windows in b (1 of 3).", "met in 2 of 3 trials"},
		{"no job", []analysis.ArmResult{arm("c")}, nil,
			"No conclusion about batch deadlines: no valid trial ran a batch job.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStudy(analysis.Results{Arms: c.arms, Cells: c.cells})
			got := s.batchSentence()
			if got = strings.ReplaceAll(got, "\u00a0", " "); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			last := s.Arms[len(s.Arms)-1]
			for _, j := range last.Jobs {
				if got := jobOutcome(last, j).Why; got != c.why {
					t.Errorf("the table says %q, want %q", got, c.why)
				}
			}
		})
	}
}
