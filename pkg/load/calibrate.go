package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
	"bgbench/pkg/stats"
)

// Calibration finds the rate at which a stack is saturated by the requests of a
// profile. It climbs a ladder of closed loops, each with twice the requests in flight of
// the one before, until the throughput does not grow any more: an open loop would have
// to guess the rate, and above saturation its queue measures how long it ran.
type Calibration struct {
	Stack      deploy.Stack
	StackJSON  json.RawMessage
	Profile    spec.Profile // its prompts; its batch jobs stay away
	Rung       time.Duration
	Most       int // requests in flight at which the ladder ends
	Connection Connection
	Versions   map[string]string
	Progress   func(Step) // may be nil
}

// Step is one rung of the ladder. Its figures are of the requests that ended in the
// second half of the rung: the first is for the loop to come to rest.
type Step struct {
	InFlight   int            `json:"in_flight"`
	Completed  int            `json:"completed"`
	Failed     int            `json:"failed"`
	Throughput float64        `json:"requests_per_s"`
	Interval   stats.Interval `json:"interval"`     // of the throughput, 95 %
	MeanE2ES   float64        `json:"mean_e2e_s"`   // R
	Little     float64        `json:"little_ratio"` // X R / N, which is 1 in a steady state

	slices []float64 // throughput in each slice of the window
}

// Saturation is what a ladder comes to.
type Saturation struct {
	Steps []Step `json:"steps"`
	// RequestsPerS is the throughput of the plateau: the rungs within a twentieth of
	// the best one, slice by slice.
	RequestsPerS float64        `json:"requests_per_s"`
	Interval     stats.Interval `json:"interval"` // 95 %
	// KneeInFlight is where the line of a stack without queues, N/R of the first rung,
	// meets the plateau: the asymptotic bounds of operational analysis (Denning and
	// Buzen, The Operational Analysis of Queueing Network Models, 1978).
	KneeInFlight float64        `json:"knee_in_flight"`
	KneeInterval stats.Interval `json:"knee_interval"`
	Faults       []string       `json:"faults"`
}

const (
	calibrationLevel = 0.95
	// calibrationSlices of the window are long enough to hardly depend on each other,
	// and give Student's t 9 degrees of freedom.
	calibrationSlices = 10
	// plateauShare: a rung that brings less than a twentieth more than the one before
	// has left the slope, on which it would have brought twice as much.
	plateauShare = 0.05
	// littleShare is how far X R may lie from N: more, and the rung was not in a steady
	// state, so that its throughput is none of that many requests in flight.
	littleShare = 0.1
)

// Run climbs the ladder.
func (c Calibration) Run(ctx context.Context) (Saturation, error) {
	var s Saturation
	flat := 0
	for n := 1; n <= c.Most && flat < 2; n *= 2 {
		step, err := c.step(ctx, n, s.Steps)
		if err != nil {
			return s, err
		}
		if c.Progress != nil {
			c.Progress(step)
		}
		if k := len(s.Steps); k > 0 && step.Throughput < (1+plateauShare)*s.best() {
			flat++
		} else {
			flat = 0
		}
		s.Steps = append(s.Steps, step)
		if step.Completed == 0 {
			s.Faults = append(s.Faults, fmt.Sprintf("no request ended ok with %d in flight", n))
			return s, nil
		}
	}
	s.conclude(flat == 2)
	return s, nil
}

func (s *Saturation) best() float64 {
	best := 0.0
	for _, step := range s.Steps {
		best = max(best, step.Throughput)
	}
	return best
}

// conclude draws the plateau and the knee.
func (s *Saturation) conclude(flat bool) {
	if !flat {
		s.Faults = append(s.Faults, fmt.Sprintf("the throughput still grows at %d requests in flight, where the ladder ended", s.Steps[len(s.Steps)-1].InFlight))
	}
	var slices []float64
	for _, step := range s.Steps {
		if step.Throughput < (1-plateauShare)*s.best() {
			continue
		}
		slices = append(slices, step.slices...)
		if math.Abs(step.Little-1) > littleShare {
			s.Faults = append(s.Faults, fmt.Sprintf("with %d in flight X·R is %.2f of it: no steady state, longer rungs are needed", step.InFlight, step.Little))
		}
		if step.Failed > 0 {
			s.Faults = append(s.Faults, fmt.Sprintf("with %d in flight %d of %d requests failed", step.InFlight, step.Failed, step.Failed+step.Completed))
		}
	}
	s.RequestsPerS = stats.Mean(slices)
	s.Interval = stats.MeanInterval(slices, calibrationLevel)
	alone := s.Steps[0].MeanE2ES
	s.KneeInFlight = s.RequestsPerS * alone
	s.KneeInterval = stats.Interval{Low: s.Interval.Low * alone, High: s.Interval.High * alone}
}

// step runs one rung. A loop that used its requests up runs again with twice as many.
func (c Calibration) step(ctx context.Context, inFlight int, before []Step) (Step, error) {
	// Twice what the rung before did is the most that the next one can do.
	requests := max(16*inFlight, 200)
	if len(before) > 0 {
		last := before[len(before)-1]
		requests = 2*inFlight + int(2.5*last.Throughput*c.Rung.Seconds())
	}
	for {
		out := &gathered{}
		ranOut, err := c.loop(ctx, inFlight, requests, out)
		if err != nil {
			return Step{}, err
		}
		if !ranOut {
			return out.step(inFlight, c.Rung), nil
		}
		requests *= 4
	}
}

// loop runs a closed loop and reports whether it ran out of requests.
func (c Calibration) loop(ctx context.Context, inFlight, requests int, out *gathered) (ranOut bool, err error) {
	p := c.Profile
	p.Batch.Jobs = nil
	p.Interactive.Cycles, p.Interactive.WarmupCycles = 1, 0
	p.Interactive.Phases = []spec.Phase{{
		Name: "rung", Class: spec.ClassInteractive, Duration: spec.Duration(c.Rung),
		Arrival: spec.Closed, InFlight: inFlight, Requests: requests,
	}}
	p.Drain.Interactive = 0 // what is in flight at the end is no part of the rung
	set, clean, err := drawInputs(c.Stack, p, 1)
	if err != nil {
		return false, err
	}
	defer clean()
	err = Run(ctx, Options{
		Stack: c.Stack, StackJSON: c.StackJSON, Inputs: set, Output: out, Connection: c.Connection, Versions: c.Versions,
	})
	return strings.Contains(strings.Join(out.meta.Warnings, "\n"), closedLoopRanOut), err
}

// drawInputs draws the inputs of a trial into a folder that clean removes.
func drawInputs(stack deploy.Stack, p spec.Profile, trial int) (set *inputs.Set, clean func(), err error) {
	dir, err := os.MkdirTemp("", "bg-load-inputs-")
	if err != nil {
		return nil, nil, err
	}
	clean = func() { os.RemoveAll(dir) }
	t := draw.Trial{Experiment: stack.Experiment, Point: stack.Point, Profile: p, Number: trial}
	if t.Experiment == "" {
		t.Experiment = p.Name
	}
	path := filepath.Join(dir, fmt.Sprintf("t%d", trial))
	if _, _, err = t.Write(path); err == nil {
		set, err = inputs.Open(path)
	}
	if err != nil {
		clean()
		return nil, nil, err
	}
	return set, clean, nil
}

// gathered is an Output that keeps what a rung is judged by.
type gathered struct {
	meta  record.Metadata
	start time.Time
	ends  []ended
	fails []time.Time
}

type ended struct {
	at  time.Time
	e2e float64
}

// Begin implements Output.
func (g *gathered) Begin(record.Metadata) error { return nil }

// Started implements Output.
func (g *gathered) Started(m record.Metadata) error {
	g.start = m.ScheduleStartedAt
	return nil
}

// WriteRequests implements Output.
func (g *gathered) WriteRequests(rows ...record.Request) error {
	for _, row := range rows {
		switch {
		case row.DoneAt == nil: // in flight when the rung was over
		case row.Status == record.StatusOK && row.E2ES != nil:
			g.ends = append(g.ends, ended{*row.DoneAt, *row.E2ES})
		default:
			g.fails = append(g.fails, *row.DoneAt)
		}
	}
	return nil
}

// WriteJobs implements Output.
func (g *gathered) WriteJobs(...record.Job) error { return nil }

// Finish implements Output.
func (g *gathered) Finish(m record.Metadata) error {
	g.meta = m
	return nil
}

// Abandon implements Output.
func (g *gathered) Abandon() error { return nil }

// step computes the figures of a rung from the second half of it.
func (g *gathered) step(inFlight int, rung time.Duration) Step {
	s := Step{InFlight: inFlight, slices: make([]float64, calibrationSlices)}
	window := rung / 2
	slice := window / calibrationSlices
	var e2e float64
	for _, end := range g.ends {
		at := end.at.Sub(g.start) - window
		if at < 0 || at >= window {
			continue
		}
		s.Completed++
		e2e += end.e2e
		s.slices[min(int(at/slice), calibrationSlices-1)] += 1 / slice.Seconds()
	}
	for _, at := range g.fails {
		if since := at.Sub(g.start); since >= window && since < rung {
			s.Failed++
		}
	}
	s.Throughput = float64(s.Completed) / window.Seconds()
	s.Interval = stats.MeanInterval(s.slices, calibrationLevel)
	if s.Completed > 0 {
		s.MeanE2ES = e2e / float64(s.Completed)
	}
	s.Little = s.Throughput * s.MeanE2ES / float64(inFlight)
	return s
}
