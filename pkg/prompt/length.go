package prompt

import (
	"math"
	"math/rand/v2"

	"bgbench/pkg/spec"
)

// Moments are mean and standard deviation.
type Moments struct{ Mean, SD float64 }

// Requested returns the moments that d asks for before it is clipped and rounded.
func Requested(d spec.Distribution) Moments {
	switch d.Type {
	case spec.Uniform:
		n := float64(d.Max - d.Min + 1)
		return Moments{float64(d.Min+d.Max) / 2, math.Sqrt((n*n - 1) / 12)}
	default:
		return Moments{d.Mean, d.SD}
	}
}

// sampler draws lengths of one distribution.
type sampler struct {
	d   spec.Distribution
	rng *rand.Rand
	// mu and sigma are the moments of the logarithm of a log-normal.
	mu, sigma float64
}

func newSampler(d spec.Distribution, src rand.Source) sampler {
	s := sampler{d: d, rng: rand.New(src)}
	if d.Type == spec.Lognormal {
		// The log-normal that has arithmetic mean m and standard deviation s
		// (inference-perf, sample_from_distribution).
		variance := math.Log1p(math.Pow(d.SD/d.Mean, 2))
		s.mu = math.Log(d.Mean) - variance/2
		s.sigma = math.Sqrt(variance)
	}
	return s
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
	default:
		return s.clip(math.Exp(s.mu + s.sigma*s.rng.NormFloat64()))
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
