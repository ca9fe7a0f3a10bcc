package schedule

import (
	"math"
	"reflect"
	"testing"
	"time"

	"bgbench/pkg/spec"
)

func ptr(f float64) *float64 { return &f }

// over adds up neighbouring counts: windows in which a renewal process has forgotten
// where the last window ended.
func over(n []float64, seconds int) []float64 {
	sums := make([]float64, len(n)/seconds)
	for i := range sums {
		for _, v := range n[i*seconds : (i+1)*seconds] {
			sums[i] += v
		}
	}
	return sums
}

// For long windows the index of dispersion of a renewal process is the squared
// coefficient of variation of its gaps: 1/shape for gamma gaps, 1/3 for uniform ones.
// It scatters with sqrt(2/windows) of itself.
func TestGapsHaveTheirRateAndDispersion(t *testing.T) {
	const rate, window = 5.0, 20
	for name, c := range map[string]struct {
		phase      spec.Phase
		dispersion float64
	}{
		"gamma of shape 1 is poisson":     {spec.Phase{Arrival: spec.Gamma, Burstiness: 1}, 1},
		"gamma of shape 1/4 is burstier":  {spec.Phase{Arrival: spec.Gamma, Burstiness: 0.25}, 4},
		"gamma of shape 4 is more even":   {spec.Phase{Arrival: spec.Gamma, Burstiness: 4}, 0.25},
		"uniform gaps":                    {spec.Phase{Arrival: spec.UniformGaps}, 1.0 / 3},
		"poisson-fixed-n is nearly so":    {spec.Phase{Arrival: spec.PoissonFixedN}, 1},
		"a ramp that is level is poisson": {spec.Phase{Arrival: spec.Ramp, RampTo: ptr(rate)}, 1},
	} {
		c.phase.Rate = rate
		n := over(counts(t, c.phase, 42), window)
		mean, variance := meanAndVariance(n)
		if tolerance := 4 * math.Sqrt(rate*window*c.dispersion/float64(len(n))); math.Abs(mean-rate*window) > tolerance {
			t.Errorf("%s: found %g requests in %d s, more than %g off %g", name, mean, window, tolerance, rate*window)
		}
		// A window of 100 requests is a few per cent short of for ever.
		if tolerance := c.dispersion * (4*math.Sqrt(2/float64(len(n))) + 0.05); math.Abs(variance/mean-c.dispersion) > tolerance {
			t.Errorf("%s: the index of dispersion is %g, more than %g off %g", name, variance/mean, tolerance, c.dispersion)
		}
	}
}

func TestPoissonFixedNHasItsNumberAndEndsWithThePhase(t *testing.T) {
	in := spec.Interactive{Arrival: spec.PoissonFixedN, Cycles: 3, Phases: []spec.Phase{
		{Name: "a", Rate: 3.5, Duration: spec.Duration(9 * time.Second)},
		{Name: "none", Rate: 0.01, Duration: spec.Duration(time.Second)},
	}}
	all := draw(t, in, 1)
	if len(all) != 3*31 {
		t.Fatalf("found %d requests, expected int(3.5*9) in each of 3 cycles", len(all))
	}
	for cycle := range 3 {
		if last := all[31*cycle+30]; last.Due != last.Band.End-1 {
			t.Errorf("the last request of cycle %d is due at %s, expected the end of the phase at %s", cycle, last.Due, last.Band.End)
		}
	}
}

func TestARampOffersWhatLiesUnderIt(t *testing.T) {
	for name, c := range map[string]struct{ from, to float64 }{
		"up": {2, 10}, "up from nothing": {0, 8}, "down to nothing": {8, 0},
	} {
		n := counts(t, spec.Phase{Arrival: spec.Ramp, Rate: c.from, RampTo: &c.to}, 42)
		const parts = 4
		for i := range parts {
			var found float64
			part := n[i*len(n)/parts : (i+1)*len(n)/parts]
			for _, v := range part {
				found += v
			}
			middle := (float64(i) + 0.5) / parts
			want := (c.from + (c.to-c.from)*middle) * float64(len(part))
			if math.Abs(found-want) > 4*math.Sqrt(want) {
				t.Errorf("%s: found %g requests in quarter %d, expected about %g", name, found, i+1, want)
			}
		}
	}
}

func TestBurstsComeInTheirRhythm(t *testing.T) {
	in := spec.Interactive{Arrival: spec.Poisson, Cycles: 1, Phases: []spec.Phase{{
		Name: "b", Duration: spec.Duration(5 * time.Second), AtOnce: 1,
		Arrival: spec.Bursts, Size: 2, Every: spec.Duration(2 * time.Second),
	}}}
	var got []time.Duration
	for _, a := range draw(t, in, 1) {
		got = append(got, a.Due)
	}
	const s = time.Second
	if want := []time.Duration{0, 0, 0, 2 * s, 2 * s, 4 * s, 4 * s}; !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
}

func TestAClosedLoopHasItsRequestsAndNoDueTimes(t *testing.T) {
	in := spec.Interactive{Arrival: spec.Poisson, Cycles: 2, Phases: []spec.Phase{{
		Name: "c", Duration: spec.Duration(5 * time.Second), Arrival: spec.Closed, InFlight: 2, Requests: 3,
	}}}
	all := draw(t, in, 1)
	if len(all) != 6 {
		t.Fatalf("found %d requests, expected 3 in each of 2 cycles", len(all))
	}
	for i, a := range all {
		if a.InFlight != 2 || a.Due != a.Band.Start || a.Band.Cycle != i/3 {
			t.Errorf("found %+v", a)
		}
	}
}

func TestEveryProcessIsSeededAndStaysInItsPhase(t *testing.T) {
	for _, phase := range []spec.Phase{
		{Rate: 50}, {Arrival: spec.Gamma, Rate: 50, Burstiness: 0.3}, {Arrival: spec.UniformGaps, Rate: 50},
		{Arrival: spec.PoissonFixedN, Rate: 50}, {Arrival: spec.Ramp, Rate: 10, RampTo: ptr(100)},
	} {
		phase.Name, phase.Duration = "p", spec.Duration(10*time.Second)
		in := spec.Interactive{Arrival: spec.Poisson, Cycles: 2, Phases: []spec.Phase{phase}}
		all := draw(t, in, 7)
		if !reflect.DeepEqual(all, draw(t, in, 7)) || reflect.DeepEqual(all, draw(t, in, 8)) {
			t.Errorf("%s: the schedule does not follow its seed alone", phase.Arrival)
		}
		if len(all) < 600 || reflect.DeepEqual(all[0].Due, all[len(all)/2].Due-10*time.Second) {
			t.Errorf("%s: found %d arrivals, the first at %s", phase.Arrival, len(all), all[0].Due)
		}
		last := time.Duration(0)
		for _, a := range all {
			if a.Due < last || a.Due < a.Band.Start || a.Due >= a.Band.End {
				t.Fatalf("%s: arrival at %s after one at %s, in a phase from %s to %s", phase.Arrival, a.Due, last, a.Band.Start, a.Band.End)
			}
			last = a.Due
		}
	}
}
