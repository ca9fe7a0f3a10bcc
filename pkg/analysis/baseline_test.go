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
