package analysis

import (
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

// Step is one link of a chain that the experiment declares: what arm To has over arm From,
// and what it costs.
type Step struct {
	Chain  string   `json:"chain"`            // its name
	From   string   `json:"from"`             // the earlier arm
	To     string   `json:"to"`               // the later arm
	Reason string   `json:"reason,omitempty"` // why there is no comparison
	Change []Change `json:"changes"`          // one for each metric that steps are judged by
}

// Change is one metric over a step.
type Change struct {
	Key    string   `json:"key"`    // as MetricKey builds them
	Unit   string   `json:"unit"`   // of from, to and difference
	Better string   `json:"better"` // lower or higher; neither for what is neither
	From   *float64 `json:"from"`   // medians over the valid trials
	To     *float64 `json:"to"`     // median of the later arm
	// Difference is the mean of the paired differences, which a metric with zeros, of
	// which there is no ratio, has too.
	Difference *float64   `json:"difference"`
	Comparison Comparison `json:"comparison"` // to / from, paired by trial
	// Word follows the two-sided test at 5 %, adjusted by Holm over the changes of the step:
	// better, worse, differs, no difference shown or not tested.
	Word string `json:"word"`
}

// Words of a change.
const (
	WordBetter    = "better"
	WordWorse     = "worse"
	WordDiffers   = "differs"
	WordNotShown  = "no difference shown"
	WordNotTested = "not tested"
)

// stepMetrics were chosen before any run: what an interactive user feels, and what it costs
// batch work. The cached share and the batch TTFT are what the order of the lines changes.
func (r *Results) stepMetrics() []string {
	in := r.Experiment.Profile.Interactive
	burst, idle := BurstPhase(in), IdlePhase(in)
	interactive := func(metric, stat string) string {
		return MetricKey(burst, record.ClassInteractive, metric, stat)
	}
	batch := func(phase, metric, stat string) string { return MetricKey(phase, record.ClassBatch, metric, stat) }
	out := []string{
		interactive(MetricTTFT, StatP50), interactive(MetricTTFT, StatP95), interactive(MetricITL, StatP95),
		interactive(MetricGoodput, StatRatio), interactive(MetricErrorRate, StatValue),
		batch(burst, MetricRequestsPerS, StatValue),
	}
	if idle != burst {
		out = append(out, batch(idle, MetricRequestsPerS, StatValue))
	}
	return append(out, batch(PhaseAll, MetricSpan, StatValue),
		batch(PhaseAll, MetricTTFT, StatP50), batch(PhaseAll, MetricE2E, StatP95),
		batch(PhaseAll, MetricCachedTokens, StatRatio), batch(PhaseAll, MetricRedone, StatRatio),
		batch(PhaseAll, MetricEvictions, StatValue),
	)
}

// compareSteps fills Steps.
func (r *Results) compareSteps() {
	r.Steps = []Step{}
	for _, chain := range r.Experiment.Chains {
		for i := range chain.Arms[1:] {
			r.Steps = append(r.Steps, r.step(chain.Name, chain.Arms[i], chain.Arms[i+1]))
		}
	}
}

func (r *Results) step(chain, from, to string) Step {
	s := Step{Chain: chain, From: from, To: to, Change: []Change{}}
	var arms [2]ArmResult
	for i, name := range []string{from, to} {
		at := slices.IndexFunc(r.Arms, func(a ArmResult) bool { return a.Name == name })
		if at < 0 {
			s.Reason = fmt.Sprintf("the experiment has no arm %s", name)
			return s
		}
		arms[i] = r.Arms[at]
	}
	for _, key := range r.stepMetrics() {
		a, inFrom := arms[0].Metrics[key]
		b, inTo := arms[1].Metrics[key]
		if inFrom || inTo {
			s.Change = append(s.Change, change(key, a, b, from, to))
		}
	}
	if len(s.Change) == 0 {
		s.Reason = "neither arm has a valid trial"
		if arms[0].Trials > 0 || arms[1].Trials > 0 {
			s.Reason = "the arms have no metric that steps are judged by"
		}
	}
	s.judge()
	s.undeclared(r.changed(stepSettings))
	return s
}

func change(key string, a, b Estimate, from, to string) Change {
	c := Change{Key: key, Unit: a.Unit, Better: betterOf(key), From: a.Median, To: b.Median, Word: WordNotTested}
	if c.Unit == "" {
		c.Unit = b.Unit
	}
	if len(a.Values) != len(b.Values) { // one of them has no such metric
		c.Comparison = Comparison{Level: level}
	} else {
		c.Comparison = make(detectable).compare(a, b, nil)
		c.Difference = meanDifference(a, b)
	}
	var missing []string
	for _, one := range []struct {
		arm string
		of  Estimate
	}{{from, a}, {to, b}} {
		if one.of.TrialsUse == 0 {
			reason := one.of.Reason
			if reason == "" {
				reason = "it has no such metric"
			}
			missing = append(missing, one.arm+": "+reason)
		}
	}
	if len(missing) > 0 {
		c.Comparison.Reason = strings.Join(missing, "; ")
	}
	return c
}

func meanDifference(a, b Estimate) *float64 {
	var d []float64
	for i := range a.Values {
		if a.Values[i] != nil && b.Values[i] != nil {
			d = append(d, *b.Values[i]-*a.Values[i])
		}
	}
	if len(d) == 0 {
		return nil
	}
	return finite(stats.Mean(d))
}

// judge finds the words of a step, whose tests are one family. A metric that is the same in
// all pairs is no test.
func (s Step) judge() {
	var tested []*Change
	var p []float64
	for k := range s.Change {
		c := &s.Change[k]
		switch {
		case c.Comparison.DifferenceP == nil:
		case *c.Comparison.Low == 1 && *c.Comparison.High == 1:
			c.Word = WordNotShown
		default:
			tested, p = append(tested, c), append(p, *c.Comparison.DifferenceP)
		}
	}
	for i, adjusted := range stats.Holm(p) {
		tested[i].Comparison.PAdjusted = finite(adjusted)
		tested[i].Word = wordOf(adjusted, *tested[i].Comparison.Ratio > 1, tested[i].Better)
	}
}

// wordOf is the word of a two-sided test with this p-value.
func wordOf(p float64, rises bool, better string) string {
	switch {
	case p > 1-level:
		return WordNotShown
	case better == neither:
		return WordDiffers
	case rises == (better == betterHigher):
		return WordBetter
	}
	return WordWorse
}
