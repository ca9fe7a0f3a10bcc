package analysis

import (
	"fmt"
	"math"
	"strings"

	"bgbench/pkg/stats"
)

// MostTrials is where TrialsNeeded stops: more would hardly be run.
const MostTrials = 200

// Needed is how many trials it takes to give a comparison the verdict that its ratio points
// to, with a power of 80 %, if the true ratio is the one seen and more trials vary as those
// seen do.
type Needed struct {
	Toward string // VerdictProtected or VerdictDegraded; empty where Reason says why nothing is known
	// Trials is in all, 0 where MostTrials are too few.
	Trials int
	// Cautious is the same if trials vary as much as those seen let fear: by the one-sided 80 %
	// upper bound of their standard deviation, which few trials know badly (Browne 1995).
	Cautious int
	// SD is the standard deviation of the log ratios, Level that of the test, Family the
	// number of tests among which it must hold even as the first of Holm's.
	SD     float64
	Level  float64
	Family int
	Reason string
}

// cautiousLevel is Browne's (Statistics in Medicine 14, 1995, 1933): with the 80 % bound a
// study sized by a pilot has the power it was planned for in 4 of 5 cases.
const cautiousLevel = 0.8

// TrialsNeeded looks at the comparison of arm with its baseline under key, one of those
// with a margin.
func (r Results) TrialsNeeded(arm ArmResult, key string) Needed {
	c := arm.Against[key]
	base, ok := r.BaselineOf(arm)
	switch {
	case !ok || c.Margin == nil:
		return Needed{Reason: "the experiment declares no margin for it"}
	case c.Ratio == nil:
		return Needed{Reason: "there is no ratio: " + c.Reason}
	}
	if p, decides := verdictMetrics(r.Experiment.ProfileOf(arm.Name).Interactive)[key]; decides {
		own, other := arm.Metrics[key], base.Metrics[key]
		for _, name := range []string{base.Name, arm.Name} {
			if failed := unbounded(r.failedByTrial(name), p, other, own); len(failed) > 0 {
				return Needed{Reason: fmt.Sprintf("more trials can't give a verdict as long as so many requests of %s fail (trial %s)", name, strings.Join(failed, ", "))}
			}
		}
	}
	a, b, _ := pairsOf(base.Metrics[key], arm.Metrics[key])
	if len(a) < minTrials {
		return Needed{Reason: fmt.Sprintf("a test needs %d pairs of trials, there %s: too few to tell how much trials vary", minTrials, areSo(len(a)))}
	}
	ratio := stats.NewLogRatio(a, b)
	n := Needed{Toward: VerdictProtected, SD: ratio.SE * math.Sqrt(float64(ratio.N)), Family: r.family()}
	distance := math.Log1p(*c.Margin) - ratio.Mean
	if distance < 0 {
		n.Toward, distance = VerdictDegraded, -distance
	}
	n.Level = (1 - level) / float64(max(n.Family, 1))
	if n.SD == 0 {
		return Needed{Reason: "all pairs of trials are the same"}
	}
	n.Trials, _ = stats.PairsNeeded(distance/n.SD, n.Level, power, MostTrials)
	n.Cautious, _ = stats.PairsNeeded(distance/stats.SDUpperBound(n.SD, ratio.N, cautiousLevel), n.Level, power, MostTrials)
	return n
}

// family is the number of comparisons among which Holm's method spreads the level.
func (r Results) family() int {
	n := 0
	for _, a := range r.Arms {
		for _, c := range a.Against {
			if c.P != nil {
				n++
			}
		}
	}
	return n
}
