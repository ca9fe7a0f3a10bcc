package stats

// batchOfMSER is the 5 of MSER-5.
const batchOfMSER = 5

// MSER5 returns how many values at the start of a series to leave out as warm-up, by
// the marginal standard error rule on means of 5 (White, Cobb and Spratt 2000): the d
// that minimizes Σ_{i>d}(Y_i−Ȳ_d)²/(n−d)² over the batch means Y. The last 5 batches
// never begin the rest, because a few values may agree by chance. It reports false
// where the series is too short to tell or more than half would go, that is, never
// settles. A load of bursts is not steady, so it checks a declared warm-up and
// replaces none.
func MSER5(x []float64) (warmup int, ok bool) {
	n := len(x) / batchOfMSER
	if n < 2*batchOfMSER {
		return 0, false
	}
	means := make([]float64, n)
	for i := range means {
		means[i] = Mean(x[i*batchOfMSER : (i+1)*batchOfMSER])
	}
	best, at := 0.0, 0
	for d := 0; d <= n-batchOfMSER; d++ {
		rest := means[d:]
		mean, squares := Mean(rest), 0.0
		for _, y := range rest {
			squares += (y - mean) * (y - mean)
		}
		if size := float64(len(rest)); d == 0 || squares/(size*size) < best {
			best, at = squares/(size*size), d
		}
	}
	return at * batchOfMSER, 2*at <= n
}
