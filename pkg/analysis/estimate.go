package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bgbench/pkg/random"
	"bgbench/pkg/stats"
)

// minTrials is how many trials an interval needs: Student's t with the one degree
// of freedom of two trials is 12.7 s/√2 and says nothing.
const minTrials = 3

// power is the probability with which a comparison must find an effect for the
// design to count as able to show it; 80 % is the convention (Cohen 1988).
const power = 0.8

// Methods of intervals.
const (
	methodTOnLogs    = "t on logs"
	methodBCa        = "BCa bootstrap"
	methodPercentile = "percentile bootstrap"
)

// estimate puts the values of one metric over the trials together; nil where a
// trial has no valid cell. The trial is the unit: the rows of several trials are
// never pooled.
func estimate(unit string, trials []*Value) Estimate {
	e := Estimate{Unit: unit, Values: make([]*float64, len(trials)), Level: level}
	var values []float64
	for i, v := range trials {
		if v != nil && v.Value != nil {
			e.Values[i] = v.Value
			values = append(values, *v.Value)
		}
	}
	e.TrialsUse = len(values)
	if len(values) == 0 {
		e.Reason = reasons(trials)
		return e
	}
	sorted := slices.Sorted(slices.Values(values))
	e.Median = finite(stats.Quantile(sorted, 0.5))
	e.Mean = finite(stats.Mean(sorted))
	if in, coverage, ok := stats.QuantileInterval(sorted, 0.5, level); ok {
		e.MedianLow, e.MedianHigh, e.MedianCoverage = finite(in.Low), finite(in.High), finite(coverage)
	}
	if len(values) >= 2 {
		e.Min, e.Max = &sorted[0], &sorted[len(sorted)-1]
	}
	switch {
	case len(values) < minTrials:
		e.Reason = fmt.Sprintf("no interval: it needs %d trials, there %s", minTrials, areSo(len(values)))
	case sorted[0] <= 0:
		e.Reason = "no interval: logarithms need values above 0"
		e.boundMean(values)
	default:
		in := stats.GeometricMeanInterval(values, level)
		e.GeoMean, e.Low, e.High = finite(stats.GeometricMean(values)), finite(in.Low), finite(in.High)
		e.Method = methodTOnLogs
	}
	return e
}

// bootstrapTrials: the bootstrap of fewer covers less than it says (coverage simulation of
// pkg/stats).
const bootstrapTrials = 20

// boundMean gives the mean an interval where logs can't.
func (e *Estimate) boundMean(values []float64) {
	if len(values) < bootstrapTrials || slices.Min(values) == slices.Max(values) {
		return
	}
	b := stats.Bootstrap[float64]{
		Statistic: stats.Mean[float64], Resamples: resamples, Source: random.Stream(0, "analysis", "mean of trials"),
	}
	in, ok := b.BCa(values, level)
	e.MeanMethod = methodBCa
	if !ok {
		in, e.MeanMethod = b.Percentile(values, level), methodPercentile
	}
	e.MeanLow, e.MeanHigh = finite(in.Low), finite(in.High)
}

func areSo(n int) string {
	if n == 1 {
		return "is 1"
	}
	return fmt.Sprintf("are %d", n)
}

// inWords counts what is too few.
var inWords = [minTrials]string{"no trial", "one trial", "two trials"}

// reasons says why no trial has a value: each reason once, with its trials.
func reasons(trials []*Value) string {
	var order []string
	where := make(map[string][]string)
	for i, v := range trials {
		if v == nil || v.Reason == "" {
			continue
		}
		if where[v.Reason] == nil {
			order = append(order, v.Reason)
		}
		where[v.Reason] = append(where[v.Reason], strconv.Itoa(i+1))
	}
	if len(order) == 0 {
		return "no valid trial"
	}
	for i, reason := range order {
		order[i] = fmt.Sprintf("%s (trial %s)", reason, strings.Join(where[reason], ", "))
	}
	return strings.Join(order, "; ")
}

// finite is a pointer to x, or nil where JSON has no word for it.
func finite(x float64) *float64 { return measured(x, 0).Value }

// detectable is the effect that a design could have shown, in standard deviations, by
// its pairs of trials. To find it takes longer than all the rest of a comparison, and
// those of an experiment mostly have as many pairs.
type detectable map[int]float64

func (d detectable) of(pairs int) float64 {
	if _, ok := d[pairs]; !ok {
		d[pairs] = stats.MinimumDetectable(pairs, 1-level, power)
	}
	return d[pairs]
}

// compare compares an arm with the baseline, paired by trial: the two cells of a trial
// replayed the same inputs. A margin is given for the metrics that get a verdict.
func (d detectable) compare(baseline, arm Estimate, margin *float64) Comparison {
	c := Comparison{Level: level, Margin: margin}
	if margin != nil {
		c.Verdict = VerdictNoConclusion
	}
	a, b, zero := pairsOf(baseline, arm)
	c.Pairs = len(a)
	switch {
	case zero:
		c.Reason = "no ratio: it needs values above 0 in both arms"
		return c
	case c.Pairs == 0:
		c.Reason = "no trial has a value in both arms"
		return c
	}
	r := stats.NewLogRatio(a, b)
	c.Ratio = finite(r.Ratio())
	c.permute(a, b)
	if c.Pairs < minTrials {
		c.Reason = fmt.Sprintf("no interval and no test: they need %d pairs of trials, there %s", minTrials, areSo(c.Pairs))
		if margin != nil {
			c.Reason = fmt.Sprintf("%s can't give a verdict: a test needs %d pairs of trials", inWords[c.Pairs], minTrials)
		}
		return c
	}
	in := r.Interval(level)
	c.Low, c.High = finite(in.Low), finite(in.High)
	c.MDE = finite(r.Rise(d.of(c.Pairs)))
	c.DifferenceP = finite(r.DifferenceP())
	if margin != nil {
		c.OneSidedLow, c.OneSidedHigh = finite(r.LowerBound(level)), finite(r.UpperBound(level))
		c.Verdict = verdict(c.OneSidedLow, c.OneSidedHigh, *margin)
		c.P = finite(min(r.NonInferiorityP(*margin), r.InferiorityP(*margin)))
		c.EquivalenceP = finite(r.EquivalenceP(*margin))
	}
	return c
}

// pairsOf lists the trials that have a value in both; zero says that some have one of 0 or
// below, of which there is no logarithm.
func pairsOf(baseline, arm Estimate) (a, b []float64, zero bool) {
	for i := range min(len(baseline.Values), len(arm.Values)) {
		switch x, y := baseline.Values[i], arm.Values[i]; {
		case x == nil || y == nil:
		case *x <= 0 || *y <= 0:
			zero = true
		default:
			a, b = append(a, *x), append(b, *y)
		}
	}
	return a, b, zero
}

// permute adds the exact test, where there are enough pairs for it to say anything.
func (c *Comparison) permute(a, b []float64) {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = math.Log(b[i] / a[i])
	}
	if len(d) > stats.MostPairs { // too many signs to try: of the ranks it takes no time
		c.PermutationP, c.PermutationFloor = finite(stats.SignedRank(d).P), finite(stats.PairedFloor(len(d)))
		return
	}
	floor := stats.PairedFloor(len(d))
	c.PermutationFloor = finite(floor)
	if floor > 1-level {
		return
	}
	if p, ok := stats.PairedPermutation(d); ok {
		c.PermutationP = finite(p)
	}
}

// verdict of a quantity where less is better. Both words are one-sided tests at
// 5 % against the same line, 1 + margin, so they can't both hold. "Not significant"
// is never "equal".
func verdict(low, high *float64, margin float64) string {
	switch {
	case high != nil && *high <= 1+margin:
		return VerdictProtected
	case low != nil && *low > 1+margin:
		return VerdictDegraded
	}
	return VerdictNoConclusion
}

// adjust takes a verdict back whose test does not hold in the family of all tests of
// the experiment. Of the two tests of a comparison only the one that its data speak for
// can be false, so that a comparison enters with the smaller p-value (Shaffer 1980).
func (c *Comparison) adjust(p float64, family int) {
	c.PAdjusted = finite(p)
	if c.Verdict == VerdictNoConclusion || p <= 1-level {
		return
	}
	c.Reason = fmt.Sprintf("no verdict: it would be %s by itself (p = %.2g), but not as one of %d tests (Holm: p = %.2g)", c.Verdict, *c.P, family, p)
	c.Verdict = VerdictNoConclusion
}

// withhold takes a verdict back that rests on survivors. The percentiles that were
// compared leave failed requests out; where so many failed that the percentile of
// all requests is one of them, an arm has protected nothing, and a baseline is no
// measure. Degraded stands: the survivors alone are worse. The lists name the
// trials where it was so.
func (c *Comparison) withhold(baseline, arm []string) {
	switch {
	case c.Verdict != VerdictNoConclusion && len(baseline) > 0:
		c.Verdict = VerdictNoConclusion
		c.Reason = "no verdict: the same percentile of all requests of the baseline falls on one that failed (trial " + strings.Join(baseline, ", ") + ")"
	case c.Verdict == VerdictProtected && len(arm) > 0:
		c.Verdict = VerdictNoConclusion
		c.Reason = "no verdict: the same percentile of all requests falls on one that failed (trial " + strings.Join(arm, ", ") + ")"
	}
}

// unbounded names the trials of the pairs of a and b in which so many of the offered
// requests failed that their p-quantile is one of those. failed has, by trial, how many
// did; a trial of which that is not known counts as one of them.
func unbounded(failed []failures, p float64, a, b Estimate) []string {
	var trials []string
	for i := range min(len(a.Values), len(b.Values)) {
		if a.Values[i] != nil && b.Values[i] != nil && (i >= len(failed) || failed[i].beyond(p)) {
			trials = append(trials, strconv.Itoa(i+1))
		}
	}
	return trials
}

// failures counts the requests of a phase that did not end ok.
type failures struct{ failed, offered int }

// beyond reports whether the p-quantile of type 7 of all requests touches one that failed:
// it lies at (n−1)p, and the failed ones stand last.
func (f failures) beyond(p float64) bool {
	return f.offered == 0 || float64(f.offered-1)*p > float64(f.offered-f.failed-1)
}
