package prompt

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"bgbench/pkg/spec"
)

// Moments are mean and standard deviation.
type Moments struct{ Mean, SD float64 }

// sampler draws lengths of one distribution.
type sampler struct {
	d   spec.Distribution
	rng *rand.Rand
	// mu and sigma are the moments of the logarithm of a log-normal.
	mu, sigma float64
	// other draws what gonum has.
	other interface{ Rand() float64 }
	// lengths are those of an empirical distribution.
	lengths []float64
}

func newSampler(d spec.Distribution, src rand.Source) (sampler, error) {
	s := sampler{d: d, rng: rand.New(src)}
	switch d.Type {
	case spec.Lognormal:
		// The log-normal that has arithmetic mean m and standard deviation s
		// (inference-perf, sample_from_distribution).
		m := d.Mean - float64(d.Shift)
		variance := math.Log1p(math.Pow(d.SD/m, 2))
		s.mu = math.Log(m) - variance/2
		s.sigma = math.Sqrt(variance)
	case spec.PoissonOf:
		s.other = distuv.Poisson{Lambda: d.Mean, Src: src}
	case spec.GammaOf:
		// Shape (m/s)² and rate m/s² have mean m and standard deviation s.
		s.other = distuv.Gamma{Alpha: math.Pow(d.Mean/d.SD, 2), Beta: d.Mean / (d.SD * d.SD), Src: src}
	case spec.Empirical:
		var err error
		if s.lengths, err = readLengths(d.File); err != nil {
			return sampler{}, err
		}
	}
	return s, nil
}

// requested returns the moments that are asked for before lengths are clipped and
// rounded.
func (s sampler) requested() Moments {
	switch s.d.Type {
	case spec.Uniform:
		n := float64(s.d.Max - s.d.Min + 1)
		return Moments{float64(s.d.Min+s.d.Max) / 2, math.Sqrt((n*n - 1) / 12)}
	case spec.PoissonOf:
		return Moments{s.d.Mean, math.Sqrt(s.d.Mean)}
	case spec.Empirical:
		mean, variance := stat.PopMeanVariance(s.lengths, nil)
		return Moments{mean, math.Sqrt(variance)}
	}
	return Moments{s.d.Mean, s.d.SD}
}

// next draws a length and says whether it had to be cut to [min, max].
func (s sampler) next() (tokens int, clipped bool) {
	switch s.d.Type {
	case spec.Fixed:
		return int(s.d.Mean), false
	case spec.Uniform:
		return s.d.Min + s.rng.IntN(s.d.Max-s.d.Min+1), false
	case spec.Normal:
		return s.clip(s.d.Mean + s.d.SD*s.rng.NormFloat64())
	case spec.PoissonOf, spec.GammaOf:
		return s.clip(s.other.Rand())
	case spec.Empirical:
		return s.clip(s.lengths[s.rng.IntN(len(s.lengths))])
	default:
		return s.clip(float64(s.d.Shift) + math.Exp(s.mu+s.sigma*s.rng.NormFloat64()))
	}
}

// clip cuts to the bounds first and rounds half to even after, as inference-perf
// does (numpy's clip and round).
func (s sampler) clip(x float64) (tokens int, clipped bool) {
	low, high := float64(s.d.Min), float64(s.d.Max)
	return int(math.RoundToEven(min(max(x, low), high))), x < low || x > high
}

// Tally sums up the lengths of one kind that were drawn.
type Tally struct {
	N               int
	Min, Max        int
	Clipped, Capped int
	mean, m2        float64 // Welford's running mean and sum of squared deviations
}

func (t *Tally) add(tokens int, clipped, capped bool) {
	if t.N == 0 || tokens < t.Min {
		t.Min = tokens
	}
	t.Max = max(t.Max, tokens)
	t.N++
	delta := float64(tokens) - t.mean
	t.mean += delta / float64(t.N)
	t.m2 += delta * (float64(tokens) - t.mean)
	if clipped {
		t.Clipped++
	}
	if capped {
		t.Capped++
	}
}

// Merge adds what another tally saw.
func (t *Tally) Merge(o Tally) {
	if o.N == 0 {
		return
	}
	if t.N == 0 {
		*t = o
		return
	}
	// Chan, Golub and LeVeque's update of mean and squared deviations.
	n := float64(t.N + o.N)
	delta := o.mean - t.mean
	t.mean += delta * float64(o.N) / n
	t.m2 += o.m2 + delta*delta*float64(t.N)*float64(o.N)/n
	t.Min, t.Max = min(t.Min, o.Min), max(t.Max, o.Max)
	t.N += o.N
	t.Clipped += o.Clipped
	t.Capped += o.Capped
}

// Realised returns the moments of the lengths that were drawn; the standard
// deviation is that of the population, as inference-perf's reports have it.
func (t Tally) Realised() Moments {
	if t.N == 0 {
		return Moments{}
	}
	return Moments{t.mean, math.Sqrt(t.m2 / float64(t.N))}
}

// ClippedShare is the share of lengths cut to the bounds of their distribution.
func (t Tally) ClippedShare() float64 { return share(t.Clipped, t.N) }

// CappedShare is the share of lengths shortened to fit the context.
func (t Tally) CappedShare() float64 { return share(t.Capped, t.N) }

func share(part, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(part) / float64(n)
}
