package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// compareWithReference holds the outputs of each cell against those of the cell of another
// run that has the same arm and trial, or where it has no such arm, of the first one of the
// trial that has outputs. A trial that the reference does not have is a warning, other inputs
// an error: other questions have other answers.
func (r *Results) compareWithReference(ctx context.Context, slots []*slot, path string) error {
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path) // results.json has no outputs, the cells beside it do
	}
	experiment, err := experimentIn(dir)
	if err != nil {
		return fmt.Errorf("reference %s: %w", path, err)
	}
	reference := Results{Experiment: experiment}
	others, err := reference.readCells(ctx, dir)
	if err != nil {
		return fmt.Errorf("reference %s: %w", path, err)
	}
	for _, s := range slots {
		if s.result == nil || len(s.outputs) == 0 {
			continue
		}
		other := s.counterpart(others)
		if other == nil {
			r.Warnings = append(r.Warnings, s.warning("its outputs are not compared: the reference %s has none of trial %d", path, s.trial))
			continue
		}
		if differs := otherInput(other.meta, s.meta); differs != "" {
			return fmt.Errorf("reference %s: trial %d: arm %s replayed other inputs than %s of the reference: %s",
				path, s.trial, s.arm.Name, other.arm.Name, differs)
		}
		o, differing := s.outputsAgainst(other)
		o.Run = filepath.ToSlash(dir)
		s.result.ReferenceOutputs = &o
		s.result.addCheck(o.check("outputs as in the reference", s.meta.Target, differing))
	}
	return nil
}

// counterpart is the cell of the same workload and arm, or else the first of the workload
// that has outputs.
func (s *slot) counterpart(others []*slot) *slot {
	var first *slot
	for _, other := range others {
		switch {
		case other.workload() != s.workload() || other.result == nil || len(other.outputs) == 0:
		case other.arm.Name == s.arm.Name:
			return other
		case first == nil:
			first = other
		}
	}
	return first
}
