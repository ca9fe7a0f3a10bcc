package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/spec"
)

// Sweep measures a stack at one rate after the other, each in a cell of its own, so
// that throughput and latency can be drawn over the rate.
type Sweep struct {
	Stack      deploy.Stack
	StackJSON  json.RawMessage
	Profile    spec.Profile // its prompts, arrival process and batch jobs
	Trial      int
	Rates      []float64
	Duration   time.Duration // of the measurement; a warm-up as long comes before it
	Dir        string        // a folder a rate
	Force      bool          // measure finished cells again
	Connection Connection
	Versions   map[string]string
	// Began is told of each cell, and whether it is finished already; may be nil.
	Began func(rate float64, dir string, finished bool)
}

// CellDir is the folder of a rate's cell.
func (s Sweep) CellDir(rate float64) string {
	return filepath.Join(s.Dir, "rate-"+strconv.FormatFloat(rate, 'f', -1, 64), fmt.Sprintf("t%d", s.Trial))
}

// sweepPhase is the name of a sweep's only phase.
const sweepPhase = "steady"

// Run measures the cells that are not finished.
func (s Sweep) Run(ctx context.Context) error {
	for _, rate := range s.Rates {
		if err := s.cell(ctx, rate); err != nil {
			return fmt.Errorf("rate %g: %w", rate, err)
		}
	}
	return nil
}

func (s Sweep) cell(ctx context.Context, rate float64) error {
	set, clean, err := drawInputs(s.Stack, s.profile(rate), s.Trial)
	if err != nil {
		return err
	}
	defer clean()
	id, err := IdentityOf(s.Stack, set)
	if err != nil {
		return err
	}
	dir := s.CellDir(rate)
	cell, err := CreateCell(dir, id, s.Force)
	var occupied *OccupiedError
	finished := errors.As(err, &occupied) && occupied.Same
	if err != nil && !finished {
		return err
	}
	if s.Began != nil {
		s.Began(rate, dir, finished)
	}
	if finished {
		return nil
	}
	o := Options{
		Stack: s.Stack, StackJSON: s.StackJSON, Inputs: set, Output: cell,
		Connection: s.Connection, Versions: s.Versions,
	}
	if o.Work, err = ReadWork(set, s.Stack.Arm); err != nil {
		return err
	}
	return Run(ctx, o)
}

// profile is the profile of one rate: one phase, first as a warm-up and then measured.
func (s Sweep) profile(rate float64) spec.Profile {
	p := s.Profile
	phase := spec.Phase{Name: sweepPhase, Rate: rate, Duration: spec.Duration(s.Duration), Class: spec.ClassInteractive}
	p.Interactive.Phases = []spec.Phase{phase}
	p.Interactive.Cycles, p.Interactive.WarmupCycles = 2, 1
	return p
}
