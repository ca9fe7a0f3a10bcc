package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"bgbench/pkg/sim"
)

// replay steps the scheduler through a case.
type replay struct {
	c         *traceCase
	scheduler *Scheduler
	requests  []*Request
	outcomes  []traceOutcome
	queue     []scheduled // async: batches that wait for their update
	diffs     []Difference

	lastRunning, lastWaiting []string
	steps, emptySteps        int
}

type scheduled struct {
	step  int
	batch *Batch
}

func newReplay(c *traceCase) *replay {
	r := &replay{
		c: c,
		scheduler: NewScheduler(SchedulerConfig{
			MaxNumSeqs:                c.Config.MaxNumSeqs,
			MaxNumBatchedTokens:       c.Config.MaxNumBatchedTokens,
			MaxModelLen:               c.Config.MaxModelLen,
			BlockSize:                 c.Config.BlockSize,
			NumGPUBlocks:              c.Config.NumGPUBlocks,
			EnablePrefixCaching:       c.Config.EnablePrefixCaching,
			EnableChunkedPrefill:      c.Config.EnableChunkedPrefill,
			LongPrefillTokenThreshold: c.Config.LongPrefillTokenThreshold,
			Priority:                  c.Config.Policy == "priority",
			AsyncScheduling:           c.Config.AsyncScheduling,
			ReserveFullISL:            c.Config.ReserveFullISL,
			Watermark:                 c.Config.Watermark,
		}),
		outcomes: make([]traceOutcome, len(c.Requests)),
	}
	rank := make([]int, len(c.Requests))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(a, b int) int {
		return cmp.Compare(c.Requests[a].ArriveStep, c.Requests[b].ArriveStep)
	})
	arrival := make([]int64, len(c.Requests))
	for place, i := range rank {
		arrival[i] = int64(place)
	}
	for k, q := range c.Requests {
		salt := ""
		if q.CacheSalt != nil {
			salt = *q.CacheSalt
		}
		r.requests = append(r.requests, &Request{
			ID: q.ID, Prompt: sim.PromptOf(q.prompt()), MaxTokens: q.MaxTokens, Priority: q.Priority,
			Arrival: arrival[k], Salt: salt, Output: recordedOutput(k),
		})
	}
	return r
}

// run replays the case line by line until the trace ends; what is left then is a
// difference too.
func (r *replay) run() {
	next := 0
	for _, line := range r.c.Steps {
		next = r.nextStep(next)
		if next != line.I {
			r.differ(next, "i", next, line.I)
			return
		}
		for range max(1, line.Repeat) {
			r.step(next, line)
			if len(r.diffs) > 0 {
				// The state has parted from the recording: more lines say nothing new.
				return
			}
			next++
		}
	}
	if next = r.nextStep(next); next >= 0 && !r.stuck(next) {
		r.differ(next, "steps", "more steps", "the end")
	}
	r.compareTotals()
	r.compareOutcomes()
}

// nextStep is the first step from i on that is run: the next arrival when nothing
// is unfinished, -1 when nothing will ever be.
func (r *replay) nextStep(i int) int {
	if r.scheduler.Unfinished() > 0 {
		return i
	}
	next := -1
	for k, q := range r.c.Requests {
		if r.requests[k].state == stateNew && (next < 0 || q.ArriveStep < next) {
			next = q.ArriveStep
		}
	}
	return next
}

// stuck says that from step next on nothing will ever be scheduled again: three
// empty steps and neither an arrival nor an abort to come.
func (r *replay) stuck(next int) bool {
	if r.emptySteps < 3 {
		return false
	}
	for k, q := range r.requests {
		abort := r.c.Requests[k].AbortStep
		if q.state == stateNew || !q.ended() && abort != nil && *abort >= next {
			return false
		}
	}
	return true
}

// step runs step i and compares it with its line.
func (r *replay) step(i int, want traceStep) {
	var got traceStep
	r.steps++
	r.abort(i, "", &got)
	for k, q := range r.c.Requests {
		if q.ArriveStep == i && r.requests[k].state == stateNew {
			r.scheduler.Add(r.requests[k])
			got.Arrived = append(got.Arrived, q.ID)
		}
	}
	if r.scheduler.Unfinished() > 0 {
		r.schedule(i, want, &got)
	} else {
		r.emptySteps = 0
	}
	got.KVBlocksUsed = r.scheduler.pool.used()
	got.KVUsage = r.scheduler.KVUsage()
	if want.FreeQueue != nil {
		got.FreeQueue = r.scheduler.pool.queue.ids()
	}
	r.compareStep(i, got, want)
}

func (r *replay) abort(i int, phase string, got *traceStep) {
	for k, q := range r.c.Requests {
		if q.AbortStep == nil || *q.AbortStep != i || q.AbortPhase != phase {
			continue
		}
		if r.scheduler.Abort(r.requests[k]) {
			got.Aborted = append(got.Aborted, q.ID)
			r.end(k, i, "abort")
		}
	}
}

func (r *replay) end(k, i int, reason string) {
	o := &r.outcomes[k]
	o.FinishStep, o.Reason = &i, &reason
}

func (r *replay) schedule(i int, want traceStep, got *traceStep) {
	computed := map[string]int{}
	for _, q := range r.scheduler.running {
		r.scheduler.settle(q)
		computed[q.ID] = q.computed
	}
	b := r.scheduler.Schedule()
	items := r.scheduler.itemsOf(b)
	got.Scheduled = make(orderedCounts, 0, len(items))
	for _, it := range items {
		got.Scheduled = append(got.Scheduled, count{it.request.ID, int(it.tokens)})
	}
	for _, q := range b.Admitted {
		if q.preemptions == 0 {
			got.New = append(got.New, q.ID)
		} else {
			got.Resumed = append(got.Resumed, q.ID)
		}
		at := slices.IndexFunc(items, func(it item) bool { return it.request == q })
		put(&got.Cached, q.ID, q.computed-int(items[at].tokens))
		if want.BlockIDs != nil {
			put(&got.BlockIDs, q.ID, ints(q.blocks))
		}
	}
	for _, q := range b.Preempted {
		got.Preempted = append(got.Preempted, q.ID)
		put(&got.PreemptedTokens, q.ID, computed[q.ID])
	}
	used := r.scheduler.pool.used()
	got.KVBlocksSched = &used
	if b.Empty() {
		r.emptySteps++
	} else {
		r.emptySteps = 0
	}
	r.queue = append(r.queue, scheduled{i, b})
	r.abort(i, "mid", got)
	r.update(i, want, got)
}

func (r *replay) update(i int, want traceStep, got *traceStep) {
	depth := 1
	if r.c.Config.AsyncScheduling {
		depth = 2
	}
	got.ProcessedBatch = json.RawMessage("null")
	r.dropDead(want)
	if len(r.queue) < depth {
		return
	}
	head := r.queue[0]
	r.queue = slices.Delete(r.queue, 0, 1)
	got.ProcessedBatch = fmt.Append(nil, head.step)
	for _, q := range r.scheduler.Update(head.batch) {
		k := slices.Index(r.requests, q)
		o := &r.outcomes[k]
		if o.FirstTokenStep == nil {
			cached := q.CachedTokens()
			o.FirstTokenStep, o.CachedTokens = &i, &cached
		}
		if q.Finished() {
			got.Finished = append(got.Finished, q.ID)
			r.end(k, i, "length")
		}
	}
}

// dropDead drops a leftover batch none of whose requests lives any more, when the
// recording does not update it in this step. vLLM's engine loop may flush such a
// batch while it is idle or take it up with the next step; it changes nothing
// either way.
func (r *replay) dropDead(want traceStep) {
	if len(r.queue) < 2 || string(want.ProcessedBatch) != "null" {
		return
	}
	for _, it := range r.scheduler.itemsOf(r.queue[0].batch) {
		if !it.request.ended() {
			return
		}
	}
	r.scheduler.Update(r.queue[0].batch)
	r.queue = slices.Delete(r.queue, 0, 1)
}
