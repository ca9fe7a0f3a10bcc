package stats

// Autocorrelation of a series with itself lag values later, about the mean of the
// whole series as R's acf has it. The series is not constant and longer than lag.
func Autocorrelation(x []float64, lag int) float64 {
	mean := Mean(x)
	var with, all float64
	for i, v := range x {
		all += (v - mean) * (v - mean)
		if i+lag < len(x) {
			with += (v - mean) * (x[i+lag] - mean)
		}
	}
	return with / all
}

// EffectiveN is how many independent values tell as much of a mean as n values of a
// first-order autoregressive series with correlation r, n(1−r)/(1+r).
func EffectiveN(n int, r float64) float64 { return float64(n) * (1 - r) / (1 + r) }
