package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Bootstrap resamples observations of type T to see how a statistic of them varies.
// An observation that has several numbers, such as a pair, is one T. Each call draws
// from Source, so two calls differ unless the caller seeds it anew.
type Bootstrap[T any] struct {
	Statistic func(x []T) float64 // must not keep x
	Resamples int                 // 2000 or more for the ends of a 95 % interval
	Source    rand.Source
}

// Percentile is the interval between the (1−level)/2 quantiles of the statistic over
// resamples (Efron 1979). x is not empty and its values are independent.
func (b Bootstrap[T]) Percentile(x []T, level float64) Interval {
	return between(b.replicates(plain(x)), (1-level)/2)
}

// BCa is the bias-corrected and accelerated interval (Efron 1987), which allows for a
// statistic whose median and spread move with it. It reports false where the
// resamples all lie on one side of the statistic, as those of a maximum do. x has at
// least 2 values, which are independent; below some 20 it covers less than it says.
func (b Bootstrap[T]) BCa(x []T, level float64) (Interval, bool) {
	at := b.Statistic(x)
	replicates := b.replicates(plain(x))
	slices.Sort(replicates)
	var below float64 // ties are half below
	for _, r := range replicates {
		switch {
		case r < at:
			below++
		case r == at:
			below += 0.5
		}
	}
	z0 := distuv.UnitNormal.Quantile(below / float64(len(replicates)))
	if math.IsInf(z0, 0) {
		return Interval{}, false
	}
	a := acceleration(Jackknife(x, b.Statistic))
	end := func(p float64) float64 {
		z := z0 + distuv.UnitNormal.Quantile(p)
		return Quantile(replicates, distuv.UnitNormal.CDF(z0+z/(1-a*z)))
	}
	return Interval{end((1 - level) / 2), end(1 - (1-level)/2)}, true
}

// Blocks is the expanded percentile interval of a statistic of x in order of time, resampled in
// blocks of length values that may begin anywhere and go on at the start after the
// end (circular block bootstrap, Politis and Romano 1992). It keeps what values within
// a block have to do with each other, so they must be longer than memory lasts. x has at
// least two blocks.
func (b Bootstrap[T]) Blocks(x []T, length int, level float64) Interval {
	return between(b.replicates(func(random *rand.Rand, to []T) []T {
		for len(to) < len(x) {
			from := random.IntN(len(x))
			for i := 0; i < length && len(to) < len(x); i++ {
				to = append(to, x[(from+i)%len(x)])
			}
		}
		return to
	}), expanded(level, max(2, len(x)/length)))
}

// BlockLength is n^⅓, rounded up, the order of length at which the error of the block
// bootstrap is smallest (Hall, Horowitz and Jing 1995).
func BlockLength(n int) int { return int(math.Ceil(math.Cbrt(float64(n)) - 1e-9)) }

// Hierarchical is the expanded percentile interval of a statistic of the values of all
// trials, resampled as they came about: trials first, then as many values within each
// drawn one (Davison and Hinkley 1997, section 3.8). There are at least 2 trials, none
// empty; with fewer than 5 there are too few ways to draw them.
func (b Bootstrap[T]) Hierarchical(trials [][]T, level float64) Interval {
	return between(b.replicates(func(random *rand.Rand, to []T) []T {
		for range trials {
			trial := trials[random.IntN(len(trials))]
			for range trial {
				to = append(to, trial[random.IntN(len(trial))])
			}
		}
		return to
	}), expanded(level, len(trials)))
}

// plain draws as many values as there are.
func plain[T any](x []T) func(*rand.Rand, []T) []T {
	return func(random *rand.Rand, to []T) []T {
		for range x {
			to = append(to, x[random.IntN(len(x))])
		}
		return to
	}
}

// replicates are the statistics of resamples, each of which draw appends to an empty
// slice.
func (b Bootstrap[T]) replicates(draw func(*rand.Rand, []T) []T) []float64 {
	random := rand.New(b.Source)
	out := make([]float64, b.Resamples)
	var resample []T
	for i := range out {
		resample = draw(random, resample[:0])
		out[i] = b.Statistic(resample)
	}
	return out
}

// between is the interval that leaves the share alpha of replicates on either side.
func between(replicates []float64, alpha float64) Interval {
	slices.Sort(replicates)
	return Interval{Quantile(replicates, alpha), Quantile(replicates, 1-alpha)}
}

// expanded is the share to leave on either side when only n units were drawn: the
// resamples of n vary by √((n−1)/n) too little, and their quantiles are normal ones
// where Student's are due, so it is Φ(−√(n/(n−1))·t) (Hesterberg 2015, section 4.4).
func expanded(level float64, n int) float64 {
	t := studentQuantile(1-(1-level)/2, float64(n-1))
	return distuv.UnitNormal.CDF(-math.Sqrt(float64(n)/float64(n-1)) * t)
}

// Jackknife returns the statistic of x without each of its values in turn. x has at
// least 2 values.
func Jackknife[T any](x []T, statistic func([]T) float64) []float64 {
	out := make([]float64, len(x))
	rest := make([]T, 0, len(x))
	for i := range x {
		rest = append(append(rest[:0], x[:i]...), x[i+1:]...)
		out[i] = statistic(rest)
	}
	return out
}

// acceleration is Σ(m−j)³/(6(Σ(m−j)²)^1.5) over the jackknife values j with mean m.
func acceleration(jackknife []float64) float64 {
	m := Mean(jackknife)
	var squares, cubes float64
	for _, j := range jackknife {
		d := m - j
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 { // no value moves the statistic
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}
