package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/analysis"
)

func TestTrialsThatWarnAlikeDoSoOnce(t *testing.T) {
	s := study{Results: analysis.Results{Warnings: []analysis.Warning{
		{Message: "only one trial"},
		{Arm: "s0", Trial: 1, Message: "burst: 47.7 % of 4042 requests did not end ok"},
		{Arm: "s0", Trial: 1, Message: "idle: 5 % of 90 requests did not end ok"},
		{Arm: "s0", Trial: 2, Message: "burst: 43 % of 4097 requests did not end ok"},
		{Arm: "s2", Trial: 2, Message: "burst: 43 % of 4097 requests did not end ok"},
		{Arm: "s0", Trial: 3, Message: "burst: 46.1 % of 4085 requests did not end ok"},
		{Arm: "s2", Trial: 3, Message: "burst: 43 % of 4097 requests did not end ok"},
		{Arm: "s2", Trial: 3, Message: "INVALID: a check"},
		{Arm: "s4", Message: "has no valid cell"},
	}}}
	want := []string{
		"only one trial",
		"s0, trial 1: burst: 47.7 % of 4042 requests did not end ok; alike in trial 2, 3",
		"s0, trial 1: idle: 5 % of 90 requests did not end ok",
		"s2, trial 2, 3: burst: 43 % of 4097 requests did not end ok",
		"s4: has no valid cell",
	}
	if diff := cmp.Diff(want, s.warnings()); diff != "" {
		t.Error(diff)
	}
}
