package analysis

import (
	"fmt"
	"math"
	"slices"

	"bgbench/pkg/stats"
)

// Unpaired compares values of one metric with those of another run, which was at another
// time and shares nothing with this one by which they could be paired.
type Unpaired struct {
	Method    string   // how P and the interval were found; none without a test
	Ratio     *float64 // of the geometric means
	Low, High *float64 // interval of Ratio at 95 %
	P         *float64 // two-sided, of no difference
	PAdjusted *float64 // by Holm over all that were tested
	RankP     *float64 // a second opinion that takes no distribution for granted
	MDE       *float64 // the smallest rise that could have been shown, as a share
	Reason    string   // why there is no test
}

// Methods of an unpaired test.
const (
	methodWelch = "Welch's t on logs"
	methodRanks = "Mann-Whitney"
	methodNext  = "t of the next value on logs"
)

// unpaired tests the trials of one run against those of another. Logs, because runs vary by
// a factor; where there are none, as of 0, ranks.
func unpaired(was, is []float64) Unpaired {
	n, m := len(was), len(is)
	if n < minTrials || m < minTrials {
		return Unpaired{Reason: fmt.Sprintf("no test: it needs %d trials on each side, there are %d and %d", minTrials, n, m)}
	}
	var u Unpaired
	if stats.RanksFloor(n, m) <= 1-level {
		u.RankP = finite(stats.MannWhitney(was, is).P)
	}
	if slices.Min(was) <= 0 || slices.Min(is) <= 0 {
		if u.RankP == nil {
			u.Reason = fmt.Sprintf("no test: logarithms need values above 0, and ranks more than %d and %d trials", n, m)
			return u
		}
		u.P, u.Method = u.RankP, methodRanks
		return u
	}
	before, after := logsOf(was), logsOf(is)
	u.welch(before, after)
	return u
}

func (u *Unpaired) welch(before, after []float64) {
	n, m := len(before), len(after)
	test := stats.Welch(after, before)
	u.Ratio = finite(math.Exp(test.Mean))
	if test.SE == 0 {
		u.Reason = noSpread
		return
	}
	in := test.Interval(level)
	u.Method, u.P = methodWelch, finite(test.P())
	u.Low, u.High = finite(math.Exp(in.Low)), finite(math.Exp(in.High))
	sb, sa := stats.SD(before), stats.SD(after)
	pooled := math.Sqrt((float64(n-1)*sb*sb + float64(m-1)*sa*sa) / float64(n+m-2))
	u.MDE = detectableRise(n, m, pooled)
}

// nextRun tests the value of one run against those of several earlier ones, each of which
// counts once: runs of different days differ by more than the trials of one day, so that
// trials of several days together would promise too much.
func nextRun(was []float64, is float64) Unpaired {
	switch {
	case len(was) < minTrials:
		return Unpaired{Reason: fmt.Sprintf("no test: it needs %d earlier results, there %s", minTrials, areSo(len(was)))}
	case slices.Min(was) <= 0 || is <= 0:
		return Unpaired{Reason: "no test: logarithms need values above 0"}
	}
	before := logsOf(was)
	test := stats.Next(before, math.Log(is))
	u := Unpaired{Ratio: finite(math.Exp(test.Mean))}
	if test.SE == 0 {
		u.Reason = noSpread
		return u
	}
	in := test.Interval(level)
	u.Method, u.P = methodNext, finite(test.P())
	u.Low, u.High = finite(math.Exp(in.Low)), finite(math.Exp(in.High))
	u.MDE = detectableRise(len(was), 1, stats.SD(before))
	return u
}

// noSpread: whole seconds may be the same in every trial, and then any other second would be
// a certain difference.
const noSpread = "no test: the values of a side are all the same"

func detectableRise(n, m int, sd float64) *float64 {
	return finite(math.Expm1(stats.MinimumDetectableBetween(n, m, 1-level, power) * sd))
}

func logsOf(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}

// known are the values that there are.
func known(values []*float64) []float64 {
	var out []float64
	for _, v := range values {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}
