package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
	"bgbench/pkg/schedule"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// Replay is one run of a cell: the schedule, the jobs or the backlog, and the rows
// that come of them. Everything in it runs on the kernel's goroutine.
type Replay struct {
	k      *kernel.Kernel
	cfg    ReplayConfig
	phases phases

	flights  *flights
	schedule *dispatcher
	backlog  *backlog // nil without
	jobs     []*watch

	tally      tally
	cancelling int       // jobs that were asked to end and have not answered
	outages    [2]outage // of the inference endpoint and of the Batch API
	warnings   []string
	// stopping means that nothing new may start.
	stopping bool
	failure  error
	endedAt  Stamp // end of the schedule
}

// ReplayConfig is what a replay replays, over what, and where the rows go.
type ReplayConfig struct {
	Identity Identity
	Inputs   *inputs.Set
	Work     Work
	Backlog  spec.Backlog
	Router   spec.Router
	// Lead keeps the profile's lead before schedule time 0, for batch work here or in
	// another shard.
	Lead bool
	// StartAt is when the run begins, on the wall clock; zero is at once.
	StartAt   time.Time
	Transport Transport
	Jobs      JobService // may be nil where Work has no jobs
	// Plain sends requests of the schedule with the keys of the OpenAI API alone.
	Plain bool
	// CancelJobs asks the Batch API to end the jobs of a run that is ended early.
	CancelJobs bool
	Rows       Rows
	// Started is called when schedule time 0 is fixed; may be nil.
	Started func() error
	// Progress is told the state of the run once a second of the kernel's clock; may be nil.
	Progress func(Progress)
}

// Rows takes finished rows. Err is the first failure to store one, seen at the
// latest a second after it happened.
type Rows interface {
	Request(record.Request)
	Job(record.Job)
	Err() error
}

// NewReplay prepares a replay on k and starts nothing.
func NewReplay(k *kernel.Kernel, cfg ReplayConfig) *Replay {
	profile := cfg.Inputs.Manifest.Profile
	r := &Replay{k: k, cfg: cfg, warnings: []string{}, phases: phases{bands: schedule.Bands(profile.Interactive)}}
	r.outages = [2]outage{{k: k, endpoint: "inference"}, {k: k, endpoint: "batch"}}
	r.flights = newFlights(k, cfg.Transport, r.recordAttempt)
	r.schedule = &dispatcher{r: r}
	for _, line := range cfg.Inputs.Schedule {
		if line.InFlight == 0 { // a closed loop owes no number of requests
			r.tally.due++
		}
	}
	for _, lines := range cfg.Work.jobs {
		r.jobs = append(r.jobs, &watch{r: r, file: lines.file, lines: lines})
	}
	if len(cfg.Work.backlog) > 0 {
		r.backlog = newBacklog(r, cfg.Work.backlog)
	}
	return r
}

// Run replays until everything has ended or was given up. When ctx ends first, what
// is in flight is recorded as incomplete and the cause is returned.
func (r *Replay) Run(ctx context.Context) error {
	r.k.At(r.base(), r.begin)
	err := r.k.Run(ctx)
	if err == nil {
		return r.failure
	}
	if !errors.Is(err, kernel.ErrDeadlock) && ctx.Err() == nil {
		return err
	}
	// The kernel stopped for ctx, not because the work was done: it runs on for as
	// long as the transports need to hand back what they carry.
	r.giveUp()
	r.k.After(2*cancelGrace, r.k.Stop)
	if runErr := r.k.Run(context.WithoutCancel(ctx)); runErr != nil {
		return runErr
	}
	return errors.Join(r.failure, err)
}

// ScheduleStart is schedule time 0 on the kernel's clock; not set when the run
// ended before.
func (r *Replay) ScheduleStart() Stamp { return r.phases.start }

// Warnings are what a reader of the rows must know.
func (r *Replay) Warnings() []string { return r.warnings }

// Indexes of Replay.outages.
const (
	inferenceEndpoint = iota
	batchEndpoint
)

// health is the generator's verdict on itself, as far as the rows tell it.
func (r *Replay) health() record.LoadHealth {
	h := r.tally.health()
	for i := range r.outages {
		past, more := r.outages[i].close(r.k.Now())
		r.warnings = append(r.warnings, r.outages[i].warnings()...)
		h.Outages = append(h.Outages, past...)
		h.OutagesMore += more
	}
	return h
}

func (r *Replay) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// base is when the run begins on the kernel's clock.
func (r *Replay) base() kernel.Time {
	if r.cfg.StartAt.IsZero() {
		return 0
	}
	return max(0, r.cfg.StartAt.Sub(r.k.Epoch()))
}

// begin runs at the base, which is the lead before schedule time 0.
func (r *Replay) begin() {
	r.submitNext()
	if r.backlog != nil {
		r.backlog.begin()
	}
	r.maybeStart()
	r.everySecond()
}

// submitNext submits the first job that is not created. One follows the other, so
// that jobs are created in the same order in every arm.
func (r *Replay) submitNext() {
	for _, w := range r.jobs {
		if !w.created.OK {
			w.submit()
			return
		}
	}
}

// maybeStart fixes schedule time 0 once every job is created.
func (r *Replay) maybeStart() {
	if r.stopping || r.phases.start.OK {
		return
	}
	for _, w := range r.jobs {
		if !w.created.OK {
			return
		}
	}
	var lead time.Duration
	if r.cfg.Lead || len(r.jobs) > 0 || r.backlog != nil {
		lead = r.cfg.Inputs.Manifest.Profile.Batch.Lead.Std()
	}
	if took := r.k.Now() - r.base(); took > lead && len(r.jobs) > 0 {
		r.warn("creating the jobs took %v, longer than the lead of %v", took.Round(time.Millisecond), lead)
		lead = took
	}
	r.phases.start = At(r.base() + lead)
	if r.cfg.Started != nil {
		if err := r.cfg.Started(); err != nil {
			r.fail(err)
			return
		}
	}
	r.schedule.begin()
	r.k.At(r.phases.start.Time+r.phases.length(), r.endSchedule)
}

// endSchedule runs when the last band is over: from here the drains count.
func (r *Replay) endSchedule() {
	if r.stopping {
		return
	}
	r.endedAt = At(r.k.Now())
	drain := r.cfg.Inputs.Manifest.Profile.Drain
	r.k.After(drain.Interactive.Std(), func() {
		r.flights.stopAll(record.StatusIncomplete, "still in flight when the drain of "+drain.Interactive.String()+" ended",
			func(req *Request) bool { return req.Job == "" })
	})
	r.k.After(drain.Jobs.Std(), func() {
		r.giveUpJobs("the drain of " + drain.Jobs.String() + " ended")
		r.maybeStop()
	})
	r.maybeStop()
}

// giveUpJobs ends what belongs to jobs, finished or not.
func (r *Replay) giveUpJobs(why string) {
	for _, w := range r.jobs {
		w.giveUp()
	}
	if r.backlog != nil {
		r.backlog.giveUp(why)
	}
}

// giveUp ends the run before its time.
func (r *Replay) giveUp() {
	r.stopping = true
	if r.cfg.CancelJobs {
		for _, w := range r.jobs {
			w.cancel()
		}
	}
	const why = "still in flight when the run was stopped"
	r.flights.stopAll(record.StatusIncomplete, why, func(*Request) bool { return true })
	r.giveUpJobs("the run was stopped")
	r.maybeStop()
}

// fail ends the run because it cannot go on.
func (r *Replay) fail(err error) {
	if r.failure != nil {
		return
	}
	r.failure = err
	r.giveUp()
}

// maybeStop stops the kernel when nothing is left to wait for. It is called after
// whatever may have been the last thing.
func (r *Replay) maybeStop() {
	if len(r.flights.open)+r.cancelling > 0 || !r.stopping && !r.endedAt.OK {
		return
	}
	for _, w := range r.jobs {
		if !w.over {
			return
		}
	}
	if r.backlog != nil && !r.backlog.over {
		return
	}
	r.k.Stop()
}

// everySecond reports and looks after what nobody waits for.
func (r *Replay) everySecond() {
	if err := r.cfg.Rows.Err(); err != nil {
		r.fail(err)
		return
	}
	if r.stopping {
		return
	}
	if r.backlog != nil {
		r.backlog.observe()
	}
	if r.cfg.Progress != nil {
		r.cfg.Progress(r.progress())
	}
	r.k.After(time.Second, r.everySecond)
}

// recordAttempt is the one place where the row of a request is made.
func (r *Replay) recordAttempt(req *Request, a Attempt) {
	r.tally.add(req, a)
	r.outages[inferenceEndpoint].attempt(a)
	r.cfg.Rows.Request(row(r.k, r.cfg.Identity, r.cfg.Router, r.phases, req, a))
}
