package analysis

import (
	"strings"
	"testing"
)

// arm returns an arm whose only metric, m, has this median.
func armWith(name string, median *float64) ArmResult {
	return ArmResult{Name: name, Metrics: map[string]Estimate{"m": {Unit: "s", Median: median}}}
}

func TestFindingIsOKOnlyWithinTheBound(t *testing.T) {
	value := func(v float64) *float64 { return &v }
	tests := []struct {
		name     string
		old, now []ArmResult
		ok       bool
		reason   string
	}{
		{"equal", []ArmResult{armWith("a", value(1))}, []ArmResult{armWith("a", value(1))}, true, ""},
		{"at the bound", []ArmResult{armWith("a", value(1))}, []ArmResult{armWith("a", value(1.25))}, true, ""},
		{"faster by more than the bound is a difference too", []ArmResult{armWith("a", value(1))}, []ArmResult{armWith("a", value(0.7))}, false, ""},
		{"slower by more", []ArmResult{armWith("a", value(1))}, []ArmResult{armWith("a", value(1.3))}, false, ""},
		{"nothing now", []ArmResult{armWith("a", value(1))}, []ArmResult{armWith("a", nil)}, false, "no such metric"},
		{"nothing then", []ArmResult{armWith("a", nil)}, []ArmResult{armWith("a", value(1))}, false, "no such metric"},
		{"zero and zero", []ArmResult{armWith("a", value(0))}, []ArmResult{armWith("a", value(0))}, true, ""},
		{"zero and something", []ArmResult{armWith("a", value(0))}, []ArmResult{armWith("a", value(1))}, false, "the baseline is 0"},
		{"an arm that is gone", []ArmResult{armWith("a", value(1))}, nil, false, "only in the baseline"},
		{"an arm that is new", nil, []ArmResult{armWith("a", value(1))}, false, "not in the baseline"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := CompareWithBaseline([]Results{{Arms: tt.old}}, Results{Arms: tt.now}, []string{"m"}, Bound{Within: 0.25})
			if len(got) != 1 || got[0].OK != tt.ok || !strings.Contains(got[0].Reason, tt.reason) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWhatIsNullInBothIsSkipped(t *testing.T) {
	null := []ArmResult{{Name: "a", Metrics: map[string]Estimate{"m": {Unit: "s", Reason: "the job ended expired"}}}}
	got := CompareWithBaseline([]Results{{Arms: null}}, Results{Arms: null}, []string{"m"}, Bound{Within: 0.1})
	if len(got) != 1 || !got[0].Skipped || got[0].Reason != "null in both: the job ended expired" {
		t.Errorf("got %+v", got)
	}
	if compared, failed, skipped := Tally(got); compared != 0 || failed != 0 || skipped != 1 {
		t.Errorf("found %d compared, %d failed, %d skipped, expected 0, 0 and 1", compared, failed, skipped)
	}
}

func TestAnArmThatHasNothingIsSkippedByName(t *testing.T) {
	value := 1.0
	with := []ArmResult{
		{Name: "a", Trials: 3, Metrics: map[string]Estimate{"m": {Unit: "s", Median: &value}}},
		{Name: "b", Invalid: 3},
	}
	got := CompareWithBaseline([]Results{{Arms: with}}, Results{Arms: with}, []string{"m"}, Bound{Within: 0.1})
	if len(got) != 2 || got[1].Arm != "b" || !got[1].Skipped || got[1].Reason != "no metric in both: INVALID in 3 trials" {
		t.Errorf("got %+v", got)
	}
}

func TestCountsMayDifferByChance(t *testing.T) {
	count := func(v float64) []ArmResult {
		return []ArmResult{{Name: "a", Metrics: map[string]Estimate{"m": {Unit: UnitCount, Median: &v}}}}
	}
	for _, tt := range []struct {
		name     string
		old, now float64
		ok       bool
	}{
		{"equal", 7, 7, true},
		{"within two standard deviations of the difference", 19, 31, true},
		{"beyond them", 19, 35, false},
		{"fewer by more", 35, 19, false},
		{"many within the share", 10_000, 10_900, true},
		{"many beyond the share", 10_000, 11_100, false},
		{"none and a few", 0, 4, true},
		{"none and many", 0, 5, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := CompareWithBaseline([]Results{{Arms: count(tt.old)}}, Results{Arms: count(tt.now)}, []string{"m"}, Bound{Within: 0.1})
			if len(got) != 1 || got[0].OK != tt.ok {
				t.Errorf("got %+v, expected ok %v", got, tt.ok)
			}
		})
	}
}

func TestMetricsThatAnArmCannotHaveAreLeftOut(t *testing.T) {
	one := 1.0
	arms := []ArmResult{
		{Name: "with", Metrics: map[string]Estimate{"m": {Unit: "s", Median: &one}}},
		{Name: "without", Metrics: map[string]Estimate{}},
	}
	got := CompareWithBaseline([]Results{{Arms: arms}}, Results{Arms: arms}, []string{"m"}, Bound{Within: 0.1})
	if len(got) != 1 || got[0].Arm != "with" || !got[0].OK {
		t.Errorf("got %+v, expected one finding, of the arm that has m", got)
	}
	for _, f := range CompareWithBaseline([]Results{{Arms: arms}}, Results{Arms: arms}, []string{"misspelled"}, Bound{Within: 0.1}) {
		if f.OK || f.Reason != "the baseline has no such metric" {
			t.Errorf("got %+v, expected a metric that no arm has to fail", f)
		}
	}
}

// run is the results of one arm whose trials have these values of a metric.
func run(metric, unit string, values ...float64) Results {
	trials := make([]*Value, len(values))
	for i := range values {
		trials[i] = &Value{Value: &values[i]}
	}
	return Results{Arms: []ArmResult{{Name: "a", Metrics: map[string]Estimate{metric: estimate(unit, trials)}}}}
}

const (
	ttft = "burst/interactive/ttft/p50"
	rate = "all/batch/requests_per_s/value"
)

// Intervals, rises and p-values are those of R: exp(t.test(log(is), log(was))$conf.int),
// power.t.test(n = 3, power = .8, strict = TRUE) with the pooled deviation, wilcox.test.
func TestTrialsAreTestedAgainstThoseOfTheBaseline(t *testing.T) {
	was, slower := []float64{.342, .350, .338}, []float64{.561, .548, .570}
	for _, c := range []struct {
		name     string
		metric   string
		was, is  []float64
		word     string
		ok       bool // with regressions alone
		evidence string
	}{
		{"slower in every trial is worse", ttft, was, slower, WordWorse, false, "ratio of means 1.562 to 1.701, p <0.001, a rise by 5.94 % could have been shown"},
		{"faster is better, and no regression", ttft, slower, was, WordBetter, true, "better by more than 5 %"},
		{"fewer lines a second are worse", rate, slower, was, WordWorse, false, ""},
		{"the same", ttft, was, was, WordNotShown, true, "ratio of means 0.961 to 1.041, p 1, a rise by 5.6 % could"},
		{"far off in the middle, but trials vary as much", ttft, []float64{1, 2, 3}, []float64{1.5, 2.5, 3.4}, WordNotShown, true, "beyond 5 %, which chance explains"},
		{"two trials cannot be tested, and the bound decides", ttft, was[:2], slower[:2], WordNotTested, false, "it needs 3 trials on each side, there are 2 and 2"},
		{"whole seconds that never vary", ttft, []float64{120, 120, 120}, []float64{121, 121, 121}, WordNotTested, true, "the values of a side are all the same"},
		{"zeros have no logarithms, and three ranks say nothing", ttft, []float64{0, 1, 2}, []float64{3, 4, 5}, WordNotTested, false, "ranks more than 3 and 3 trials"},
		{"ranks of four", ttft, []float64{0, 1, 2, 3}, []float64{4, 5, 6, 7}, WordWorse, false, "(Mann-Whitney, p 0.029)"},
		{"how often a protection engaged is neither", "all/batch/aimd_limit/mean", was, slower, WordDiffers, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := CompareWithBaseline([]Results{run(c.metric, "s", c.was...)}, run(c.metric, "s", c.is...), []string{c.metric}, Bound{Within: 0.05, Regressions: true})
			if len(got) != 1 || got[0].Word != c.word || got[0].OK != c.ok || !strings.Contains(got[0].sentence(), c.evidence) {
				t.Errorf("found ok %v, %s: %s", got[0].OK, got[0].Word, got[0].sentence())
			}
		})
	}
}

// Each of several earlier results counts once, whatever the number of its trials.
func TestAResultIsTheNextOfEarlierOnes(t *testing.T) {
	days := []Results{run(ttft, "s", .34, .35, .36), run(ttft, "s", .40, .41, .42), run(ttft, "s", .30, .31, .32)}
	for _, c := range []struct {
		name     string
		earlier  []Results
		now      float64
		word     string
		evidence string
	}{
		{"a day like the others", days, .37, WordNotShown, "ratio of means 0.520 to 2.096, p 0.814"},
		{"a day like no other", days, 3.7, WordWorse, "t of the next value on logs"},
		{"two days say little", days[:2], 3.7, WordNotTested, "it needs 3 earlier results, there are 2"},
		{"days that do not vary", []Results{days[0], days[0], days[0]}, 3.7, WordNotTested, noSpread},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := CompareWithBaseline(c.earlier, run(ttft, "s", c.now, c.now, c.now), []string{ttft}, Bound{Within: 0.05})
			if len(got) != 1 || got[0].Word != c.word || !strings.Contains(got[0].sentence(), c.evidence) {
				t.Errorf("found %s: %s", got[0].Word, got[0].sentence())
			}
			if want := 0.35; len(c.earlier) == 3 && *got[0].Old != want {
				t.Errorf("the baseline is %v, expected the median of the days, %v", *got[0].Old, want)
			}
		})
	}
}

// Twenty comparisons of nothing show nothing: Holm makes a family of them.
func TestFindingsAreOneFamily(t *testing.T) {
	was, is := run("m0", "s", 1, 1.1, 1.2), run("m0", "s", 1.3, 1.35, 1.4)
	alone := CompareWithBaseline([]Results{was}, is, []string{"m0"}, Bound{})[0]
	if *alone.Test.P > 0.05 || alone.Word != WordDiffers {
		t.Fatalf("found %s, p %v, expected a difference by itself", alone.Word, *alone.Test.P)
	}
	metrics := []string{"m0"}
	for i := range 19 {
		name := "m" + string(rune('a'+i))
		was.Arms[0].Metrics[name], is.Arms[0].Metrics[name] = was.Arms[0].Metrics["m0"], was.Arms[0].Metrics["m0"]
		metrics = append(metrics, name)
	}
	if among := CompareWithBaseline([]Results{was}, is, metrics, Bound{})[0]; among.Word != WordNotShown {
		t.Errorf("found %s, p %v of 20, expected none", among.Word, *among.Test.PAdjusted)
	}
}

func TestAnotherWorkloadIsNotCompared(t *testing.T) {
	was, is := run(ttft, "s", 1, 1, 1), run(ttft, "s", 1, 1, 1)
	is.Experiment.Profile.Seed = 7 // other requests of the same kind
	if got := CompareWithBaseline([]Results{was}, is, []string{ttft}, Bound{}); !got[0].OK {
		t.Errorf("another seed: found %s", got[0].Reason)
	}
	is.Experiment.Profile.Interactive.Cycles = 3
	got := CompareWithBaseline([]Results{was}, is, []string{ttft}, Bound{})
	if want := "not compared, another profile: profile.interactive.cycles was 0 and is 3"; len(got) != 1 || got[0].OK || got[0].Reason != want {
		t.Errorf("found %+v, expected %s", got, want)
	}
}
