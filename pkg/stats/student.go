package stats

import "math"

// TTest is Student's test of a mean against 0, or of two means against each other.
type TTest struct {
	Mean float64 // the difference that is tested
	SE   float64 // of Mean
	DF   float64
}

// OneSample tests whether the mean of d is 0; for pairs, d holds their differences.
// d has at least 2 values.
func OneSample(d []float64) TTest {
	return TTest{Mean: Mean(d), SE: SD(d) / math.Sqrt(float64(len(d))), DF: float64(len(d) - 1)}
}

// Welch tests whether x and y, which need not vary alike, have the same mean (Welch
// 1947): the degrees of freedom are (v_x+v_y)²/(v_x²/(n_x−1)+v_y²/(n_y−1)) with
// v = s²/n. Each has at least 2 values, and not both are constant.
func Welch(x, y []float64) TTest {
	nx, ny := float64(len(x)), float64(len(y))
	vx, vy := SD(x)*SD(x)/nx, SD(y)*SD(y)/ny
	return TTest{
		Mean: Mean(x) - Mean(y),
		SE:   math.Sqrt(vx + vy),
		DF:   (vx + vy) * (vx + vy) / (vx*vx/(nx-1) + vy*vy/(ny-1)),
	}
}

// Next tests whether value comes from the normal distribution that x was drawn from: it is
// Student's test of two groups that vary alike, one of which has one value, and its interval
// that of the distance from the mean of x. x has at least 2 values, which are not all equal.
func Next(x []float64, value float64) TTest {
	n := float64(len(x))
	return TTest{Mean: value - Mean(x), SE: SD(x) * math.Sqrt(1+1/n), DF: n - 1}
}

// T is the statistic.
func (t TTest) T() float64 { return t.Mean / t.SE }

// P is the two-sided p-value.
func (t TTest) P() float64 { return 2 * student(t.DF).CDF(-math.Abs(t.T())) }

// Interval of the mean or of the difference of the means.
func (t TTest) Interval(level float64) Interval {
	half := studentQuantile(1-(1-level)/2, t.DF) * t.SE
	return Interval{t.Mean - half, t.Mean + half}
}
