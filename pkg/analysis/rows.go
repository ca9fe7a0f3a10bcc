package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// rows takes the rows of a cell one by one, in any order, and keeps numbers only.
type rows struct {
	identity identity // of the first row; all others must agree
	requests int      // rows seen

	phases  map[phaseClass]*phaseRows
	lines   map[line]*attempts
	jobs    map[string]*jobHistory
	series  map[seriesKey]*series
	tracks  map[string][]track   // that were asked for, by metric
	scraped map[string]time.Time // by source: its first sample
	cycles  map[cycleKey]*cycleRows
	latest  *cycleRows // of the row before

	slo      *spec.SLO
	sloKnown bool
	unjudged []unjudged // answers that came before the SLO was known

	flights []flight // of lines that were sent as ordinary requests

	others    tally                   // tokens of requests that are no lines
	counts    map[string]*classTokens // by class
	scheduled int                     // requests with a due time
	sent      int                     // of those, sent
	overflows int                     // answers that say that a request exceeds the context
	overflow  string
	ttfts     sample // of requests that are not among those of phases
	load      loadSeconds
}

// identity says which cell a row belongs to.
type identity struct {
	Experiment, Arm string
	Trial           int32
}

// differs says of two cells what each has where they differ: "arm \"a\" and arm \"b\"".
func (id identity) differs(from identity) (has, other string) {
	switch {
	case id.Experiment != from.Experiment:
		return fmt.Sprintf("experiment %q", id.Experiment), fmt.Sprintf("experiment %q", from.Experiment)
	case id.Arm != from.Arm:
		return fmt.Sprintf("arm %q", id.Arm), fmt.Sprintf("arm %q", from.Arm)
	default:
		return fmt.Sprintf("trial %d", id.Trial), fmt.Sprintf("trial %d", from.Trial)
	}
}

type phaseClass struct{ phase, class string }

// flight is the time in which a request was under way; done is zero for one that was
// so when the run ended.
type flight struct{ sent, done time.Time }

func newRows() *rows {
	return &rows{
		phases:  make(map[phaseClass]*phaseRows),
		lines:   make(map[line]*attempts),
		jobs:    make(map[string]*jobHistory),
		series:  make(map[seriesKey]*series),
		tracks:  make(map[string][]track),
		scraped: make(map[string]time.Time),
		cycles:  make(map[cycleKey]*cycleRows),
		load:    make(loadSeconds),
		counts:  make(map[string]*classTokens),
	}
}

// same holds every row against the first one.
func (r *rows) same(id identity) error {
	if r.identity == (identity{}) {
		r.identity = id
	}
	if id != r.identity {
		has, first := id.differs(r.identity)
		return fmt.Errorf("it is of %s, the first row of %s", has, first)
	}
	return nil
}

// contextOverflow is how vLLM and the OpenAI API begin to say that a prompt and its
// output do not fit the model.
const contextOverflow = "maximum context length"

func (r *rows) addRequest(q *record.Request) error {
	if err := r.same(identity{q.Experiment, q.Arm, q.Trial}); err != nil {
		return err
	}
	if err := checkRequest(q); err != nil {
		return err
	}
	r.requests++
	r.load.add(q)
	r.addCounts(q)
	if q.DueAt != nil {
		r.scheduled++
		if q.SentAt != nil {
			r.sent++
		}
	}
	if q.HTTPStatus != nil && *q.HTTPStatus == 400 && q.Error != nil && strings.Contains(*q.Error, contextOverflow) {
		r.overflows++
		if r.overflow == "" || *q.Error < r.overflow {
			r.overflow = *q.Error
		}
	}
	if q.Class == record.ClassBatch || q.Class == record.ClassBatchEquivalent {
		if err := r.addLine(q); err != nil {
			return err
		}
	}
	if q.Class != record.ClassBatch && q.Class != record.ClassBatchEquivalent && q.Status == record.StatusOK {
		r.others.add(usageOf(q))
	}
	if q.Class == record.ClassBatchEquivalent && q.SentAt != nil {
		f := flight{sent: *q.SentAt}
		if q.DoneAt != nil {
			f.done = *q.DoneAt
		}
		r.flights = append(r.flights, f)
	}
	if q.Phase == nil || q.Warmup || q.Status != record.StatusOK {
		r.ttfts.addKnown(q.TTFTS)
	}
	if q.Phase != nil {
		r.addScheduled(q)
	}
	return nil
}

// addScheduled takes a request that belongs to a phase. Those of the warm-up count in their
// cycle alone.
func (r *rows) addScheduled(q *record.Request) {
	key := cycleKey{phaseClass: phaseClass{*q.Phase, q.Class}, warmup: q.Warmup}
	if q.Cycle != nil {
		key.cycle = *q.Cycle
	}
	c := r.cycleOf(key)
	c.add(q)
	if c.phase != nil {
		c.phase.add(q)
	}
	if q.Status == record.StatusOK {
		r.judge(c, answerOf(q))
	}
}

// cycleOf is where the rows of a cycle are kept. Most rows are of the cycle of the one
// before.
func (r *rows) cycleOf(key cycleKey) *cycleRows {
	if r.latest != nil && r.latest.key == key {
		return r.latest
	}
	c := r.cycles[key]
	if c == nil {
		// A string of a row shares the memory of its whole batch.
		key.phase, key.class = strings.Clone(key.phase), strings.Clone(key.class)
		c = &cycleRows{key: key, seconds: make(map[int64]*second)}
		r.cycles[key] = c
		if !key.warmup {
			if r.phases[key.phaseClass] == nil {
				r.phases[key.phaseClass] = &phaseRows{byStatus: make(map[string]int)}
			}
			c.phase = r.phases[key.phaseClass]
		}
	}
	r.latest = c
	return c
}

// checkRequest refuses what no run can have observed.
func checkRequest(q *record.Request) error {
	if !slices.Contains(record.Statuses, q.Status) {
		return fmt.Errorf("status: found %q, expected one of %s", q.Status, strings.Join(record.Statuses, ", "))
	}
	for _, d := range []struct {
		name     string
		value    *float64
		negative bool // may be
	}{
		{"lateness_s", q.LatenessS, true},
		{"ttft_s", q.TTFTS, false}, {"ttft_from_due_s", q.TTFTFromDueS, true},
		{"e2e_s", q.E2ES, false}, {"e2e_from_due_s", q.E2EFromDueS, true},
		{"tpot_s", q.TPOTS, false},
	} {
		switch {
		case d.value == nil:
		case math.IsNaN(*d.value) || math.IsInf(*d.value, 0):
			return fmt.Errorf("%s: found %v, expected a finite number or null", d.name, *d.value)
		case *d.value < 0 && !d.negative:
			return fmt.Errorf("%s: found %v, expected 0 or more", d.name, *d.value)
		}
	}
	for _, n := range []struct {
		name  string
		value *int64
	}{
		{"prompt_tokens", q.PromptTokens}, {"cached_tokens", q.CachedTokens},
		{"output_tokens", q.OutputTokens}, {"reasoning_tokens", q.ReasoningTokens},
	} {
		if n.value != nil && *n.value < 0 {
			return fmt.Errorf("%s: found %d, expected 0 or more", n.name, *n.value)
		}
	}
	if len(q.ChunkGapS) > 0 && len(q.ChunkTokens) != len(q.ChunkGapS)+1 {
		return fmt.Errorf("chunk_tokens: found %d values beside %d in chunk_gap_s, expected one more than gaps",
			len(q.ChunkTokens), len(q.ChunkGapS))
	}
	for _, gap := range q.ChunkGapS {
		if !(gap >= 0 && gap <= math.MaxFloat32) {
			return fmt.Errorf("chunk_gap_s: found %v, expected finite numbers of 0 or more", gap)
		}
	}
	for _, k := range q.ChunkTokens {
		if k < 0 {
			return fmt.Errorf("chunk_tokens: found %d, expected 0 or more", k)
		}
	}
	return nil
}

func (r *rows) addJob(j *record.Job) error {
	if err := r.same(identity{j.Experiment, j.Arm, j.Trial}); err != nil {
		return err
	}
	h := r.jobs[j.Job]
	if h == nil {
		h = &jobHistory{name: j.Job}
		r.jobs[j.Job] = h
	}
	h.add(*j)
	return nil
}
