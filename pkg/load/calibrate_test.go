package load

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// steps is a ladder whose rungs have these throughputs and obey Little's law.
func steps(throughput ...float64) []Step {
	var all []Step
	for i, x := range throughput {
		n := 1 << i
		s := Step{InFlight: n, Completed: 100, Throughput: x, MeanE2ES: float64(n) / x, Little: 1}
		for k := range calibrationSlices {
			s.slices = append(s.slices, x*(1+0.01*float64(k%3-1)))
		}
		all = append(all, s)
	}
	return all
}

func TestThePlateauOfALadderIsTheSaturatingRate(t *testing.T) {
	s := Saturation{Steps: steps(2, 4, 8, 10, 10.2, 9.9)}
	s.conclude(true)
	if len(s.Faults) > 0 || math.Abs(s.RequestsPerS-10.02) > 0.1 {
		t.Errorf("found %g requests per second and faults %q", s.RequestsPerS, s.Faults)
	}
	if in := s.Interval; !(in.Low < s.RequestsPerS && s.RequestsPerS < in.High && in.High-in.Low < 0.5) {
		t.Errorf("found the interval %+v around %g", in, s.RequestsPerS)
	}
	// One request takes 0.5 s, so that 5 of them in flight would reach the plateau.
	if math.Abs(s.KneeInFlight-5) > 0.1 || !(s.KneeInterval.Low < s.KneeInFlight && s.KneeInFlight < s.KneeInterval.High) {
		t.Errorf("found the knee at %g (%+v)", s.KneeInFlight, s.KneeInterval)
	}
}

func TestALadderSaysWhyItIsNotToBeReliedOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]Step)
		flat   bool
		want   string
	}{
		"it ended on the slope":     {func([]Step) {}, false, "the throughput still grows at 32 requests in flight, where the ladder ended"},
		"the law does not hold":     {func(s []Step) { s[5].Little = 0.8 }, true, "with 32 in flight X·R is 0.80 of it: no steady state, longer rungs are needed"},
		"requests failed":           {func(s []Step) { s[4].Failed = 3 }, true, "with 16 in flight 3 of 103 requests failed"},
		"not below the plateau yet": {func(s []Step) { s[0].Little, s[0].Failed = 0.5, 9 }, true, ""},
	} {
		s := Saturation{Steps: steps(2, 4, 8, 10, 10.2, 9.9)}
		c.change(s.Steps)
		s.conclude(c.flat)
		if got := strings.Join(s.Faults, "; "); got != c.want {
			t.Errorf("%s: found %q, expected %q", name, got, c.want)
		}
	}
}

func TestARungIsJudgedByItsSecondHalf(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := &gathered{start: start}
	e2e := 0.5
	row := func(at float64, status string) record.Request {
		done := start.Add(time.Duration(at * float64(time.Second)))
		return record.Request{Status: status, DoneAt: &done, E2ES: &e2e}
	}
	var rows []record.Request
	for i := range 80 { // 4 a second over 20 s
		rows = append(rows, row(float64(i)/4, record.StatusOK))
	}
	rows = append(rows, row(3, record.StatusRateLimited), row(12, record.StatusRateLimited), row(21, record.StatusOK), record.Request{Status: record.StatusIncomplete})
	if err := g.WriteRequests(rows...); err != nil {
		t.Fatal(err)
	}
	s := g.step(2, 20*time.Second)
	if s.Completed != 40 || s.Failed != 1 || s.Throughput != 4 || s.MeanE2ES != 0.5 || s.Little != 1 {
		t.Errorf("found %+v", s)
	}
	if len(s.slices) != calibrationSlices || slices.Max(s.slices) != 4 || slices.Min(s.slices) != 4 || s.Interval.Low != 4 || s.Interval.High != 4 {
		t.Errorf("found slices %v and interval %+v", s.slices, s.Interval)
	}
}

func TestTheModelIsCalibratedByALadder(t *testing.T) {
	o := modelOptions(t, "ci", "s0-interactive-only", fewJobs)
	p, err := spec.LoadProfile("ci", nil)
	if err != nil {
		t.Fatal(err)
	}
	var climbed []int
	c := Calibration{
		Stack: o.Stack, StackJSON: o.StackJSON, Profile: p, Rung: 20 * time.Second, Most: 8,
		Progress: func(s Step) { climbed = append(climbed, s.InFlight) },
	}
	s, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(climbed, []int{1, 2, 4, 8}) || len(s.Steps) != 4 {
		t.Errorf("climbed %v", climbed)
	}
	for i, step := range s.Steps[1:] {
		if step.Throughput < 1.5*s.Steps[i].Throughput {
			t.Errorf("%d in flight bring %g requests per second after %g: far from saturation they nearly double", step.InFlight, step.Throughput, s.Steps[i].Throughput)
		}
	}
	if len(s.Faults) == 0 || !strings.Contains(s.Faults[0], "still grows at 8") {
		t.Errorf("faults %q, expected that the ladder was too short", s.Faults)
	}
}

func TestASweepMeasuresACellARateAndLeavesFinishedOnes(t *testing.T) {
	o := modelOptions(t, "ci", "s2-ungated", fewJobs)
	dir := t.TempDir()
	var began []string
	s := Sweep{
		Stack: o.Stack, StackJSON: o.StackJSON, Profile: o.Inputs.Manifest.Profile, Trial: 1, Rates: []float64{2, 0.5}, Duration: 5 * time.Second, Dir: dir,
		Began: func(_ float64, dir string, finished bool) {
			word := " measured"
			if finished {
				word = " finished"
			}
			began = append(began, dir+word)
		},
	}
	for range 2 {
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/rate-2/t1 measured", "/rate-0.5/t1 measured", "/rate-2/t1 finished", "/rate-0.5/t1 finished"}
	for i := range want {
		want[i] = dir + want[i]
	}
	if !slices.Equal(began, want) {
		t.Errorf("found %q, expected %q", began, want)
	}
	rows, err := record.ReadFile[record.Request](dir + "/rate-2/t1/requests.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	classes := map[string]int{}
	for row, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		classes[row.Class]++
	}
	if classes[record.ClassInteractive] < 5 || classes[record.ClassBatch] != 30 {
		t.Errorf("found rows %v, expected some of the rate and 30 of the jobs", classes)
	}
}
