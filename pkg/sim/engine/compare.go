package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

func (r *replay) compareStep(i int, got, want traceStep) {
	r.compare(i, "arrived", got.Arrived, want.Arrived)
	r.compareScheduled(i, got.Scheduled, want.Scheduled)
	r.compare(i, "new", got.New, want.New)
	r.compare(i, "resumed", got.Resumed, want.Resumed)
	r.compare(i, "cached_tokens_of_new", got.Cached, want.Cached)
	r.compare(i, "preempted", got.Preempted, want.Preempted)
	r.compare(i, "preempted_computed_tokens", got.PreemptedTokens, want.PreemptedTokens)
	r.compare(i, "finished", got.Finished, want.Finished)
	r.compare(i, "aborted", got.Aborted, want.Aborted)
	r.compareOrder(i, "running_order", r.scheduler.running, want.RunningOrder, &r.lastRunning)
	r.compareOrder(i, "waiting_order", r.scheduler.waiting.order(), want.WaitingOrder, &r.lastWaiting)
	r.compare(i, "kv_blocks_sched", got.KVBlocksSched, want.KVBlocksSched)
	r.compare(i, "kv_blocks_used", got.KVBlocksUsed, want.KVBlocksUsed)
	r.compare(i, "kv_usage", sixDigits(got.KVUsage), sixDigits(want.KVUsage))
	r.compare(i, "free_queue", got.FreeQueue, want.FreeQueue)
	if want.BlockIDs != nil {
		r.compare(i, "block_ids", got.BlockIDs, want.BlockIDs)
	}
	if r.c.Config.AsyncScheduling && want.Scheduled != nil {
		wanted := want.ProcessedBatch
		if wanted == nil {
			wanted = fmt.Append(nil, i-1)
		}
		r.compare(i, "processed_batch", got.ProcessedBatch, wanted)
	}
}

func (r *replay) compareScheduled(i int, got, want orderedCounts) {
	if (got == nil) != (want == nil) || !slices.Equal(got, want) {
		r.differ(i, "scheduled", got, want)
	}
}

// compareOrder compares a queue with the recording, in which an absent order is
// that of the line before.
func (r *replay) compareOrder(i int, field string, queue []*Request, want *[]string, last *[]string) {
	if want != nil {
		*last = *want
	}
	got := make([]string, len(queue))
	for n, q := range queue {
		got[n] = q.ID
	}
	r.compare(i, field, got, *last)
}

func (r *replay) compareTotals() {
	s := r.scheduler.Stats()
	got := traceTotals{
		Steps:                  r.steps,
		Preemptions:            s.Preemptions,
		PrefixQueries:          s.PrefixQueries,
		PrefixHits:             s.PrefixHits,
		PreemptedPrefixQueries: s.PreemptedPrefixQueries,
		PreemptedPrefixHits:    s.PreemptedPrefixHits,
		ScheduledTokens:        s.ScheduledTokens,
		OutputTokens:           s.OutputTokens,
	}
	r.compare(-1, "totals", got, r.c.Totals)
}

func (r *replay) compareOutcomes() {
	var stuck []string
	for k, q := range r.requests {
		got := r.outcomes[k]
		got.OutputTokens, got.Preemptions = q.OutputTokens(), q.Preemptions()
		if q.state == stateNew {
			got.OutputTokens = 0
		}
		r.compare(-1, "outcomes."+q.ID, got, r.c.Outcomes[q.ID])
		if !q.ended() {
			stuck = append(stuck, q.ID)
		}
	}
	r.compare(-1, "stuck", stuck, r.c.Stuck)
}

// compare compares two values by their JSON; an absent list is an empty one.
func (r *replay) compare(step int, field string, got, want any) {
	g, w := text(got), text(want)
	if g != w {
		r.differ(step, field, got, want)
	}
}

func (r *replay) differ(step int, field string, got, want any) {
	if len(r.diffs) < maxDifferences {
		r.diffs = append(r.diffs, Difference{step, field, text(got), text(want)})
	}
}

// text is v as JSON, maps sorted by key, nothing for what is empty.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of this file only
	}
	switch s := string(out); s {
	case "[]", "{}":
		return "null"
	default:
		return s
	}
}

// sixDigits rounds as Python's round does: the exact value, ties to even.
func sixDigits(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

func ints(ids []int32) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}
