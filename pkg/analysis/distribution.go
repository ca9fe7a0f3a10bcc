package analysis

import (
	"fmt"
	"math"
	"slices"

	"bgbench/pkg/stats"
)

// level is the confidence level of every interval and bound.
const level = 0.95

// sample collects the raw values of one quantity.
type sample[F float32 | float64] struct {
	values []F
	// never counts the rows for which it never happened; they stand above every
	// value, as +Inf.
	never int
}

func (s *sample[F]) add(p *F) {
	if p != nil {
		s.values = append(s.values, *p)
	}
}

// distribution summarizes s and sorts it in doing so. noun names what was counted,
// and none says why there is nothing.
func (s *sample[F]) distribution(noun, none string) Distribution {
	slices.Sort(s.values)
	d := Distribution{Unit: "s", N: len(s.values) + s.never}
	if d.N == 0 {
		nothing := missing(0, "%s", none)
		d.Mean, d.P50, d.P90, d.P95, d.P99, d.Max = nothing, nothing, nothing, nothing, nothing, nothing
		return d
	}
	d.Mean, d.Max = s.mean(), s.max()
	d.P50, d.P90 = s.percentile(50, noun), s.percentile(90, noun)
	d.P95, d.P99 = s.percentile(95, noun), s.percentile(99, noun)
	return d
}

// mean sums in sorted order, so that the order of the rows leaves no trace.
func (s *sample[F]) mean() Value {
	if s.never > 0 {
		return s.fallsOnFailure("the mean")
	}
	var sum float64
	for _, v := range s.values {
		sum += float64(v)
	}
	return measured(sum/float64(len(s.values)), len(s.values))
}

func (s *sample[F]) max() Value {
	if s.never > 0 {
		return s.fallsOnFailure("the maximum")
	}
	return measured(float64(s.values[len(s.values)-1]), len(s.values))
}

func (s *sample[F]) percentile(percent int, noun string) Value {
	n := len(s.values) + s.never
	p := float64(percent) / 100
	if need := stats.MinimumN(p, level); n < need {
		return missing(n, "p%d needs at least %d %s, there are %d", percent, need, noun, n)
	}
	q := quantileWithFailures(s.values, s.never, p)
	if math.IsInf(q, 1) {
		return s.fallsOnFailure(fmt.Sprintf("p%d", percent))
	}
	return measured(q, n)
}

// quantileWithFailures is the quantile of sorted with never times +Inf behind it.
func quantileWithFailures[F float32 | float64](sorted []F, never int, p float64) float64 {
	if never == 0 {
		return stats.Quantile(sorted, p)
	}
	inf := F(math.Inf(1))
	all := slices.Grow(slices.Clone(sorted), never)
	for range never {
		all = append(all, inf)
	}
	return stats.Quantile(all, p)
}

func (s *sample[F]) fallsOnFailure(what string) Value {
	n := len(s.values) + s.never
	return missing(n, "%s falls on a request that failed (%d of %d did)", what, s.never, n)
}
