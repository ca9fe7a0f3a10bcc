package gateway

import (
	"encoding/json"
	"slices"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// Upstream defaults of what a restart meets (llm-d batch gateway, processor and
// batch-gc configuration).
const (
	shutdownTimeout = 30 * time.Second
	heartbeat       = 5 * time.Minute // renews the entry of a job in flight
	gcInterval      = time.Hour
)

// orphan is a job whose process has ended before it: its entry among the jobs in
// flight and what lies in the processor's work directory.
type orphan struct {
	b               *batch
	claimed         kernel.Time // the last heartbeat
	hasDir          bool
	outputs, errors string // on disk
	kept            kept
}

// kept are the finished lines of a job.
type kept struct {
	outputs, errors resultFile
	counts          openai.RequestCounts
}

// scheduleRestarts arranges for the restarts of the configuration.
func (g *Gateway) scheduleRestarts() {
	if len(g.cfg.Restarts) == 0 {
		return
	}
	for _, r := range g.cfg.Restarts {
		g.k.At(r.At.Std(), func() { g.Restart(r) })
	}
	g.StartGC(gcInterval)
}

// Restart sends the processor a signal and starts another one some time after its end.
func (g *Gateway) Restart(r spec.Restart) {
	g.Stop(r.Signal, func() {
		if r.WorkDirLost {
			g.LoseWorkDir()
		}
		g.k.After(r.DownFor.Std(), g.Start)
	})
}

// Stop sends the processor a signal and calls ended when its process is gone. Calls
// in flight are cut at once. After a SIGTERM what has no result goes to the error file
// on the processor's disk as cancelled, buffers are written, and the process stays
// until the blocking reads of its cancel listeners end; the jobs keep their status.
func (g *Gateway) Stop(signal string, ended func()) {
	p := g.processor
	p.stopped = true
	gone := g.k.Now()
	if signal == spec.SignalTerm {
		gone = min(p.lastRead(), gone+shutdownTimeout)
	}
	for _, r := range p.runs { // before slots come free
		r.freeze()
	}
	for _, r := range p.runs {
		g.orphans = append(g.orphans, r.halt(signal))
	}
	p.runs = nil
	g.k.At(gone, func() {
		g.processorPage.Reset()
		ended()
	})
}

// lastRead is when the last of the cancel listeners returns.
func (p *processor) lastRead() kernel.Time {
	now := p.g.k.Now()
	if !p.g.cfg.Quirks.WorkerHeldAfterJob {
		return now
	}
	last := max(now, p.heldUntil)
	for _, r := range p.runs {
		last = max(last, p.readEnd(r.listening))
	}
	return last
}

// freeze takes a run out of all queues for slots, so that nothing more is sent.
func (r *run) freeze() {
	r.halted = true
	r.deadline.Stop()
	r.progress.Stop()
	if r.waiter != nil {
		r.waiter.gone = true
	}
	for q := range r.flying {
		q.slots.giveUp()
	}
}

// halt ends a run at a signal and returns what is left of it.
func (r *run) halt(signal string) orphan {
	o := orphan{
		b: r.b, hasDir: true,
		claimed: r.started + (r.p.g.k.Now()-r.started)/heartbeat*heartbeat,
		kept:    kept{r.outputs.snapshot(), r.errors.snapshot(), r.counts},
	}
	if signal != spec.SignalTerm {
		o.outputs, o.errors = r.outputs.onDisk(), r.errors.onDisk()
	}
	if r.ingested && !r.ended {
		counts := r.counts
		r.abort = codeCancelled
		r.drop(codeCancelled)
		r.counts = counts // the lines that were dropped are not counted
	}
	r.abort = codeCancelled
	if signal == spec.SignalTerm {
		o.outputs, o.errors = r.outputs.text(), r.errors.text()
		r.b.progress = r.counts
	}
	r.b.run = nil
	return o
}

// LoseWorkDir empties the work directory of a processor that is down, as the end of
// its pod does.
func (g *Gateway) LoseWorkDir() {
	for i := range g.orphans {
		g.orphans[i].hasDir = false
	}
}

// WorkDir is what lies on the disk of a processor that is down of a job's output and
// error file.
func (g *Gateway) WorkDir(batchID string) (output, errors string) {
	for _, o := range g.orphans {
		if o.b.ID == batchID {
			return o.outputs, o.errors
		}
	}
	return "", ""
}

// Start starts a processor after Stop. It first looks after the jobs in its work
// directory.
func (g *Gateway) Start() {
	old := g.processor
	p := newProcessor(g)
	p.backoff.random, p.models = old.backoff.random, old.models
	g.processor = p
	g.orphans = slices.DeleteFunc(g.orphans, func(o orphan) bool {
		if o.hasDir {
			p.recover(o)
		}
		return o.hasDir
	})
}

// recover brings a job that a process before this one has left behind to an end or
// back into the queue. Of jobs that were neither queued nor in progress nothing was
// recorded: they end as they would have.
func (p *processor) recover(o orphan) {
	b, now, status := o.b, p.g.unixPtr(), o.b.Status
	action := "failed"
	switch {
	case status == openai.BatchFinalizing:
		b.Status, b.CompletedAt = openai.BatchCompleted, now
		p.storeResults(b, o.kept.outputs.text(), o.kept.errors.text())
		action = "finalized"
	case status == openai.BatchCancelling:
		b.Status, b.CancelledAt, b.CancellingAt = openai.BatchCancelled, now, nil
		p.storeResults(b, o.outputs, o.errors)
		action = "cancelled"
	case p.g.k.Now() >= b.deadline:
		b.Status, b.ExpiredAt = openai.BatchExpired, now
		action = "expired"
	case !p.g.cfg.Quirks.RestartStartsOver:
		b.kept = &o.kept
		p.reenqueue(b)
		action = "re_enqueued"
	case o.outputs != "":
		b.Status, b.FailedAt = openai.BatchFailed, now
		p.storeResults(b, o.outputs, o.errors)
	default:
		p.reenqueue(b)
		action = "re_enqueued"
	}
	p.metrics.recovered(action, status)
}

// reenqueue sends a job back to the start. expires_at is set here and nowhere else.
func (p *processor) reenqueue(b *batch) {
	expires := p.g.k.Instant(b.deadline).Unix()
	b.Status, b.ExpiresAt = openai.BatchValidating, &expires
	p.g.queue.push(b)
}

// resume takes over the lines that an earlier run of the job has finished.
func (r *run) resume() {
	k := r.b.kept
	if k == nil {
		return
	}
	finished := map[string]bool{}
	for _, file := range [...]resultFile{k.outputs, k.errors} {
		for text := range file.lines() {
			var line openai.BatchOutput
			if err := json.Unmarshal(text, &line); err == nil { // result.append wrote it
				finished[line.CustomID] = true
			}
		}
	}
	r.plan.entries = slices.DeleteFunc(r.plan.entries, func(e planEntry) bool { return finished[e.line.customID] })
	r.plan.rejected = slices.DeleteFunc(r.plan.rejected, func(l line) bool { return finished[l.customID] })
	r.outputs, r.errors, r.counts = k.outputs, k.errors, k.counts
	r.b.kept = nil
}

// StartGC runs batch-gc's reconciler now and after each interval: a job whose process
// has gone fails, without counts and files, once the entry that it left among those in
// flight is older than the interval.
func (g *Gateway) StartGC(interval time.Duration) {
	g.orphans = slices.DeleteFunc(g.orphans, func(o orphan) bool {
		if g.k.Now()-o.claimed < interval {
			return false
		}
		o.b.Status, o.b.FailedAt = openai.BatchFailed, g.unixPtr()
		return true
	})
	g.k.After(interval, func() { g.StartGC(interval) })
}
