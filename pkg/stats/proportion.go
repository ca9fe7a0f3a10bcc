package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson is the score interval of a share of k in n (Wilson 1927); n > 0.
func Wilson(k, n int, level float64) Interval {
	z := distuv.UnitNormal.Quantile(1 - (1-level)/2)
	size := float64(n)
	p := float64(k) / size
	scale := 1 + z*z/size
	centre := (p + z*z/(2*size)) / scale
	half := z / scale * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	return Interval{max(0, centre-half), min(1, centre+half)}
}

// BinomialTail is the probability of k or more of n that each happen with probability p:
// the one-sided exact test of a share against p.
func BinomialTail(k, n int, p float64) float64 {
	if k <= 0 {
		return 1
	}
	return 1 - distuv.Binomial{N: float64(n), P: p}.CDF(float64(k-1))
}

// ClopperPearson is the exact interval of a share of k in n, which covers at least
// the level (Clopper and Pearson 1934); n > 0.
func ClopperPearson(k, n int, level float64) Interval {
	alpha := (1 - level) / 2
	in := Interval{0, 1}
	if k > 0 {
		in.Low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(alpha)
	}
	if k < n {
		in.High = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - alpha)
	}
	return in
}
