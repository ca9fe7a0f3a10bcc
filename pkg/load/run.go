package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// Options is a run of a cell: a stack, the inputs to replay on it, and where what
// was seen goes.
type Options struct {
	Stack     deploy.Stack
	StackJSON json.RawMessage // the descriptor as it was, for the metadata
	Inputs    *inputs.Set
	Work      Work
	Output    Output
	// Shard is the part of the cell to play; target model plays whole ones.
	Shard Shard
	// Connection is how to reach a stack that runs; target model has none.
	Connection Connection
	// CancelJobs ends the jobs of a run that is interrupted.
	CancelJobs bool
	// Prompts keeps what chats become for the next run of the same inputs on target
	// model; nil for none.
	Prompts *sim.Prompts
	// ModelSamples is the file for the metrics of target model; empty for none.
	ModelSamples string
	Versions     map[string]string
	// Notes were made before the run, for the warnings of its metadata.
	Notes    []string
	Progress func(Progress) // may be nil
	// Verdict gets the generator's verdict on itself at the end; may be nil.
	Verdict func(record.LoadHealth)
}

// IdentityOf is the cell that inputs replayed on a stack make. They must be of one
// experiment and one model; a stack of a lone arm takes the experiment of the inputs.
func IdentityOf(s deploy.Stack, set *inputs.Set) (Identity, error) {
	m := set.Manifest
	if s.Experiment != "" && s.Experiment != m.Experiment {
		return Identity{}, fmt.Errorf("the stack is of experiment %q, the inputs are of %q", s.Experiment, m.Experiment)
	}
	if s.Experiment != "" && s.Point != m.Point {
		return Identity{}, fmt.Errorf("the stack is of point %q of the sweep, the inputs are of %q", s.Point, m.Point)
	}
	if err := Serves(s, m.Profile); err != nil {
		return Identity{}, err
	}
	return Identity{Experiment: m.Experiment, Arm: s.Arm.Name, Trial: m.Trial, Seed: m.Seed}, nil
}

// PlannedFor refuses inputs that are of the experiment of a stack, but of another trial or
// drawn from another profile than those that it was planned for. What such a cell measured
// could be compared with no other one.
func PlannedFor(s deploy.Stack, set *inputs.Set) error {
	m := set.Manifest
	if s.Trial != 0 && s.Trial != m.Trial {
		return cli.WithHint(fmt.Errorf("the stack is of trial %d, the inputs are of trial %d", s.Trial, m.Trial),
			"give the inputs of trial %d, or bring the stack up with --trial %d", s.Trial, m.Trial)
	}
	if s.ProfileSHA256 == "" {
		return nil
	}
	digest, err := m.Profile.Digest()
	if err != nil {
		return err
	}
	if digest != s.ProfileSHA256 {
		return cli.WithHint(fmt.Errorf("the stack is of a profile with SHA-256 %.12s…, the inputs were drawn from profile %s with %.12s…", s.ProfileSHA256, m.Profile.Name, digest),
			"draw the inputs from the same experiment: bg-gen inputs --experiment")
	}
	return nil
}

// Serves says what a stack lacks to serve the prompts of a profile.
func Serves(s deploy.Stack, p spec.Profile) error {
	switch {
	case s.Model != p.Model:
		return fmt.Errorf("the stack serves model %q, expected %q, that of profile %s", s.Model, p.Model, p.Name)
	case s.MaxModelLen < p.MaxModelLen:
		return fmt.Errorf("the stack serves contexts of %d tokens, expected %d, those of profile %s", s.MaxModelLen, p.MaxModelLen, p.Name)
	}
	return nil
}

// target is what a replay runs on.
type target struct {
	k         *kernel.Kernel
	transport Transport
	jobs      JobService
	warnings  func() []string            // what the target says of itself after the run; may be nil
	dialled   func() int64               // connections opened; nil on the virtual clock
	clock     func() *record.ClockOffset // measures the clock of the stack; nil without shards
	close     func() error
}

// Run replays a cell. When ctx ends first, what was measured is stored as an
// interrupted run and an error that wraps ctx.Err() is returned.
func Run(ctx context.Context, o Options) error {
	id, err := IdentityOf(o.Stack, o.Inputs)
	if err != nil {
		return err
	}
	t, err := o.open(ctx, id)
	if err != nil {
		return err
	}
	if len(o.Work.jobs) > 0 && t.jobs == nil {
		return errors.Join(fmt.Errorf("arm %s: dispatch %s needs a batch gateway, the stack has none", o.Stack.Arm.Name, o.Stack.Arm.Dispatch), t.close())
	}
	meta := o.metadata(id, t.k)
	if t.clock != nil {
		meta.Shard = &record.Shard{Index: o.Shard.Index, Count: o.Shard.Count, StartAt: o.Shard.StartAt, Clock: t.clock()}
	}
	if err := o.Output.Begin(meta); err != nil {
		return errors.Join(err, t.close())
	}
	recorder := NewRecorder(o.Output)
	work := o.Work
	if !o.Shard.batch() {
		work = Work{}
	}
	var r *Replay
	r = NewReplay(t.k, ReplayConfig{
		Identity: id, Inputs: o.Shard.of(o.Inputs), Work: work, Lead: len(o.Work.jobs)+len(o.Work.backlog) > 0, StartAt: o.Shard.StartAt, Backlog: o.Stack.Arm.Backlog, Router: o.Stack.Arm.Router,
		Transport: t.transport, Jobs: t.jobs, Plain: o.Connection.Plain, CancelJobs: o.CancelJobs, Rows: recorder, Progress: o.Progress,
		Started: func() error {
			meta.ScheduleStartedAt = calendar(t.k, r.ScheduleStart().Time)
			return o.Output.Started(meta)
		},
	})
	watch := watchProcess(t.k, t.dialled)
	wall, cpu := time.Now(), cpuTime()
	runErr := r.Run(ctx)
	if o.Progress != nil {
		o.Progress(r.progress())
	}
	tookWall, tookCPU := time.Since(wall), cpuTime()-cpu
	meta.Load = r.health()
	meta.Load.WallSeconds, meta.Load.CPUSeconds = tookWall.Seconds(), tookCPU.Seconds()
	meta.Load.Process = watch.health(&r.tally, tookCPU, tookWall)
	if t.k.Virtual() {
		meta.Load.SimulatedSeconds = t.k.Now().Seconds()
	}
	meta.EndedAt = calendar(t.k, t.k.Now())
	meta.Warnings = append(r.Warnings(), o.Notes...)
	if t.warnings != nil {
		meta.Warnings = append(meta.Warnings, t.warnings()...)
	}
	if o.Verdict != nil {
		o.Verdict(meta.Load)
	}
	return o.end(ctx, meta, runErr, recorder.Close(), t.close())
}

// end stores the run, or what can be kept of it.
func (o Options) end(ctx context.Context, meta record.Metadata, runErr, recordErr, closeErr error) error {
	if recordErr != nil {
		return errors.Join(fmt.Errorf("storing rows: %w", recordErr), o.Output.Abandon())
	}
	if runErr == nil {
		return errors.Join(o.Output.Finish(meta), closeErr)
	}
	if ctx.Err() == nil {
		return errors.Join(runErr, o.Output.Abandon(), closeErr)
	}
	meta.Interrupted = true
	if err := o.Output.Finish(meta); err != nil {
		return err
	}
	return fmt.Errorf("interrupted, what was measured is kept: %w", ctx.Err())
}

// metadata is what is known at the start.
func (o Options) metadata(id Identity, k *kernel.Kernel) record.Metadata {
	meta := record.Metadata{
		SchemaVersion: 1,
		Experiment:    id.Experiment, Arm: id.Arm, Trial: id.Trial, Seed: id.Seed,
		Target:       o.Stack.Target,
		Clock:        "wall",
		RunStartedAt: calendar(k, 0),
		Profile:      o.Inputs.Manifest.Profile,
		Stack:        o.StackJSON,
		Inputs:       map[string]string{},
		Host:         record.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Versions:     o.Versions,
	}
	if k.Virtual() {
		meta.Clock = clockVirtual
	} else {
		meta.Client = o.Connection.settings()
	}
	for _, f := range o.Inputs.Manifest.Files {
		meta.Inputs[f.Name] = f.SHA256
	}
	return meta
}

// open makes the target ready: on target model it builds the stack, elsewhere it
// connects to it.
func (o Options) open(ctx context.Context, id Identity) (target, error) {
	if o.Stack.Target == spec.TargetModel {
		if o.Shard.Count > 0 {
			return target{}, errors.New("a shard: found target model, expected one with sockets: the model plays whole cells")
		}
		return o.openModel(id)
	}
	c, err := o.Connection.open(o.Stack.InferenceURL, o.Stack.BatchURL)
	if err != nil {
		return target{}, err
	}
	// An endpoint was reached already, and need not have the pages of a stack.
	if o.Stack.Target != spec.TargetEndpoint {
		if err := c.check(ctx); err != nil {
			c.close()
			return target{}, err
		}
	}
	return o.openHTTP(ctx, c), nil
}
