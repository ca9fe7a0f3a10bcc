package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/schedule"
	"bgbench/pkg/spec"
)

// cell puts the rows of a cell and its metadata together.
type cell struct {
	rows       *rows
	meta       record.Metadata
	raw        map[string]any
	arm        spec.Arm
	declared   *spec.Declaration // by the experiment when the cell ran; nil for a lone arm
	start      time.Time
	bands      []Band
	jobs       []*jobHistory // observed ones, in the order of the profile
	phases     []PhaseSummary
	accounting Accounting
	shards     []shard // none where one load generator played the cell
	disturbed  disturbances
}

// newCell reads metadata, the text of run-metadata.json, and holds the rows against it.
func newCell(r *rows, metadata []byte) (*cell, error) {
	c := &cell{rows: r}
	if err := decode(metadata, metadataFile, &c.meta); err != nil {
		return nil, err
	}
	exact := json.NewDecoder(bytes.NewReader(metadata))
	exact.UseNumber() // a seed may not fit a float64
	if err := exact.Decode(&c.raw); err != nil {
		return nil, fmt.Errorf("run-metadata.json: %w", err)
	}
	if c.meta.SchemaVersion != 1 {
		return nil, fmt.Errorf("run-metadata.json: schema_version: found %d, expected 1", c.meta.SchemaVersion)
	}
	if err := c.meta.Profile.Validate(); err != nil {
		return nil, fmt.Errorf("run-metadata.json: %w", err)
	}
	var of struct {
		Stack struct {
			Arm      spec.Arm          `json:"arm"`
			Declared *spec.Declaration `json:"declared"`
		} `json:"stack"`
	}
	if err := decode(metadata, metadataFile, &of); err != nil {
		return nil, err
	}
	c.declared = of.Stack.Declared
	if c.arm = of.Stack.Arm; c.arm.Dispatch == "" {
		return nil, fmt.Errorf("run-metadata.json: stack.arm.dispatch: found nothing, expected how batch work is dispatched")
	}
	want := identity{c.meta.Experiment, c.meta.Arm, int32(c.meta.Trial)}
	if r.requests > 0 && r.identity != want {
		rows, meta := r.identity.differs(want)
		return nil, fmt.Errorf("its rows are of %s, its run-metadata.json is of %s", rows, meta)
	}
	r.declare(c.meta.Profile.SLO)
	c.layBands()
	return c, c.orderJobs()
}

func (c *cell) layBands() {
	c.start = c.meta.ScheduleStartedAt
	for _, b := range schedule.Bands(c.meta.Profile.Interactive) {
		c.bands = append(c.bands, Band{b.Phase, b.Cycle, b.Warmup, b.Start.Seconds(), b.End.Seconds()})
	}
}

// measuredBands are the bands of a phase in the measured cycles; of all phases for "".
func (c *cell) measuredBands(phase string) []Band {
	var out []Band
	for _, b := range c.bands {
		if !b.Warmup && (phase == "" || b.Phase == phase) {
			out = append(out, b)
		}
	}
	return out
}

func (c *cell) window(phase string) float64 { return lengthOf(c.measuredBands(phase)) }

func lengthOf(bands []Band) float64 {
	var sum float64
	for _, b := range bands {
		sum += b.EndS - b.StartS
	}
	return sum
}

func (c *cell) hasBatch() bool {
	return c.arm.Dispatch != spec.DispatchNone && len(c.meta.Profile.Batch.Jobs) > 0
}

func (c *cell) orderJobs() error {
	for _, j := range c.meta.Profile.Batch.Jobs {
		if h := c.rows.jobs[j.Name]; h != nil {
			h.sort()
			c.jobs = append(c.jobs, h)
		}
	}
	if len(c.jobs) < len(c.rows.jobs) {
		for name := range c.rows.jobs {
			if !slices.ContainsFunc(c.jobs, func(h *jobHistory) bool { return h.name == name }) {
				return fmt.Errorf("the job rows have job %q, which the profile does not have", name)
			}
		}
	}
	return nil
}

// result computes the summary of the cell.
func (c *cell) result(dir string) (CellResult, error) {
	if err := c.summarizePhases(); err != nil {
		return CellResult{}, err
	}
	if c.hasBatch() {
		var err error
		if c.accounting, err = c.rows.account(c.meta.Profile.Batch.Jobs, c.arm.Dispatch == spec.DispatchBacklog); err != nil {
			return CellResult{}, err
		}
	}
	mechanisms := c.mechanisms()
	result := CellResult{
		Arm: c.meta.Arm, Trial: c.meta.Trial, Seed: c.meta.Seed, Dir: dir,
		StartedAt: c.start, EndedAt: c.meta.EndedAt, Clock: c.meta.Clock,
		Bands: c.bands, Phases: c.phases, Jobs: []JobSummary{},
		Batch:      c.batch(),
		Curves:     append(c.curves(), c.rows.load.curves(c.start)...),
		Checks:     c.checks(mechanisms),
		Mechanisms: mechanisms,
		Tokens:     c.tokens(), TokenCounts: c.rows.tokenCounts(),
		Agreement:  c.agreement(),
		QueueTimes: c.queueTimes(), Infrastructure: c.infrastructure(),
		LoadWarnings: append([]string{}, c.meta.Warnings...),
		Versions:     c.raw,
	}
	if c.evicts() {
		result.Release = c.releaseTimes()
	}
	if c.hasBatch() {
		for _, j := range c.meta.Profile.Batch.Jobs {
			s := c.rows.jobs[j.Name].summary(j)
			s.PerPhase = c.jobRates(j.Name)
			result.Jobs = append(result.Jobs, s)
		}
		result.Batch.Deadlines = c.deadlines(result.Jobs)
	}
	result.Valid = !slices.ContainsFunc(result.Checks, func(c Check) bool { return !c.OK })
	return result, nil
}

// addCheck adds one that needs other cells.
func (r *CellResult) addCheck(c Check) {
	r.Checks = append(r.Checks, c)
	r.Valid = r.Valid && c.OK
}

// summarizePhases lists the phases in the order of the profile; the requests that a
// phase is of have a summary even where none was due.
func (c *cell) summarizePhases() error {
	known := make(map[phaseClass]bool)
	for _, phase := range phaseNames(c.meta.Profile.Interactive) {
		for _, class := range classes {
			key := phaseClass{phase, class}
			known[key] = true
			p := c.rows.phases[key]
			if p == nil && class == classOf(c.meta.Profile.Interactive, phase) {
				p = &phaseRows{byStatus: map[string]int{}}
			}
			if p != nil {
				cycles := c.cyclesOf(key)
				c.rows.pool(key, p)
				s := p.summary(key, c.window(phase), c.meta.Profile.SLO, c.meta.EndedAt)
				s.Cycles, s.Steadiness = cycles, c.steadiness(key)
				c.phases = append(c.phases, s)
			}
		}
	}
	for key := range c.rows.phases {
		if !known[key] {
			return fmt.Errorf("rows of phase %q, class %q: the profile has phases %v, classes are %v",
				key.phase, key.class, phaseNames(c.meta.Profile.Interactive), classes)
		}
	}
	return nil
}

// batch summarizes the work of the jobs.
func (c *cell) batch() BatchSummary {
	if !c.hasBatch() {
		b := withoutBatch("the arm has no batch work")
		b.Lines = c.accounting
		b.Lines.Reason = b.IdlePerS.Reason
		return b
	}
	b := BatchSummary{PerPhase: map[string]Value{}, Lines: c.accounting}
	in := c.meta.Profile.Interactive
	for _, phase := range phaseNames(in) {
		b.PerPhase[phase] = c.batchRate(c.measuredBands(phase))
	}
	b.AllPerS, b.SpanS, b.CachedTokensRatio = c.batchRate(c.measuredBands("")), c.batchSpan(), c.batchCached()
	b.IdlePerS, b.BurstPerS = b.PerPhase[IdlePhase(in)], b.PerPhase[BurstPhase(in)]

	var ttft sample
	none := "the Batch API does not say when a first token came"
	for _, phase := range phaseNames(in) {
		for _, class := range []string{record.ClassBatchEquivalent, record.ClassBatch} {
			if p := c.rows.phases[phaseClass{phase, class}]; p != nil {
				ttft.include(&p.ttft)
			}
		}
	}
	if c.arm.Dispatch == spec.DispatchBacklog {
		none = "no batch request of the measured phases ended ok"
	}
	b.TTFT = distribution(ttft.sorted(), "rows", none)
	b.E2E = c.batchE2E()
	if c.evicts() {
		b.Evicted = c.evicted()
	}
	return b
}

// jobRates are the lines that one job completed in each phase, per second.
func (c *cell) jobRates(name string) map[string]Value {
	out := make(map[string]Value)
	for _, phase := range phaseNames(c.meta.Profile.Interactive) {
		out[phase] = c.rateOf(slices.DeleteFunc(slices.Clone(c.jobs), func(h *jobHistory) bool { return h.name != name }), c.measuredBands(phase))
	}
	return out
}

// batchSpan is from the creation of the first job to the completion of the last.
func (c *cell) batchSpan() Value {
	if len(c.jobs) < len(c.meta.Profile.Batch.Jobs) {
		return missing(0, "%d of %d jobs were observed", len(c.jobs), len(c.meta.Profile.Batch.Jobs))
	}
	first, last := c.jobs[0].firstSeen(), time.Time{}
	for _, h := range c.jobs {
		if h.last.Status != "completed" || h.last.CompletedAt == nil {
			return missing(0, "job %s did not complete", h.name)
		}
		if at := h.firstSeen(); at.Before(first) {
			first = at
		}
		if h.last.CompletedAt.After(last) {
			last = *h.last.CompletedAt
		}
	}
	return measured(last.Sub(first).Seconds(), len(c.jobs))
}

// batchCached is the share of the prompt tokens of the lines that was found in a cache.
func (c *cell) batchCached() Value {
	var t tally
	for _, a := range c.rows.lines {
		if a.ok > 0 {
			t.add(a.usage)
		}
	}
	if t.withCached == 0 {
		return missing(t.results, "no result of a line says how much of its prompt was cached")
	}
	return measured(float64(t.cached)/float64(t.withCached), t.results-t.silent-t.cachedUnknown)
}

// batchRate is the lines completed in bands, per second.
func (c *cell) batchRate(bands []Band) Value { return c.rateOf(c.jobs, bands) }

func (c *cell) rateOf(jobs []*jobHistory, bands []Band) Value {
	if !c.hasBatch() {
		return missing(0, "the arm has no batch work")
	}
	if len(jobs) == 0 {
		return missing(0, "no job was ever observed")
	}
	if c.start.IsZero() {
		return missing(0, "the schedule never started")
	}
	done, unknown := completedIn(jobs, bands, c.start)
	if unknown != "" {
		return missing(0, "%s", unknown)
	}
	return perSecond(done, lengthOf(bands), int(done+0.5))
}
