package load

import (
	"os"
	"path/filepath"
	"testing"

	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/spec"
)

// All arms of a trial in one process, as `bg-load cells` makes them: what a cell costs
// less than in BenchmarkCell is what it shares with the others.
func BenchmarkMatrix(b *testing.B) {
	e, err := spec.LoadExperiment("batch-gateway", []string{"target=model", "profile=default"})
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	trial := draw.Trial{Experiment: e.Name, Number: 1, Profile: e.Profile}
	if _, _, err := trial.Write(filepath.Join(dir, "inputs", "t1")); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	cpu := cpuTime()
	cells := 0
	for b.Loop() {
		if err := os.RemoveAll(filepath.Join(dir, "cells")); err != nil {
			b.Fatal(err)
		}
		m := Matrix{Dir: dir, Experiment: e, Trial: 1, Began: func(MatrixCell) Watch { cells++; return Watch{} }}
		if err := m.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuTime()-cpu).Seconds()/float64(cells), "cpu-s/cell")
}
