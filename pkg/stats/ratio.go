package stats

import "math"

// LogRatio is the ratio of paired positive values b/a on the log scale. The pairs
// are the unit: d_i = ln(b_i/a_i).
type LogRatio struct {
	N    int
	Mean float64 // of d
	SE   float64 // of the mean, s/√n; not a number for a single pair
}

// NewLogRatio compares b with a, pair by pair. All values are positive and there is
// at least one pair.
func NewLogRatio(a, b []float64) LogRatio {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = math.Log(b[i] / a[i])
	}
	r := LogRatio{N: len(d), Mean: Mean(d), SE: math.NaN()}
	if r.N > 1 {
		r.SE = SD(d) / math.Sqrt(float64(r.N))
	}
	return r
}

// Ratio is the geometric mean of the ratios.
func (r LogRatio) Ratio() float64 { return math.Exp(r.Mean) }

// Interval is the two-sided interval of the ratio by Student's t; it needs 2 pairs.
func (r LogRatio) Interval(level float64) Interval {
	half := studentQuantile(1-(1-level)/2, r.df()) * r.SE
	return Interval{math.Exp(r.Mean - half), math.Exp(r.Mean + half)}
}

// UpperBound is the one-sided upper bound of the ratio. The ratio is shown to be
// at most 1+margin (non-inferiority of a quantity where less is better) at the
// level if the bound is.
func (r LogRatio) UpperBound(level float64) float64 {
	return math.Exp(r.Mean + studentQuantile(level, r.df())*r.SE)
}

// LowerBound is the one-sided lower bound of the ratio.
func (r LogRatio) LowerBound(level float64) float64 {
	return math.Exp(r.Mean - studentQuantile(level, r.df())*r.SE)
}

// NonInferiorityP is the p-value of the one-sided test that shows the ratio to be at
// most 1+margin.
func (r LogRatio) NonInferiorityP(margin float64) float64 { return r.tail(math.Log1p(margin) - r.Mean) }

// InferiorityP is that of the test that shows it to be above.
func (r LogRatio) InferiorityP(margin float64) float64 { return r.tail(r.Mean - math.Log1p(margin)) }

// DifferenceP is the two-sided p-value of the ratio being 1, by Student's t. It needs 2
// pairs.
func (r LogRatio) DifferenceP() float64 { return min(1, 2*r.tail(math.Abs(r.Mean))) }

// Rise is the change of the ratio, as a share of it, by so many standard deviations of
// the pairs: 0.1 is a rise by 10 %. By MinimumDetectable of them it is the smallest that
// the two-sided test of as many pairs that vary as these do finds with its power. It
// needs 2 pairs.
func (r LogRatio) Rise(deviations float64) float64 {
	sd := r.SE * math.Sqrt(float64(r.N))
	return math.Expm1(deviations * sd)
}

// EquivalenceP is the p-value of the two one-sided tests (TOST, Schuirmann 1987) of
// the ratio lying inside (1−margin, 1+margin): the larger of the two.
func (r LogRatio) EquivalenceP(margin float64) float64 {
	return max(r.tail(r.Mean-math.Log(1-margin)), r.tail(math.Log(1+margin)-r.Mean))
}

func (r LogRatio) df() float64 { return float64(r.N - 1) }

// tail is P(T > distance/SE).
func (r LogRatio) tail(distance float64) float64 {
	if r.SE == 0 { // all pairs agree
		if distance > 0 {
			return 0
		}
		return 1
	}
	return student(r.df()).CDF(-distance / r.SE)
}
