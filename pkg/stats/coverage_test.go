package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The promise of a 95 % interval is that it holds the truth in 95 of 100 samples of
// its model. Each case draws samples from the model that the method states and counts.
func TestIntervalsCover(t *testing.T) {
	const level = 0.95
	cases := []struct {
		name    string
		samples int
		covers  func(random *rand.Rand) bool
	}{
		{"Student's mean of 5 normal values", 4000, func(random *rand.Rand) bool {
			return holds(MeanInterval(normals(random, 5), level), 0)
		}},
		{"geometric mean of 3 runs that vary by a factor", 4000, func(random *rand.Rand) bool {
			return holds(GeometricMeanInterval(factors(random, 3, 0.1), level), 1)
		}},
		{"Welch's difference of groups that vary unlike", 4000, func(random *rand.Rand) bool {
			x, y := normals(random, 6), normals(random, 12)
			for i := range y {
				y[i] *= 3
			}
			return holds(Welch(x, y).Interval(level), 0)
		}},
		{"the next value after 5", 4000, func(random *rand.Rand) bool {
			x := normals(random, 6)
			return holds(Next(x[:5], x[5]).Interval(level), 0)
		}},
		{"Clopper and Pearson's share of 2000", 4000, func(random *rand.Rand) bool {
			k := 0
			for range 2000 {
				if random.Float64() < 0.3 {
					k++
				}
			}
			return holds(ClopperPearson(k, 2000, level), 0.3)
		}},
		{"paired ratio of 3 trials with a common factor", 4000, func(random *rand.Rand) bool {
			a, b := factors(random, 3, 0.3), factors(random, 3, 0.05)
			for i := range b {
				b[i] *= 1.2 * a[i]
			}
			return holds(NewLogRatio(a, b).Interval(level), 1.2)
		}},
		{"order statistics around p95 of 1200 lognormal values", 1000, func(random *rand.Rand) bool {
			x := factors(random, 1200, 1)
			slices.Sort(x)
			in, _, ok := QuantileInterval(x, 0.95, level)
			return ok && holds(in, math.Exp(1.6448536269514722))
		}},
		{"order statistics around the median of 101 values", 2000, func(random *rand.Rand) bool {
			x := normals(random, 101)
			slices.Sort(x)
			in, _, ok := QuantileInterval(x, 0.5, level)
			return ok && holds(in, 0)
		}},
		{"Wilson's share of 60", 4000, func(random *rand.Rand) bool {
			k := 0
			for range 60 {
				if random.Float64() < 0.3 {
					k++
				}
			}
			return holds(Wilson(k, 60, level), 0.3)
		}},
		{"percentile bootstrap of the mean of 100 values", 1000, func(random *rand.Rand) bool {
			return holds(bootstrapMean(random).Percentile(normals(random, 100), level), 0)
		}},
		{"BCa of the mean of 100 skewed values", 1000, func(random *rand.Rand) bool {
			in, ok := bootstrapMean(random).BCa(factors(random, 100, 0.3), level)
			return ok && holds(in, math.Exp(0.045))
		}},
		{"hierarchical bootstrap of the mean of 8 trials that vary by 10 %", 1000, func(random *rand.Rand) bool {
			trials := make([][]float64, 8)
			for i, m := range factors(random, 8, 0.1) {
				trials[i] = factors(random, 15, 0.1)
				for j := range trials[i] {
					trials[i][j] *= m
				}
			}
			return holds(bootstrapMean(random).Hierarchical(trials, level), math.Exp(0.005+0.005))
		}},
		{"blocks of 20 of an autoregressive series of 400 with correlation 0.3", 1000, func(random *rand.Rand) bool {
			x := normals(random, 400)
			x[0] /= math.Sqrt(1 - 0.3*0.3)
			for i := 1; i < len(x); i++ {
				x[i] += 0.3 * x[i-1]
			}
			return holds(bootstrapMean(random).Blocks(x, 20, level), 0)
		}},
		{"Kaplan and Meier's share when 30 of 100 are given up", 2000, func(random *rand.Rand) bool {
			times, happened := make([]float64, 100), make([]bool, 100)
			for i := range times {
				event, given := random.ExpFloat64(), random.ExpFloat64()*7/3
				times[i], happened[i] = min(event, given), event <= given
			}
			in, ok := KaplanMeier(times, happened).Interval(0.7, level)
			return ok && holds(in, math.Exp(-0.7))
		}},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			covered := 0
			for range c.samples {
				if c.covers(random) {
					covered++
				}
			}
			share := float64(covered) / float64(c.samples)
			t.Logf("covers %.4f", share)
			if share < 0.93 || share > 0.97 {
				t.Errorf("covers %.4f of %d samples, expected 0.93 to 0.97", share, c.samples)
			}
		})
	}
}

// A test at 5 % finds what is not there in at most 5 of 100 samples.
func TestTestsKeepTheirLevel(t *testing.T) {
	const alpha = 0.05
	cases := []struct {
		name   string
		errors func(random *rand.Rand) bool
	}{
		{"equivalence of a ratio on the margin", func(random *rand.Rand) bool {
			a, b := factors(random, 5, 0.3), factors(random, 5, 0.02)
			for i := range b {
				b[i] *= 1.1 * a[i]
			}
			return NewLogRatio(a, b).EquivalenceP(0.1) <= alpha
		}},
		{"Mann-Whitney of equal groups", func(random *rand.Rand) bool {
			return MannWhitney(normals(random, 8), normals(random, 9)).P <= alpha
		}},
		{"paired permutation of symmetric differences", func(random *rand.Rand) bool {
			p, _ := PairedPermutation(normals(random, 9))
			return p <= alpha
		}},
		{"signed ranks of symmetric differences", func(random *rand.Rand) bool {
			return SignedRank(normals(random, 9)).P <= alpha
		}},
		{"Holm's family of four", func(random *rand.Rand) bool {
			p := make([]float64, 4)
			for i := range p {
				p[i] = OneSample(normals(random, 5)).P()
			}
			return slices.Min(Holm(p)) <= alpha
		}},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(i), 8))
			const samples = 3000
			wrong := 0
			for range samples {
				if c.errors(random) {
					wrong++
				}
			}
			share := float64(wrong) / samples
			if share < 0.03 || share > 0.06 {
				t.Errorf("wrong in %.4f of %d samples, expected 0.03 to 0.06", share, samples)
			}
		})
	}
}

// An effect of the minimum detectable size is found with the power that was asked for.
func TestMinimumDetectableIsDetected(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	effect := MinimumDetectable(5, 0.05, 0.8)
	const samples = 4000
	found := 0
	for range samples {
		d := normals(random, 5)
		for i := range d {
			d[i] += effect
		}
		if OneSample(d).P() <= 0.05 {
			found++
		}
	}
	near(t, "power", float64(found)/samples, 0.8, 0.02)
}

func holds(in Interval, truth float64) bool { return in.Low <= truth && truth <= in.High }

func normals(random *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	return x
}

// factors are lognormal with the median 1.
func factors(random *rand.Rand, n int, sigma float64) []float64 {
	x := normals(random, n)
	for i := range x {
		x[i] = math.Exp(sigma * x[i])
	}
	return x
}

func bootstrapMean(random *rand.Rand) Bootstrap[float64] {
	return Bootstrap[float64]{Statistic: Mean[float64], Resamples: 500, Source: rand.NewPCG(random.Uint64(), 0)}
}
