package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bgbench/pkg/random"
	"bgbench/pkg/spec"
)

// Arrival is one request of the schedule.
type Arrival struct {
	Band Band
	Due  time.Duration // from schedule time 0, in [Band.Start, Band.End)
}

// Draw returns the arrivals of all phases in order of their due times: first those at
// once, then those of the arrival process. Each phase
// of each cycle takes its own stream, named by cycle and phase, so that a phase
// more or another rate leaves the other phases as they were.
func Draw(in spec.Interactive, seed int64) []Arrival {
	phases := map[string]spec.Phase{}
	for _, p := range in.Phases {
		phases[p.Name] = p
	}
	var all []Arrival
	for _, band := range Bands(in) {
		phase := phases[band.Phase]
		for range phase.AtOnce {
			all = append(all, Arrival{band, band.Start})
		}
		var next func() time.Duration
		switch rate := phase.Rate; {
		case rate == 0:
			continue
		case in.Arrival == spec.Constant:
			next = constant(rate)
		default:
			stream := random.Stream(seed, "arrivals", fmt.Sprint("cycle ", band.Cycle), band.Phase)
			next = poisson(rate, rand.New(stream))
		}
		for at := band.Start + next(); at < band.End; at = band.Start + next() {
			all = append(all, Arrival{band, at})
		}
	}
	return all
}

// constant returns the instants 0, 1/rate, 2/rate, … without a rounding error that
// grows.
func constant(rate float64) func() time.Duration {
	k := -1
	return func() time.Duration {
		k++
		return instant(float64(k) / rate)
	}
}

// poisson returns the instants of a Poisson process: the gaps are independent and
// exponential with mean 1/rate.
func poisson(rate float64, r *rand.Rand) func() time.Duration {
	at := 0.0
	return func() time.Duration {
		at += r.ExpFloat64() / rate
		return instant(at)
	}
}

// instant is seconds in whole nanoseconds. An instant beyond the range of a
// Duration is far after any phase.
func instant(seconds float64) time.Duration {
	ns := math.Round(seconds * float64(time.Second))
	if ns > math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return time.Duration(ns)
}
