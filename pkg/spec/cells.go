package spec

import (
	"fmt"
	"math/rand/v2"
	"path"
	"time"

	"bgbench/pkg/random"
)

// TrialSeed is the seed of trial k, which starts at 1.
func (p Profile) TrialSeed(trial int) int64 { return p.Seed + int64(trial) - 1 }

// Cells lists the cells in run order: trial by trial, so that a run cut short
// leaves whole trials, and inside a trial the arms in an order drawn by its seed,
// so that a drift of the machine does not always hit the same arm.
func (e Experiment) Cells() []Cell {
	var cells []Cell
	for trial := 1; trial <= e.Trials; trial++ {
		seed := e.Profile.TrialSeed(trial)
		for _, i := range rand.New(random.Stream(seed, "order of arms")).Perm(len(e.Arms)) {
			arm := e.Arms[i]
			cells = append(cells, Cell{
				Index:           len(cells) + 1,
				Arm:             arm.Name,
				Trial:           trial,
				Seed:            seed,
				Dir:             path.Join("cells", arm.Name, fmt.Sprintf("t%d", trial)),
				Inputs:          e.InputsOf(arm.Name, trial),
				EstimateSeconds: e.estimate(arm).Seconds(),
			})
		}
	}
	return cells
}

const (
	// virtualSpeed is how much faster than the wall clock the model runs, roughly.
	virtualSpeed = 1000
	// startup is what bringing a stack up and down takes on the wall clock.
	startup = 3 * time.Second
	// tokenTime is the time between two output tokens of one sequence of an 8B model
	// on one H100 at some thirty sequences a step. Only progress is guessed from it.
	tokenTime = 10 * time.Millisecond
)

// estimate guesses how long a cell takes.
func (e Experiment) estimate(a Arm) time.Duration {
	p := e.ProfileOf(a.Name)
	schedule := p.Batch.Lead.Std() + p.Interactive.Length()
	drain := min(p.batchTime(a)-schedule, p.Drain.Jobs.Std())
	length := schedule + max(drain, 0)
	if e.Target == TargetModel {
		return length / virtualSpeed
	}
	return startup + length
}

// Length is how long the schedule lasts.
func (in Interactive) Length() time.Duration {
	var cycle time.Duration
	for _, p := range in.Phases {
		cycle += p.Duration.Std()
	}
	return cycle * time.Duration(in.Cycles)
}

// batchTime guesses how long the batch work keeps the servers busy.
func (p Profile) batchTime(a Arm) time.Duration {
	slots := a.Engine.MaxNumSeqs * a.Engine.Replicas
	switch a.Dispatch {
	case DispatchNone:
		return 0
	case DispatchBacklog:
		if a.Backlog.Concurrency > 0 {
			slots = min(slots, a.Backlog.Concurrency)
		}
	case DispatchAsync:
		slots = min(slots, a.Async.Concurrency)
	default:
		slots = min(slots, a.Gateway.Concurrency.PerEndpoint)
	}
	requests := 0
	for _, job := range p.Batch.Jobs {
		requests += job.Requests
	}
	osl := p.BatchPrompt().OSL
	mean := osl.Mean
	if osl.Type == Uniform {
		mean = float64(osl.Min+osl.Max) / 2
	}
	return time.Duration(float64(requests) * mean / float64(slots) * float64(tokenTime))
}
