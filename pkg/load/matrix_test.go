package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/inputs"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/sim"
	"bgbench/pkg/spec"
)

// smallMatrix is an experiment of one trial whose cells take some milliseconds.
func smallMatrix(t *testing.T, arms ...string) Matrix {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "experiment.yaml")
	text := fmt.Sprintf("name: unit\nquestion: does it run?\ntarget: model\ntrials: 1\nprofile: ci\narms: [%s]\n", strings.Join(arms, ", "))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	e, err := spec.LoadExperiment(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	fewJobs(&e.Profile)
	if _, _, err := (draw.Trial{Experiment: e.Name, Number: 1, Profile: e.Profile}).Write(filepath.Join(dir, "inputs", "t1")); err != nil {
		t.Fatal(err)
	}
	return Matrix{Dir: dir, Experiment: e}
}

func (m Matrix) path(arm, name string) string { return filepath.Join(m.Dir, "cells", arm, name) }

func TestCellsOfOneProcessHaveTheRowsOfAProcessEach(t *testing.T) {
	arms := []string{"s0-interactive-only", "s1-no-gateway", "s2-ungated", "s4-flow-control-aimd", "s5-async", "h3-holdback-evict"}
	m := smallMatrix(t, arms...)
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, arm := range arms {
		// On its own the cell is the first of its process: nothing is warm.
		alone := Matrix{Dir: t.TempDir(), Experiment: m.Experiment, Arms: []string{arm}}
		if err := os.CopyFS(filepath.Join(alone.Dir, "inputs"), os.DirFS(filepath.Join(m.Dir, "inputs"))); err != nil {
			t.Fatal(err)
		}
		planned, err := alone.plan()
		if err != nil || len(planned) != 1 {
			t.Fatalf("found %d cells, %v", len(planned), err)
		}
		trial, err := openTrial(alone.Dir, "inputs/t1")
		if err != nil {
			t.Fatal(err)
		}
		trial.prompts = nil // and nothing is kept
		if err := alone.run(t.Context(), planned[0], &trial); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"requests.parquet", "jobs.parquet", "metrics.parquet", "stack.json"} {
			if !bytes.Equal(read(t, m.path(arm, "t1/"+name)), read(t, alone.path(arm, "t1/"+name))) {
				t.Errorf("arm %s: %s is another than in a process of its own", arm, name)
			}
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestACellThatFailsCostsNoOther(t *testing.T) {
	m := smallMatrix(t, "s0-interactive-only", "s2-ungated", "s6-low-concurrency")
	taken, err := beginWorkFolder(m.path("s2-ungated", "t1"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.pid.Close()
	err = m.Run(t.Context())
	want := fmt.Sprintf("arm s2-ungated, trial 1: %s is being written by process %d", taken.path, os.Getpid())
	if err == nil || err.Error() != want {
		t.Errorf("found %v, want %s", err, want)
	}
	for arm, made := range map[string]bool{"s0-interactive-only": true, "s2-ungated": false, "s6-low-concurrency": true} {
		if _, err := os.Stat(m.path(arm, "t1/"+MetadataFile)); (err == nil) != made {
			t.Errorf("arm %s: made: %t, want %t", arm, err == nil, made)
		}
	}
}

func TestAnInterruptLeavesWholeCellsAndGoesOnLater(t *testing.T) {
	m := smallMatrix(t, "s0-interactive-only", "s2-ungated", "s6-low-concurrency")
	ctx, interrupt := context.WithCancel(t.Context())
	var began []string
	m.Began = func(c MatrixCell) Watch {
		began = append(began, c.Arm)
		if len(began) == 2 {
			interrupt()
		}
		return Watch{}
	}
	if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, want that it was interrupted", err)
	}
	if len(began) != 2 {
		t.Fatalf("found %v begun, want nothing after the interrupt", began)
	}
	if _, err := os.Stat(m.path(began[0], "t1/"+MetadataFile)); err != nil {
		t.Errorf("the cell before the interrupt: %v", err)
	}
	if _, err := os.Stat(m.path(began[1], "t1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cell that was cut has its name: %v", err)
	}
	cut := began[1]
	began, m.Began = nil, func(c MatrixCell) Watch {
		return Watch{Kept: func(string) { began = append(began, c.Arm) }}
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(began) != 1 || began[0] != cut {
		t.Errorf("found %v set aside, want %s", began, cut)
	}
	for _, name := range []string{"t1/" + MetadataFile, "t1.cut/" + MetadataFile, "t1.cut/requests.parquet"} {
		if _, err := os.Stat(m.path(cut, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatStandsInTheWayOfACellIsKept(t *testing.T) {
	m := smallMatrix(t, "s0-interactive-only")
	notes := m.path("s0-interactive-only", "t1/notes.txt")
	if err := os.MkdirAll(filepath.Dir(notes), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(notes, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"t1/" + MetadataFile, "t1.cut/notes.txt"} {
		if _, err := os.Stat(m.path("s0-interactive-only", path)); err != nil {
			t.Error(err)
		}
	}
}

func TestACellThatAnotherProcessMadeIsNotMadeAgain(t *testing.T) {
	m := smallMatrix(t, "s0-interactive-only", "s2-ungated")
	var made []string
	m.Began = func(c MatrixCell) Watch {
		made = append(made, c.Arm)
		other := m
		other.Began = nil
		other.Arms = []string{"s0-interactive-only", "s2-ungated"}
		other.Arms = slices.DeleteFunc(other.Arms, func(arm string) bool { return arm == c.Arm })
		if err := other.Run(t.Context()); err != nil {
			t.Error(err)
		}
		return Watch{}
	}
	if err := m.Run(t.Context()); err != nil || len(made) != 1 {
		t.Errorf("made %v, %v, want one cell made here and the other by the other process", made, err)
	}
}

func TestInputsThatCannotBeReadCostNoOtherTrial(t *testing.T) {
	m := smallMatrix(t, "s0-interactive-only")
	m.Experiment.Trials = 2
	err := m.Run(t.Context())
	if usage := (cli.UsageError{}); !errors.As(err, &usage) {
		t.Errorf("found %v, want an error of usage: there are no inputs of trial 2", err)
	}
	if _, err := os.Stat(m.path("s0-interactive-only", "t1/"+MetadataFile)); err != nil {
		t.Error(err)
	}
}

func TestACellOlderThanItsInputsIsMadeAgain(t *testing.T) {
	m := smallMatrix(t, "s0-interactive-only")
	count := 0
	m.Began = func(MatrixCell) Watch { count++; return Watch{} }
	manifest := filepath.Join(m.Dir, "inputs", "t1", inputs.ManifestName)
	for _, step := range []struct {
		age  time.Duration // of the inputs
		want int
	}{{time.Hour, 1}, {time.Hour, 1}, {-time.Hour, 2}} {
		at := time.Now().Add(-step.age)
		if err := os.Chtimes(manifest, at, at); err != nil {
			t.Fatal(err)
		}
		if err := m.Run(t.Context()); err != nil || count != step.want {
			t.Fatalf("found %d cells made, %v, want %d", count, err, step.want)
		}
	}
}

func TestArmsOfOneKindReadAJobOnce(t *testing.T) {
	m := smallMatrix(t, "s0-interactive-only", "s2-ungated", "s5-async", "s1-no-gateway")
	set, err := inputs.Open(filepath.Join(m.Dir, "inputs", "t1"))
	if err != nil {
		t.Fatal(err)
	}
	trial := trialInputs{set: set, prompts: new(sim.Prompts)}
	var works []Work
	for _, name := range []string{"s2-ungated", "s5-async", "s1-no-gateway"} {
		arm, _ := m.Experiment.Arm(name)
		work, err := trial.work(arm)
		if err != nil {
			t.Fatal(err)
		}
		works = append(works, work)
	}
	if works[0].jobs[0] != works[1].jobs[0] {
		t.Error("the lines of a job were read twice")
	}
	if len(works[2].backlog) == 0 || works[2].jobs != nil {
		t.Errorf("found %d lines and %d jobs in the backlog's arm", len(works[2].backlog), len(works[2].jobs))
	}
}
