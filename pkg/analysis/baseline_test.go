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
			got := CompareWithBaseline(Results{Arms: tt.old}, Results{Arms: tt.now}, []string{"m"}, 0.25)
			if len(got) != 1 || got[0].OK != tt.ok || !strings.Contains(got[0].Reason, tt.reason) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWhatIsNullInBothIsSkipped(t *testing.T) {
	null := []ArmResult{{Name: "a", Metrics: map[string]Estimate{"m": {Unit: "s", Reason: "the job ended expired"}}}}
	got := CompareWithBaseline(Results{Arms: null}, Results{Arms: null}, []string{"m"}, 0.1)
	if len(got) != 1 || !got[0].Skipped || got[0].Reason != "null in both: the job ended expired" {
		t.Errorf("got %+v", got)
	}
	if compared, failed, skipped := Tally(got); compared != 0 || failed != 0 || skipped != 1 {
		t.Errorf("found %d compared, %d failed, %d skipped, expected 0, 0 and 1", compared, failed, skipped)
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
			got := CompareWithBaseline(Results{Arms: count(tt.old)}, Results{Arms: count(tt.now)}, []string{"m"}, 0.1)
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
	got := CompareWithBaseline(Results{Arms: arms}, Results{Arms: arms}, []string{"m"}, 0.1)
	if len(got) != 1 || got[0].Arm != "with" || !got[0].OK {
		t.Errorf("got %+v, expected one finding, of the arm that has m", got)
	}
	for _, f := range CompareWithBaseline(Results{Arms: arms}, Results{Arms: arms}, []string{"misspelled"}, 0.1) {
		if f.OK || f.Reason != "the baseline has no such metric" {
			t.Errorf("got %+v, expected a metric that no arm has to fail", f)
		}
	}
}
