package schedule

import (
	"math"
	"reflect"
	"testing"
	"time"

	"bgbench/pkg/spec"
)

func twoPhases(arrival string, rate float64, cycles int) spec.Interactive {
	return spec.Interactive{
		Arrival: arrival,
		Phases: []spec.Phase{
			{Name: "burst", Rate: rate, Duration: spec.Duration(10 * time.Second), Class: spec.ClassInteractive},
			{Name: "idle", Rate: 1, Duration: spec.Duration(5 * time.Second), Class: spec.ClassInteractive},
		},
		Cycles:       cycles,
		WarmupCycles: 1,
	}
}

func TestBandsLieEndToEnd(t *testing.T) {
	want := []Band{
		{"burst", spec.ClassInteractive, 0, true, 0, 10 * time.Second},
		{"idle", spec.ClassInteractive, 0, true, 10 * time.Second, 15 * time.Second},
		{"burst", spec.ClassInteractive, 1, false, 15 * time.Second, 25 * time.Second},
		{"idle", spec.ClassInteractive, 1, false, 25 * time.Second, 30 * time.Second},
	}
	if got := Bands(twoPhases(spec.Poisson, 1, 2)); !reflect.DeepEqual(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestArrivalsStayInsideTheirPhaseAndInOrder(t *testing.T) {
	for _, arrival := range []string{spec.Poisson, spec.Constant} {
		var last time.Duration
		all := draw(t, twoPhases(arrival, 100, 20), 1)
		if len(all) < 20*1000/2 {
			t.Fatalf("%s: only %d arrivals", arrival, len(all))
		}
		for i, a := range all {
			if a.Due < a.Band.Start || a.Due >= a.Band.End {
				t.Errorf("%s: arrival %d at %s lies outside of its phase %+v", arrival, i, a.Due, a.Band)
			}
			if a.Due < last {
				t.Errorf("%s: arrival %d at %s comes after one at %s", arrival, i, a.Due, last)
			}
			last = a.Due
		}
	}
}

func TestConstantArrivalsAreEvenlySpaced(t *testing.T) {
	for name, test := range map[string]struct {
		rate float64
		want []time.Duration
	}{
		"the first is due at once, none at the end": {0.5, []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second, 8 * time.Second}},
		"a rate that does not divide the phase":     {0.3, []time.Duration{0, 3333333333, 6666666667}},
	} {
		t.Run(name, func(t *testing.T) {
			in := twoPhases(spec.Constant, test.rate, 1)
			in.Phases = in.Phases[:1]
			var got []time.Duration
			for _, a := range draw(t, in, 1) {
				got = append(got, a.Due)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("found %v, want %v", got, test.want)
			}
		})
	}
}

func TestConstantArrivalsDoNotDrift(t *testing.T) {
	in := twoPhases(spec.Constant, 7, 1)
	in.Phases = []spec.Phase{{Name: "long", Rate: 7, Duration: spec.Duration(24 * time.Hour)}}
	all := draw(t, in, 1)
	if want := 7 * 86400; len(all) != want {
		t.Errorf("found %d arrivals, want %d", len(all), want)
	}
	if got, want := all[7*43200].Due, 12*time.Hour; got != want {
		t.Errorf("the arrival of noon is due at %s, want %s", got, want)
	}
}

func draw(t *testing.T, in spec.Interactive, seed int64) []Arrival {
	t.Helper()
	all, err := Draw(in, seed)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// counts returns the arrivals in windows of a second over one long phase.
func counts(t *testing.T, phase spec.Phase, seed int64) []float64 {
	t.Helper()
	const seconds = 20_000
	phase.Name, phase.Duration = "long", spec.Duration(seconds*time.Second)
	in := spec.Interactive{Arrival: spec.Constant, Phases: []spec.Phase{phase}, Cycles: 1}
	n := make([]float64, seconds)
	for _, a := range draw(t, in, seed) {
		n[a.Due/time.Second]++
	}
	return n
}

func meanAndVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x)-1)
}

// A Poisson process has as much variance as mean in every window: the index of
// dispersion is 1. For n windows it scatters with sqrt(2/n), the rate with
// sqrt(rate/n); four standard deviations pass for every seed worth having.
func TestPoissonArrivalsHaveTheirRateAndDispersion(t *testing.T) {
	for _, rate := range []float64{0.5, 3, 15} {
		n := counts(t, spec.Phase{Arrival: spec.Poisson, Rate: rate}, 42)
		mean, variance := meanAndVariance(n)
		if tolerance := 4 * math.Sqrt(rate/float64(len(n))); math.Abs(mean-rate) > tolerance {
			t.Errorf("rate %g: found %g requests a second, more than %g off", rate, mean, tolerance)
		}
		if tolerance := 4 * math.Sqrt(2/float64(len(n))); math.Abs(variance/mean-1) > tolerance {
			t.Errorf("rate %g: the index of dispersion is %g, more than %g off 1", rate, variance/mean, tolerance)
		}
	}
}

func TestConstantArrivalsHaveNoDispersion(t *testing.T) {
	mean, variance := meanAndVariance(counts(t, spec.Phase{Rate: 3}, 42))
	if mean != 3 || variance > 0.01 {
		t.Errorf("found %g requests a second with variance %g", mean, variance)
	}
}

func TestEachPhaseHasItsOwnStream(t *testing.T) {
	base := draw(t, twoPhases(spec.Poisson, 5, 3), 42)
	pick := func(all []Arrival, phase string, cycle int) []time.Duration {
		var due []time.Duration
		for _, a := range all {
			if a.Band.Phase == phase && a.Band.Cycle == cycle {
				due = append(due, a.Due-a.Band.Start)
			}
		}
		return due
	}
	if !reflect.DeepEqual(base, draw(t, twoPhases(spec.Poisson, 5, 3), 42)) {
		t.Error("the same seed gives two schedules")
	}
	if reflect.DeepEqual(base, draw(t, twoPhases(spec.Poisson, 5, 3), 43)) {
		t.Error("two seeds give the same schedule")
	}
	if reflect.DeepEqual(pick(base, "burst", 1), pick(base, "burst", 2)) {
		t.Error("two cycles have the same arrivals")
	}
	faster := draw(t, twoPhases(spec.Poisson, 50, 4), 42)
	for cycle := range 3 {
		if !reflect.DeepEqual(pick(base, "idle", cycle), pick(faster, "idle", cycle)) {
			t.Errorf("another burst rate moved the idle arrivals of cycle %d", cycle)
		}
	}
}

func TestRequestsAtOnceComeFirstAndBesideTheRate(t *testing.T) {
	for _, arrival := range []string{spec.Poisson, spec.Constant} {
		in := twoPhases(arrival, 3, 2)
		without := draw(t, in, 1)
		in.Phases[0].AtOnce = 32
		var atOnce int
		var rest []Arrival
		for _, a := range draw(t, in, 1) {
			if a.Band.Phase == "burst" && atOnce < 32*(a.Band.Cycle+1) {
				if atOnce++; a.Due != a.Band.Start {
					t.Errorf("%s: found one of the first 32 at %s, want %s", arrival, a.Due, a.Band.Start)
				}
				continue
			}
			rest = append(rest, a)
		}
		if atOnce != 64 || !reflect.DeepEqual(rest, without) {
			t.Errorf("%s: found %d at once and %d others, want 64 and the %d that there are without them", arrival, atOnce, len(rest), len(without))
		}
	}
}

func TestArrivalsHaveTheClassOfTheirPhase(t *testing.T) {
	in := twoPhases(spec.Poisson, 3, 2)
	in.Phases[1].Class = spec.ClassStandard
	for _, a := range draw(t, in, 1) {
		if want := map[string]string{"burst": spec.ClassInteractive, "idle": spec.ClassStandard}[a.Band.Phase]; a.Band.Class != want {
			t.Errorf("found class %s in phase %s, want %s", a.Band.Class, a.Band.Phase, want)
		}
	}
}

func TestPhaseWithoutRateIsEmpty(t *testing.T) {
	for _, arrival := range []string{spec.Poisson, spec.Constant} {
		for _, a := range draw(t, twoPhases(arrival, 0, 2), 1) {
			if a.Band.Phase == "burst" {
				t.Errorf("%s: found an arrival at %s in a phase of rate 0", arrival, a.Due)
			}
		}
	}
}

func TestTinyRateEndsTheDraw(t *testing.T) {
	if all := draw(t, twoPhases(spec.Poisson, 1e-300, 1), 1); len(all) > 20 {
		t.Errorf("found %d arrivals", len(all))
	}
}
