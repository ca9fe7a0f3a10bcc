package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Quantile returns the p-quantile of type 7 (Hyndman and Fan 1996), the default of
// numpy, pandas, R and DuckDB's quantile_cont: h = (n−1)p and
// x[⌊h⌋] + (h−⌊h⌋)(x[⌊h⌋+1] − x[⌊h⌋]). x is sorted and not empty; +Inf at its end is
// allowed, and a quantile that touches it is +Inf.
func Quantile[F ~float32 | ~float64](x []F, p float64) float64 {
	return QuantileAt(len(x), p, func(i int) float64 { return float64(x[i]) })
}

// QuantileAt is Quantile for n values of which at gives the i-th in order.
func QuantileAt(n int, p float64, at func(i int) float64) float64 {
	h := float64(n-1) * p
	i := int(math.Floor(h))
	low := at(i)
	weight := h - float64(i)
	if weight == 0 || i+1 == n {
		return low
	}
	high := at(i + 1)
	if low == high { // also Inf − Inf
		return low
	}
	return low + weight*(high-low)
}

// MinimumN is the smallest sample whose maximum lies above the p-quantile of the
// population with probability level: the smallest n with 1 − pⁿ ≥ level. Below it
// a sample says nothing about how high the quantile may be. At 95 %: 5 for the
// median, 59 for p95, 299 for p99.
func MinimumN(p, level float64) int {
	return int(math.Ceil(math.Log(1-level) / math.Log(p)))
}

// Ranks are the places, counted from 1, of the order statistics that bound a quantile.
type Ranks struct {
	Low, High int
	Coverage  float64 // the probability that they really do, at least the level asked for
}

// QuantileRanks returns the order statistics of a sample of n that enclose the
// p-quantile with probability level or more, without any assumption on the
// distribution: l = qbinom(α/2; n, p), u = qbinom(1−α/2; n, p) + 1, coverage
// P(l ≤ B < u) for B binomial. It reports false where n is too small for any. The
// draws must be independent, so it holds within one run at best.
func QuantileRanks(n int, p, level float64) (Ranks, bool) {
	b := distuv.Binomial{N: float64(n), P: p}
	alpha := 1 - level
	low := binomialQuantile(b, alpha/2)
	high := binomialQuantile(b, 1-alpha/2) + 1
	if low < 1 || high > n {
		return Ranks{}, false
	}
	return Ranks{low, high, b.CDF(float64(high-1)) - b.CDF(float64(low-1))}, true
}

// QuantileInterval is the interval of the p-quantile of the population that the order
// statistics of QuantileRanks bound, with its coverage. x is sorted.
func QuantileInterval[F ~float32 | ~float64](x []F, p, level float64) (in Interval, coverage float64, ok bool) {
	ranks, ok := QuantileRanks(len(x), p, level)
	if !ok {
		return Interval{}, 0, false
	}
	return Interval{float64(x[ranks.Low-1]), float64(x[ranks.High-1])}, ranks.Coverage, true
}

// binomialQuantile is the smallest k with P(B ≤ k) ≥ q.
func binomialQuantile(b distuv.Binomial, q float64) int {
	low, high := 0, int(b.N)
	for low < high {
		mid := (low + high) / 2
		if b.CDF(float64(mid)) >= q {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}
