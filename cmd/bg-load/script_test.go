package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/load"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bg-load":  main,
		"trial":    func() { check(writeTrial(os.Args[1], os.Args[2], os.Args[3:]...)) },
		"stack":    func() { check(writeStack(os.Args[1], os.Args[2], os.Args[3])) },
		"endpoint": func() { check(runAtEndpoint(os.Args[1], os.Args[2:])) },
		"killed":   func() { check(writeUntilKilled(os.Args[1])) },
		"rows":     func() { check(printRows(os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true})
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// smallProfile is the profile ci with one short cycle and jobs of eight lines, and keys over it.
func smallProfile(sets ...string) (spec.Profile, error) {
	p, err := spec.LoadProfile("ci", append([]string{"interactive.cycles=1", "interactive.warmupCycles=0"}, sets...))
	for i := range p.Batch.Jobs {
		p.Batch.Jobs[i].Requests = 8
	}
	return p, err
}

// writeTrial draws the inputs of trial 1 of an experiment into dir.
func writeTrial(experiment, dir string, sets ...string) error {
	p, err := smallProfile(sets...)
	if err != nil {
		return err
	}
	_, _, err = draw.Trial{Experiment: experiment, Number: 1, Profile: p}.Write(dir)
	return err
}

// writeStack writes the descriptor of an arm's stack: on target model, or on target
// local at an address where nothing listens.
func writeStack(experiment, arm, target string) error {
	s, err := deploy.Plan(deploy.Request{Profile: "ci", Arm: arm, Target: target, Trial: 1})
	if err != nil {
		return err
	}
	s.Experiment = experiment
	if target == spec.TargetLocal {
		gone := httptest.NewServer(nil)
		gone.Close()
		s.InferenceURL, s.BatchURL = gone.URL, gone.URL
	}
	return s.Write("stack.json")
}

// writeUntilKilled begins the cell of a run on the wall clock, which nobody can have
// again, and is killed when it has written more rows than one batch of the unfinished
// files has.
func writeUntilKilled(dir string) error {
	const rows = 10_000
	id := load.Identity{Experiment: "ci", Arm: "s2-ungated", Trial: 1}
	cell, err := load.CreateCell(dir, id, false)
	if err != nil {
		return err
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	meta := record.Metadata{SchemaVersion: 1, Experiment: id.Experiment, Arm: id.Arm, Trial: id.Trial, Clock: "wall", ScheduleStartedAt: start}
	if err := errors.Join(cell.Begin(meta), cell.Started(meta)); err != nil {
		return err
	}
	for i := range rows {
		done := start.Add(time.Duration(i) * time.Millisecond)
		err := errors.Join(
			cell.WriteRequests(record.Request{Experiment: id.Experiment, Arm: id.Arm, Trial: 1, Class: record.ClassInteractive, Status: record.StatusOK, DoneAt: &done}),
			cell.WriteJobs(record.Job{Experiment: id.Experiment, Arm: id.Arm, Trial: 1, Job: "A", ObservedAt: done}))
		if err != nil {
			return err
		}
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Kill()
}

// printRows prints the rows of files, or of the streams on standard input, as JSON.
func printRows(paths []string) error {
	if len(paths) == 0 {
		in := bufio.NewReader(os.Stdin)
		requests, err := record.NewReader[record.Request](in)
		if err != nil {
			return err
		}
		if err := printAll(requests); err != nil {
			return err
		}
		jobs, err := record.NewReader[record.Job](in)
		if err != nil {
			return err
		}
		return printAll(jobs)
	}
	requests, err := record.ReadFile[record.Request](paths[0] + "/requests.parquet")
	if err != nil {
		return err
	}
	if err := printAll(requests); err != nil {
		return err
	}
	jobs, err := record.ReadFile[record.Job](paths[0] + "/jobs.parquet")
	if err != nil {
		return err
	}
	return printAll(jobs)
}

func printAll[T record.Row](r *record.Reader[T]) error {
	defer r.Close()
	for row, err := range r.All() {
		if err != nil {
			return err
		}
		gaps := ""
		if request, ok := any(&row).(*record.Request); ok {
			// The lists are long: a hash of them is enough to compare.
			sum := sha256.Sum256(fmt.Append(nil, request.ChunkGapS, request.ChunkTokens))
			gaps = fmt.Sprintf(" %d chunks %x", len(request.ChunkTokens), sum[:6])
			request.ChunkGapS, request.ChunkTokens = nil, nil
		}
		text, err := json.Marshal(row)
		if err != nil {
			return err
		}
		fmt.Printf("%s%s\n", text, gaps)
	}
	return nil
}
