package analysis

import (
	"strings"
	"testing"

	"bgbench/pkg/spec"
)

func stepResults(from, to map[string]Estimate) Results {
	r := Results{Arms: []ArmResult{{Name: "a", Trials: 3, Metrics: from}, {Name: "b", Trials: 3, Metrics: to}}}
	r.Experiment.Profile.Interactive = spec.Interactive{Phases: []spec.Phase{{Name: "burst", Rate: 4, Class: spec.ClassInteractive}}}
	r.Experiment.Chains = []spec.Chain{{Name: "value", Arms: []string{"a", "b", "absent"}}}
	return r
}

func TestStepsSpeakByTheirTests(t *testing.T) {
	const ttft, batch = "burst/interactive/ttft/p95", "burst/batch/requests_per_s/value"
	cases := []struct {
		name, key string
		from, to  []*Value
		word      string
	}{
		{"less latency is better", ttft, values(1, 1.1, 1.2), values(0.5, 0.56, 0.59), WordBetter},
		{"more latency is worse", ttft, values(0.5, 0.56, 0.59), values(1, 1.1, 1.2), WordWorse},
		{"less batch work is worse", batch, values(10, 11, 12), values(5, 5.6, 5.9), WordWorse},
		{"what is not shown is not told", ttft, values(1, 1.1, 1.2), values(1.3, 0.9, 1.21), WordNotShown},
		{"the same in all trials is no difference", ttft, values(1, 2, 3), values(1, 2, 3), WordNotShown},
		{"two trials test nothing", ttft, values(1, 1.1, nan), values(0.5, 0.56, nan), WordNotTested},
		{"zeros test nothing", ttft, values(0, 0, 0), values(1, 2, 3), WordNotTested},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := stepResults(map[string]Estimate{c.key: estimate("s", c.from)}, map[string]Estimate{c.key: estimate("s", c.to)})
			r.compareSteps()
			if len(r.Steps) != 2 || len(r.Steps[0].Change) != 1 {
				t.Fatalf("found %+v, expected two steps, the first with one change", r.Steps)
			}
			got := r.Steps[0].Change[0]
			if got.Word != c.word || got.Comparison.Verdict != "" {
				t.Errorf("found %q (p %v), expected %q", got.Word, deref(got.Comparison.DifferenceP), c.word)
			}
			if (got.Word == WordNotTested) != (got.Comparison.Reason != "") {
				t.Errorf("%q because %q", got.Word, got.Comparison.Reason)
			}
			if last := r.Steps[1]; last.Reason != "the experiment has no arm absent" {
				t.Errorf("the second step: %+v", last)
			}
		})
	}
}

func TestAStepToAnArmWithoutTheMetricSaysWhichLacksIt(t *testing.T) {
	const key = "burst/batch/requests_per_s/value"
	r := stepResults(map[string]Estimate{}, map[string]Estimate{key: estimate("requests/s", values(1, 2, 3))})
	r.compareSteps()
	got := r.Steps[0].Change[0]
	if !strings.Contains(got.Comparison.Reason, "a: it has no such metric") || got.Word != WordNotTested || got.Unit != "requests/s" {
		t.Errorf("found %+v", got)
	}
}

func TestTheFrontierHoldsWhatNoOtherArmBeats(t *testing.T) {
	arm := func(name string, ttft, batch float64) ArmResult {
		return ArmResult{Name: name, Metrics: map[string]Estimate{
			"burst/interactive/ttft/p95":     estimate("s", values(ttft)),
			"all/batch/requests_per_s/value": estimate("requests/s", values(batch)),
		}}
	}
	r := stepResults(nil, nil)
	r.Arms = []ArmResult{arm("fast", 0.1, 5), arm("beaten", 0.2, 4), arm("much", 0.3, 9), arm("unknown", nan, 99), {Name: "baseline"}}
	r.tradeOff()
	want := map[string]bool{"fast": true, "beaten": false, "much": true, "unknown": false}
	if len(r.TradeOff) != len(want) {
		t.Fatalf("found %+v", r.TradeOff)
	}
	for _, p := range r.TradeOff {
		if p.Frontier != want[p.Arm] {
			t.Errorf("%s: frontier is %v, expected %v", p.Arm, p.Frontier, want[p.Arm])
		}
	}
}
