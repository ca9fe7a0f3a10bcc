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
	critical := studentQuantile(1-alpha/2, n-1)
	low, high := 0.0, 1.0
	for studentPower(high, critical, n-1) < power {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; studentPower(mid, critical, n-1) < power {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2 / math.Sqrt(float64(n))
}

// studentPower is P(|T| > c) for T noncentral t with df degrees of freedom and
// noncentrality δ: T = (Z+δ)/√(V/ν) with V chi-squared, so it is the mean over V of
// Φ(δ − c√(V/ν)) + Φ(−δ − c√(V/ν)). The integral runs over w = √V, where the density
// has no pole at 0.
func studentPower(delta, c float64, df int) float64 {
	nu := float64(df)
	v := distuv.ChiSquared{K: nu}
	of := func(w float64) float64 {
		if w == 0 {
			return 0
		}
		x := c * w / math.Sqrt(nu)
		exceeds := distuv.UnitNormal.CDF(delta-x) + distuv.UnitNormal.CDF(-delta-x)
		return exceeds * v.Prob(w*w) * 2 * w
	}
	const points = 200 // twelve digits for df up to 1000
	from := max(0, math.Sqrt(nu)-10)
	return quad.Fixed(of, from, math.Sqrt(nu)+10, points, nil, 0)
}
