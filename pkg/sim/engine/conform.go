package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
)

// Difference is one field in which the Scheduler and a recorded case disagree.
type Difference struct {
	Step      int    // -1 for what concerns the whole case
	Field     string // as the case names it
	Got, Want string // JSON
}

func (d Difference) String() string {
	where := "case"
	if d.Step >= 0 {
		where = fmt.Sprintf("step %d", d.Step)
	}
	return fmt.Sprintf("%s: %s: got %s, want %s", where, d.Field, d.Got, d.Want)
}

// Conform replays one recorded case of vLLM's scheduler, a JSON file, on the
// Scheduler and returns where they disagree, at most maxDifferences. An error
// means that the case itself cannot be read.
func Conform(caseJSON []byte) ([]Difference, error) {
	var c traceCase
	decoder := json.NewDecoder(bytes.NewReader(caseJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("reading an engine case: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("reading engine case %q: %w", c.Name, err)
	}
	r := newReplay(&c)
	r.run()
	return r.diffs, nil
}

// maxDifferences bounds a report: after the first step that differs, most do.
const maxDifferences = 20

type traceCase struct {
	Name       string                  `json:"name"`
	Why        string                  `json:"why"`
	VLLMCommit string                  `json:"vllm_commit"`
	Config     traceConfig             `json:"config"`
	Requests   []traceRequest          `json:"requests"`
	Steps      []traceStep             `json:"steps"`
	Totals     traceTotals             `json:"totals"`
	Outcomes   map[string]traceOutcome `json:"outcomes"`
	Stuck      []string                `json:"stuck"`
}

type traceConfig struct {
	MaxNumSeqs                int     `json:"max_num_seqs"`
	MaxNumBatchedTokens       int     `json:"max_num_batched_tokens"`
	BlockSize                 int     `json:"block_size"`
	NumGPUBlocks              int     `json:"num_gpu_blocks"`
	EnablePrefixCaching       bool    `json:"enable_prefix_caching"`
	EnableChunkedPrefill      bool    `json:"enable_chunked_prefill"`
	LongPrefillTokenThreshold int     `json:"long_prefill_token_threshold"`
	Policy                    string  `json:"policy"`
	AsyncScheduling           bool    `json:"async_scheduling"`
	MaxModelLen               int     `json:"max_model_len"`
	ReserveFullISL            bool    `json:"scheduler_reserve_full_isl"`
	Watermark                 float64 `json:"watermark"`
	NullBlocks                int     `json:"null_blocks"`
}

type traceRequest struct {
	ID         string      `json:"id"`
	ArriveStep int         `json:"arrive_step"`
	Prompt     tracePrompt `json:"prompt"`
	MaxTokens  int         `json:"max_tokens"`
	Priority   int         `json:"priority"`
	CacheSalt  *string     `json:"cache_salt"`
	AbortStep  *int        `json:"abort_step"`
	AbortPhase string      `json:"abort_phase"`
}

type tracePrompt struct {
	Len    int          `json:"len"`
	Groups []traceGroup `json:"groups"`
}

type traceGroup struct {
	Seed *int `json:"seed"`
	Out  *int `json:"out"`
	Len  int  `json:"len"`
}

// traceStep is one line of a case. The orders and processed_batch are pointers
// because their absence means something: as before, or the batch before.
type traceStep struct {
	I               int              `json:"i"`
	Repeat          int              `json:"repeat"`
	Arrived         []string         `json:"arrived"`
	Scheduled       orderedCounts    `json:"scheduled"`
	New             []string         `json:"new"`
	Resumed         []string         `json:"resumed"`
	Cached          map[string]int   `json:"cached_tokens_of_new"`
	Preempted       []string         `json:"preempted"`
	PreemptedTokens map[string]int   `json:"preempted_computed_tokens"`
	Finished        []string         `json:"finished"`
	Aborted         []string         `json:"aborted"`
	RunningOrder    *[]string        `json:"running_order"`
	WaitingOrder    *[]string        `json:"waiting_order"`
	KVBlocksSched   *int             `json:"kv_blocks_sched"`
	KVBlocksUsed    int              `json:"kv_blocks_used"`
	KVUsage         float64          `json:"kv_usage"`
	FreeQueue       []int32          `json:"free_queue"`
	BlockIDs        map[string][]int `json:"block_ids"`
	ProcessedBatch  json.RawMessage  `json:"processed_batch"`
}

type traceTotals struct {
	Steps                  int `json:"steps"`
	Preemptions            int `json:"preemptions"`
	PrefixQueries          int `json:"prefix_queries"`
	PrefixHits             int `json:"prefix_hits"`
	PreemptedPrefixQueries int `json:"preempted_prefix_queries"`
	PreemptedPrefixHits    int `json:"preempted_prefix_hits"`
	ScheduledTokens        int `json:"scheduled_tokens"`
	OutputTokens           int `json:"output_tokens"`
}

type traceOutcome struct {
	FirstTokenStep *int    `json:"first_token_step"`
	FinishStep     *int    `json:"finish_step"`
	Reason         *string `json:"reason"`
	OutputTokens   int     `json:"output_tokens"`
	Preemptions    int     `json:"preemptions"`
	CachedTokens   *int    `json:"cached_tokens"`
}

// orderedCounts is a JSON object of numbers whose order matters. nil is absent.
type orderedCounts []count

type count struct {
	ID string
	N  int
}

func (o *orderedCounts) UnmarshalJSON(text []byte) error {
	var counts map[string]int
	if err := json.Unmarshal(text, &counts); err != nil {
		return err
	}
	*o = make(orderedCounts, 0, len(counts))
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end: Unmarshal has found the text whole
		}
		if id, ok := token.(string); ok {
			*o = append(*o, count{id, counts[id]})
		}
	}
}

// check refuses what would make the replay meaningless or endless.
func (c *traceCase) check() error {
	switch cfg := c.Config; {
	case cfg.MaxNumSeqs < 1, cfg.MaxNumBatchedTokens < 1, cfg.BlockSize < 1, cfg.NumGPUBlocks < 1, cfg.MaxModelLen < 1:
		return fmt.Errorf("config: found a size below 1, expected sizes from 1 on")
	case cfg.NumGPUBlocks > 1<<24 || cfg.BlockSize > 1<<16 || cfg.MaxModelLen > 1<<24:
		return fmt.Errorf("config: a size is larger than any that was recorded")
	case cfg.LongPrefillTokenThreshold < 0 || cfg.Watermark < 0 || cfg.Watermark > 1:
		return fmt.Errorf("config: long_prefill_token_threshold %d, watermark %v: expected 0 or more, and 0 to 1", cfg.LongPrefillTokenThreshold, cfg.Watermark)
	case cfg.NullBlocks != 1:
		return fmt.Errorf("config: null_blocks: found %d, expected 1", cfg.NullBlocks)
	case cfg.Policy != "fcfs" && cfg.Policy != "priority":
		return fmt.Errorf("config: policy: found %q, expected fcfs or priority", cfg.Policy)
	}
	seen := map[string]bool{}
	for k, r := range c.Requests {
		if seen[r.ID] {
			return fmt.Errorf("requests[%d]: id %q is there twice", k, r.ID)
		}
		seen[r.ID] = true
		if err := r.check(c, k); err != nil {
			return fmt.Errorf("requests[%d] (%s): %w", k, r.ID, err)
		}
	}
	next := 0
	for n, s := range c.Steps {
		if s.I < next || s.Repeat < 0 {
			return fmt.Errorf("steps[%d]: found step %d x %d, expected steps that ascend from %d", n, s.I, s.Repeat, next)
		}
		next = s.I + max(1, s.Repeat)
	}
	return nil
}

func (r traceRequest) check(c *traceCase, k int) error {
	if r.MaxTokens < 1 || r.ArriveStep < 0 {
		return fmt.Errorf("max_tokens %d, arrive_step %d: expected at least 1 and 0", r.MaxTokens, r.ArriveStep)
	}
	if r.AbortPhase != "" && r.AbortPhase != "mid" {
		return fmt.Errorf("abort_phase: found %q, expected mid", r.AbortPhase)
	}
	length := 0
	for _, g := range r.Prompt.Groups {
		switch {
		case g.Len < 0 || (g.Seed == nil) == (g.Out == nil):
			return fmt.Errorf("prompt: expected groups of a length with either seed or out")
		case g.Out != nil && (*g.Out < 0 || *g.Out >= len(c.Requests)):
			return fmt.Errorf("prompt: out names request %d of %d", *g.Out, len(c.Requests))
		}
		length += g.Len
	}
	if length != r.Prompt.Len || length < 1 || length >= c.Config.MaxModelLen {
		return fmt.Errorf("prompt: len %d with groups of %d tokens: expected the same, from 1 to below max_model_len %d", r.Prompt.Len, length, c.Config.MaxModelLen)
	}
	return nil
}

func (r traceRequest) prompt() []uint32 {
	ids := make([]uint32, 0, r.Prompt.Len)
	for _, g := range r.Prompt.Groups {
		for j := range g.Len {
			if g.Out != nil {
				ids = append(ids, recordedOutput(*g.Out).OutputID(j))
			} else {
				s := *g.Seed
				ids = append(ids, uint32((s*7919+j*104729+s*j*31+1)%50000))
			}
		}
	}
	return ids
}

// recordedOutput gives the output tokens of request number k as the recordings
// define them.
type recordedOutput int

// OutputID implements OutputIDs.
func (k recordedOutput) OutputID(m int) uint32 {
	return uint32(50000 + (int(k)*1009+m*7)%40009)
}

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
	sort.SliceStable(rank, func(a, b int) bool {
		return c.Requests[rank[a]].ArriveStep < c.Requests[rank[b]].ArriveStep
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
			ID: q.ID, Prompt: q.prompt(), MaxTokens: q.MaxTokens, Priority: q.Priority,
			Arrival: arrival[k], Salt: salt, Output: recordedOutput(k),
		})
	}
	return r
}

// run replays the case line by line until the trace ends; what is left then is a
// difference too.
func (r *replay) run() {
	for n, line := range r.c.Steps {
		first := r.nextStep(line.I)
		if first != line.I {
			r.differ(first, "i", first, line.I)
			return
		}
		for range max(1, line.Repeat) {
			r.step(first, line)
			if len(r.diffs) > 0 {
				// The state has parted from the recording: more lines say nothing new.
				return
			}
			first++
		}
		if n == len(r.c.Steps)-1 && !r.stuck() && r.nextStep(first) >= 0 {
			r.differ(first, "steps", "more steps", "the end")
		}
	}
	r.compareTotals()
	r.compareOutcomes()
}

// nextStep is the first step from i on that is run: the next arrival when nothing
// is unfinished, -1 when nothing will ever be.
func (r *replay) nextStep(i int) int {
	if r.steps == 0 {
		i = 0
	}
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

// stuck says that nothing will ever be scheduled again: three empty steps and
// neither an arrival nor an abort to come.
func (r *replay) stuck() bool {
	if r.emptySteps < 3 {
		return false
	}
	for k, q := range r.requests {
		if q.state == stateNew || !q.ended() && r.c.Requests[k].AbortStep != nil {
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
		r.drainDead(want)
	}
	got.KVBlocksUsed = r.scheduler.pool.used()
	got.KVUsage = r.scheduler.KVUsage()
	if want.FreeQueue != nil {
		got.FreeQueue = r.scheduler.pool.freeQueue()
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
		computed[q.ID] = q.computed
	}
	b := r.scheduler.Schedule()
	got.Scheduled = make(orderedCounts, 0, len(b.items))
	for _, it := range b.items {
		got.Scheduled = append(got.Scheduled, count{it.request.ID, int(it.tokens)})
	}
	for _, q := range b.Admitted {
		if q.preemptions == 0 {
			got.New = append(got.New, q.ID)
		} else {
			got.Resumed = append(got.Resumed, q.ID)
		}
		at := slices.IndexFunc(b.items, func(it item) bool { return it.request == q })
		put(&got.Cached, q.ID, q.computed-int(b.items[at].tokens))
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
	r.drainDead(want)
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

// drainDead drops a leftover batch none of whose requests lives any more, when the
// recording has no update for it. vLLM's engine loop may flush such a batch while
// it is idle or take it up with the next step; it changes nothing either way.
func (r *replay) drainDead(want traceStep) {
	if len(r.queue) == 0 || string(want.ProcessedBatch) != "null" && want.Scheduled != nil {
		return
	}
	for _, it := range r.queue[0].batch.items {
		if !it.request.ended() {
			return
		}
	}
	if want.Scheduled != nil && len(r.queue) < 2 {
		return // the batch of this very step
	}
	r.scheduler.Update(r.queue[0].batch)
	r.queue = slices.Delete(r.queue, 0, 1)
}

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
