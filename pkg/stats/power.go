package stats

import (
	"math"
	"sort"

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

// PairsNeeded is the smallest number of pairs, at least 2 and at most most, with which
// Student's one-sided test at level alpha finds a true mean of effect standard deviations
// with the given power; ok is false where most are too few.
func PairsNeeded(effect, alpha, power float64, most int) (n int, ok bool) {
	enough := func(n int) bool {
		df := float64(n - 1)
		return studentPowerAbove(effect*math.Sqrt(float64(n)), studentQuantile(1-alpha, df), df) >= power
	}
	if effect <= 0 || most < 2 || !enough(most) {
		return 0, false
	}
	return 2 + sort.Search(most-2, func(i int) bool { return enough(2 + i) }), true
}

// SDUpperBound is the one-sided upper bound at the level of the standard deviation of
// normal values of which n, 2 or more, had the standard deviation sd.
func SDUpperBound(sd float64, n int, level float64) float64 {
	df := float64(n - 1)
	return sd * math.Sqrt(df/distuv.ChiSquared{K: df}.Quantile(1-level))
}

// studentPower is P(|T| > c) for T noncentral t with ν degrees of freedom and
// noncentrality δ: T = (Z+δ)/√(V/ν) with V chi-squared, so it is the mean over V of
// Φ(δ − c√(V/ν)) + Φ(−δ − c√(V/ν)).
func studentPower(delta, c, nu float64) float64 {
	return overChiSquared(nu, c, func(x float64) float64 {
		return distuv.UnitNormal.CDF(delta-x) + distuv.UnitNormal.CDF(-delta-x)
	})
}

// studentPowerAbove is P(T > c).
func studentPowerAbove(delta, c, nu float64) float64 {
	return overChiSquared(nu, c, func(x float64) float64 { return distuv.UnitNormal.CDF(delta - x) })
}

// overChiSquared is the mean of exceeds(c√(V/ν)) over V chi-squared with ν degrees of
// freedom. The integral runs over w = √V, where the density has no pole at 0.
func overChiSquared(nu, c float64, exceeds func(float64) float64) float64 {
	v := distuv.ChiSquared{K: nu}
	of := func(w float64) float64 {
		if w == 0 {
			return 0
		}
		return exceeds(c*w/math.Sqrt(nu)) * v.Prob(w*w) * 2 * w
	}
	const points = 200 // twelve digits for ν up to 1000
	from := max(0, math.Sqrt(nu)-10)
	return quad.Fixed(of, from, math.Sqrt(nu)+10, points, nil, 0)
}
