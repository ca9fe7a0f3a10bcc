package analysis

import (
	"math"
	"testing"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// ofPairs is an experiment with a baseline of 1 s and an arm of which the TTFT p95 of each
// trial is given, within a margin of 10 %; failed of 100 requests of the arm failed in each.
func ofPairs(failed int, values ...float64) (Results, string) {
	e := spec.Experiment{Margin: 0.1, Trials: len(values), Baseline: "base", Arms: []spec.Arm{{Name: "base"}, {Name: "x"}},
		Profile: spec.Profile{Interactive: spec.Interactive{Phases: []spec.Phase{{Name: "burst", Rate: 9}}}}}
	key := MetricKey("burst", record.ClassInteractive, MetricTTFT, StatP95)
	r := Results{Experiment: e}
	var base, arm []*Value
	for i := range values {
		one := 1.0
		base, arm = append(base, &Value{Value: &one, N: 100}), append(arm, &Value{Value: &values[i], N: 100})
		for _, name := range []string{"base", "x"} {
			ok := int(100)
			if name == "x" {
				ok -= failed
			}
			r.Cells = append(r.Cells, CellResult{Arm: name, Trial: i + 1, Valid: true, Phases: []PhaseSummary{{
				Phase: "burst", Class: record.ClassInteractive, Requests: 100, ByStatus: map[string]int{record.StatusOK: ok}}}})
		}
	}
	x := ArmResult{Name: "x", Metrics: map[string]Estimate{key: estimate("s", arm)}}
	b := ArmResult{Name: "base", Baseline: true, Metrics: map[string]Estimate{key: estimate("s", base)}}
	x.Against = map[string]Comparison{key: make(detectable).compare(b.Metrics[key], x.Metrics[key], &e.Margin)}
	r.Arms = []ArmResult{b, x}
	return r, key
}

func TestTrialsNeededForAVerdict(t *testing.T) {
	for _, c := range []struct {
		name             string
		failed           int
		values           []float64
		toward           string
		trials, cautious int
		reason           string
	}{
		// ln 1.1 is 0.0953: the distance is one standard deviation, of which R wants 7.73 pairs,
		// and 0.473 of its upper bound, of which it wants 29.1.
		{"below the margin it goes toward protected", 0, []float64{math.Exp(-0.0953102), 1, math.Exp(0.0953102)}, VerdictProtected, 8, 30, ""},
		{"above the margin it goes toward degraded", 0, []float64{math.Exp(0.0953102), math.Exp(2 * 0.0953102), math.Exp(3 * 0.0953102)}, VerdictDegraded, 8, 30, ""},
		{"close to the margin no number of trials is enough", 0, []float64{1, 1.1, 1.2}, VerdictProtected, 0, 0, ""},
		{"two trials say nothing of how trials vary", 0, []float64{1, 1.2}, "", 0, 0,
			"a test needs 3 pairs of trials, there are 2: too few to tell how much trials vary"},
		{"where the percentile is a failed request, trials don't help", 9, []float64{1, 1.1, 1.3}, "", 0, 0,
			"more trials can't give a verdict as long as so many requests of x fail (trial 1, 2, 3)"},
		{"trials that don't vary", 0, []float64{1.2, 1.2, 1.2}, "", 0, 0, "all pairs of trials are the same"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, key := ofPairs(c.failed, c.values...)
			n := r.TrialsNeeded(r.Arms[1], key)
			if n.Toward != c.toward || n.Trials != c.trials || n.Cautious != c.cautious || n.Reason != c.reason {
				t.Errorf("found %+v, expected %d toward %q, %d with caution, reason %q", n, c.trials, c.toward, c.cautious, c.reason)
			}
		})
	}
}

// Among more tests each must hold at a smaller level, which takes more trials.
func TestTrialsNeededGrowWithTheFamily(t *testing.T) {
	r, key := ofPairs(0, math.Exp(-0.0953102), 1, math.Exp(0.0953102))
	alone := r.TrialsNeeded(r.Arms[1], key)
	p := 0.5
	for _, other := range []string{"a", "b", "c"} {
		r.Arms = append(r.Arms, ArmResult{Name: other, Against: map[string]Comparison{key: {P: &p}}})
	}
	among := r.TrialsNeeded(r.Arms[1], key)
	if alone.Family != 1 || among.Family != 4 || among.Trials <= alone.Trials || math.Abs(among.Level-0.05/4) > 1e-12 {
		t.Errorf("alone %+v, among four %+v", alone, among)
	}
}

func TestTrialsNeededOfWhatWasNotCompared(t *testing.T) {
	r, key := ofPairs(0, 1, 1.1, 1.2)
	if n := r.TrialsNeeded(r.Arms[0], key); n.Reason != "the experiment declares no margin for it" {
		t.Errorf("the baseline: %+v", n)
	}
	if n := r.TrialsNeeded(r.Arms[1], "idle/interactive/ttft/p50"); n.Reason == "" {
		t.Errorf("a metric without a margin: %+v", n)
	}
}
