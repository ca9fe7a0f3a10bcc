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
	// InFlight is above 0 for a request of a closed loop that keeps so many in flight:
	// it is due when its turn has come, and Due is the start of the band.
	InFlight int
	// InputTokens and OutputTokens are the lengths that a trace gives, 0 elsewhere.
	InputTokens, OutputTokens int
}

// Draw returns the arrivals of all phases in order of their due times: first those at
// once, then those of the arrival process. Each phase
// of each cycle takes its own stream, named by cycle and phase, so that a phase
// more or another rate leaves the other phases as they were.
func Draw(in spec.Interactive, seed int64) ([]Arrival, error) {
	phases := map[string]spec.Phase{}
	traces := map[string][]traced{}
	for _, p := range in.Phases {
		phases[p.Name] = p
		if p.Trace != nil {
			trace, err := readTrace(*p.Trace, p.Rate)
			if err != nil {
				return nil, TraceError{fmt.Errorf("phase %s: %w", p.Name, err)}
			}
			traces[p.Name] = trace
		}
	}
	var all []Arrival
	for _, band := range Bands(in) {
		phase := phases[band.Phase]
		for range phase.AtOnce {
			all = append(all, Arrival{Band: band, Due: band.Start})
		}
		if phase.Trace != nil {
			replayed, err := replay(traces[band.Phase], band, phase)
			if err != nil {
				return nil, TraceError{err}
			}
			all = append(all, replayed...)
			continue
		}
		for range phase.Requests {
			all = append(all, Arrival{Band: band, Due: band.Start, InFlight: phase.InFlight})
		}
		stream := rand.New(random.Stream(seed, "arrivals", fmt.Sprint("cycle ", band.Cycle), band.Phase))
		next := process(in.ArrivalOf(phase), phase, stream)
		for at := band.Start + next(); at < band.End; at = band.Start + next() {
			all = append(all, Arrival{Band: band, Due: at})
		}
	}
	return all, nil
}

// instant is seconds in whole nanoseconds. An instant beyond the range of a
// Duration is far after any phase.
func instant(seconds float64) time.Duration {
	ns := math.Round(seconds * float64(time.Second))
	if ns > float64(forever) {
		return forever
	}
	return time.Duration(ns)
}
