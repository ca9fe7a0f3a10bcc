package schedule

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"bgbench/pkg/spec"
)

// process returns the instants of a phase's arrival process, counted from the start of
// the phase and in order. It goes on beyond the end of the phase.
func process(arrival string, p spec.Phase, r *rand.Rand) func() time.Duration {
	switch {
	case arrival == spec.Bursts:
		return bursts(p.Size, p.Every.Std())
	case arrival == spec.Ramp:
		return ramp(p.Rate, *p.RampTo, p.Duration.Seconds(), r)
	case p.Rate == 0:
		return never
	}
	switch arrival {
	case spec.Constant:
		return constant(p.Rate)
	case spec.UniformGaps:
		return renewal(func() float64 { return 2 * r.Float64() / p.Rate })
	case spec.Gamma:
		gap := distuv.Gamma{Alpha: p.Burstiness, Beta: p.Burstiness * p.Rate, Src: r}
		return renewal(gap.Rand)
	case spec.PoissonFixedN:
		return fixedN(p.Rate, p.Duration.Std(), r)
	}
	return renewal(func() float64 { return r.ExpFloat64() / p.Rate })
}

// forever is an instant after any phase.
const forever = time.Duration(math.MaxInt64 / 2)

func never() time.Duration { return forever }

// constant returns the instants 0, 1/rate, 2/rate, … without a rounding error that
// grows.
func constant(rate float64) func() time.Duration {
	k := -1
	return func() time.Duration {
		k++
		return instant(float64(k) / rate)
	}
}

// renewal returns the instants between which lie independent gaps, in seconds; the
// first comes after a gap.
func renewal(gap func() float64) func() time.Duration {
	at := 0.0
	return func() time.Duration {
		at += gap()
		return instant(at)
	}
}

// bursts returns size times 0, size times every, size times 2 every, …
func bursts(size int, every time.Duration) func() time.Duration {
	k := -1
	return func() time.Duration {
		k++
		return time.Duration(k/size) * every
	}
}

// ramp returns the instants of a Poisson process whose rate goes in a line from r0 to
// r1 during length seconds: those of one with rate 1, taken through the inverse of the
// expected count Λ(t) = r0 t + (r1-r0) t²/(2 length).
func ramp(r0, r1, length float64, r *rand.Rand) func() time.Duration {
	half := (r1 - r0) / (2 * length)
	expected := 0.0
	return func() time.Duration {
		expected += r.ExpFloat64()
		if expected >= (r0+r1)/2*length {
			return forever // where the ramp is over, or would go down below 0
		}
		// The root that stays exact where half is near 0.
		return instant(2 * expected / (r0 + math.Sqrt(r0*r0+4*half*expected)))
	}
}

// fixedN returns what inference-perf sends at a load of type constant: int(rate x
// length) exponential gaps, stretched so that the last request falls on the end of the
// stage (loadgen, inference-perf 7de5ef2). Ours falls a nanosecond before it, into the
// phase.
func fixedN(rate float64, length time.Duration, r *rand.Rand) func() time.Duration {
	due := make([]time.Duration, int(rate*length.Seconds()))
	sums := make([]float64, len(due))
	sum := 0.0
	for i := range sums {
		sum += r.ExpFloat64()
		sums[i] = sum
	}
	for i := range due {
		due[i] = min(instant(sums[i]/sum*length.Seconds()), length-1)
	}
	return func() time.Duration {
		if len(due) == 0 {
			return forever
		}
		first := due[0]
		due = due[1:]
		return first
	}
}
