package interop

import (
	"fmt"
	"math"
	"slices"

	"bgbench/pkg/stats"
)

// level at which a sample must bound a percentile, or it is not given.
const level = 0.95

// percentilesGiven are those that the peers' formats hold, but for p50 which some
// call median.
var percentilesGiven = []float64{0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

func percentileName(p float64) string { return fmt.Sprintf("p%g", p) }

// values are the raw numbers of one quantity.
type values[F float32 | float64] []F

func (v *values[F]) add(p *F) {
	if p != nil {
		*v = append(*v, *p)
	}
}

// measure describes v; a percentile that so few values cannot bound is left out with
// the reason, at either end.
func (v values[F]) measure(d Definition, called, unit, counts string) Metric {
	m := metric(d, called, unit)
	n := len(v)
	m.From, m.Counts, m.Quantiles, m.N = FromRows, counts, QuantilesType7, &n
	if n == 0 {
		return m
	}
	slices.Sort(v)
	m.Mean, m.Min, m.Max = finite(stats.Mean(v)), finite(float64(v[0])), finite(float64(v[n-1]))
	if n > 1 {
		m.SD = finite(stats.SD(v))
	}
	for _, p := range percentilesGiven {
		if need := stats.MinimumN(max(p, 100-p)/100, level); n < need {
			m.missing(percentileName(p), fmt.Sprintf("needs at least %d %s, there are %d", need, counts, n))
			continue
		}
		m.setPercentile(percentileName(p), finite(stats.Quantile(v, p/100)))
	}
	return m
}

// finite is nil for what JSON has no word for.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
