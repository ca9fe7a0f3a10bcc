package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// MinimumDetectable is the smallest true mean, in standard deviations, that
// Student's two-sided test of n values at level alpha finds different from 0 with
// the given power; n is 2 or more. It is δ/√n for the δ at which the noncentral t
// has that power, as R's power.t.test(type = "paired", strict = TRUE) solves it.
func MinimumDetectable(n int, alpha, power float64) float64 {
	return noncentrality(float64(n-1), alpha, power) / math.Sqrt(float64(n))
}

// MinimumDetectableBetween is the same for the difference of the means of groups of n and
// m, which vary alike and are not paired: δ·√(1/n+1/m) with n+m−2 degrees of freedom, of
// which there is at least one. A group of one is a single new value.
func MinimumDetectableBetween(n, m int, alpha, power float64) float64 {
	return noncentrality(float64(n+m-2), alpha, power) * math.Sqrt(1/float64(n)+1/float64(m))
}

// noncentrality is the δ at which the two-sided test at level alpha has that power.
func noncentrality(df, alpha, power float64) float64 {
	critical := studentQuantile(1-alpha/2, df)
	low, high := 0.0, 1.0
	for studentPower(high, critical, df) < power {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; studentPower(mid, critical, df) < power {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// studentPower is P(|T| > c) for T noncentral t with ν degrees of freedom and
// noncentrality δ: T = (Z+δ)/√(V/ν) with V chi-squared, so it is the mean over V of
// Φ(δ − c√(V/ν)) + Φ(−δ − c√(V/ν)). The integral runs over w = √V, where the density
// has no pole at 0.
func studentPower(delta, c, nu float64) float64 {
	v := distuv.ChiSquared{K: nu}
	of := func(w float64) float64 {
		if w == 0 {
			return 0
		}
		x := c * w / math.Sqrt(nu)
		exceeds := distuv.UnitNormal.CDF(delta-x) + distuv.UnitNormal.CDF(-delta-x)
		return exceeds * v.Prob(w*w) * 2 * w
	}
	const points = 200 // twelve digits for ν up to 1000
	from := max(0, math.Sqrt(nu)-10)
	return quad.Fixed(of, from, math.Sqrt(nu)+10, points, nil, 0)
}
