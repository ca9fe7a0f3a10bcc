package analysis

import "bgbench/pkg/record"

// measure is one number of a cell that is compared over trials and arms.
type measure struct {
	phase, class, metric, stat, unit string
	value                            Value
}

func (m measure) key() string { return MetricKey(m.phase, m.class, m.metric, m.stat) }

// measures lists the numbers of a cell in a fixed order.
func measures(c CellResult) []measure {
	var out []measure
	add := func(phase, class, metric, stat, unit string, v Value) {
		out = append(out, measure{phase, class, metric, stat, unit, v})
	}
	percentiles := func(phase, class, metric string, d Distribution) {
		add(phase, class, metric, StatP50, d.Unit, d.P50)
		add(phase, class, metric, StatP90, d.Unit, d.P90)
		add(phase, class, metric, StatP95, d.Unit, d.P95)
		add(phase, class, metric, StatP99, d.Unit, d.P99)
		if d.P999.Value != nil { // it takes 2,995 rows: few trials have as many
			add(phase, class, metric, StatP999, d.Unit, d.P999)
		}
	}
	for _, p := range c.Phases {
		percentiles(p.Phase, p.Class, MetricTTFT, p.TTFT)
		percentiles(p.Phase, p.Class, MetricTTFTAdjusted, p.TTFTAdjusted)
		if p.Class != record.ClassBatchEquivalent { // a backlog has no due times
			percentiles(p.Phase, p.Class, MetricTTFTFromDue, p.TTFTFromDue)
		}
		percentiles(p.Phase, p.Class, MetricITL, p.ITL)
		percentiles(p.Phase, p.Class, MetricTPOT, p.TPOT)
		percentiles(p.Phase, p.Class, MetricE2E, p.E2E)
		if p.Class != record.ClassBatchEquivalent {
			percentiles(p.Phase, p.Class, MetricE2EFromDue, p.E2EFromDue)
		}
		add(p.Phase, p.Class, MetricGoodput, StatRatio, "ratio", p.Goodput.Good.asValue())
		add(p.Phase, p.Class, MetricGoodput, StatPerS, "requests/s", p.Goodput.PerS)
		add(p.Phase, p.Class, MetricCachedTokens, StatRatio, "ratio", p.CachedTokensRatio)
		add(p.Phase, p.Class, MetricErrorRate, StatValue, "ratio", p.ErrorRate)
		add(p.Phase, p.Class, MetricOKPerS, StatValue, "requests/s", p.OKPerS)
		add(p.Phase, p.Class, MetricOutputTokens, StatValue, "tokens/s", p.OutputTokensPerS)
	}
	if len(c.Batch.PerPhase) == 0 {
		return out // an arm without batch work
	}
	seen := make(map[string]bool)
	for _, b := range c.Bands {
		if v, ok := c.Batch.PerPhase[b.Phase]; ok && !seen[b.Phase] {
			seen[b.Phase] = true
			add(b.Phase, record.ClassBatch, MetricRequestsPerS, StatValue, "requests/s", v)
			if e := c.Mechanisms.Eviction; e != nil {
				add(b.Phase, record.ClassBatch, MetricEvictions, StatValue, UnitCount, e.ByPhase[b.Phase])
			}
		}
	}
	percentiles(PhaseAll, record.ClassBatch, MetricTTFT, c.Batch.TTFT)
	percentiles(PhaseAll, record.ClassBatch, MetricE2E, c.Batch.E2E)
	batch := func(metric, stat, unit string, v Value) { add(PhaseAll, record.ClassBatch, metric, stat, unit, v) }
	for _, j := range c.Jobs {
		batch(MetricCompletion, j.Job, "s", j.CompletionS)
	}
	batch(MetricRequestsPerS, StatValue, "requests/s", c.Batch.AllPerS)
	batch(MetricCompleted, StatValue, UnitCount, c.batchCompleted())
	batch(MetricSpan, StatValue, "s", c.Batch.SpanS)
	batch(MetricCachedTokens, StatRatio, "ratio", c.Batch.CachedTokensRatio)
	batch(MetricDeadlines, StatRatio, "ratio", c.Batch.Deadlines.Met.asValue())
	batch(MetricDeadlines, StatLines, "ratio", c.Batch.Deadlines.Lines.asValue())
	batch(MetricLines, StatLost, UnitCount, measured(float64(c.Batch.Lines.Lost), c.Batch.Lines.Submitted))
	batch(MetricLines, StatDuplicated, UnitCount, measured(float64(c.Batch.Lines.Duplicated), c.Batch.Lines.Submitted))
	batch(MetricLines, StatRetried, UnitCount, c.Batch.Lines.ofAttempts(c.Batch.Lines.Retried))
	batch(MetricLines, StatEvicted, UnitCount, c.Batch.Lines.ofAttempts(c.Batch.Lines.Evicted))
	if a := c.Mechanisms.AIMD; a != nil {
		batch(MetricAIMDDecreases, StatValue, UnitCount, a.Decreases)
		batch(MetricAIMDIncreases, StatValue, UnitCount, a.Increases)
		batch(MetricAIMDLimit, StatMin, "requests", a.LowestLimit)
		batch(MetricAIMDLimit, StatMean, "requests", a.MeanLimit)
	}
	if s := c.Mechanisms.Saturation; s != nil {
		batch(MetricSaturation, StatMax, "ratio", s.Max)
		batch(MetricSaturation, StatFull, "ratio", s.Full)
	}
	if q := c.Mechanisms.Queue; q != nil {
		batch(MetricWaited, StatValue, UnitCount, q.Waited)
	}
	if e := c.Mechanisms.Eviction; e != nil {
		batch(MetricEvictions, StatValue, UnitCount, e.Issued)
		batch(MetricEvictions, StatPerInteractive, "ratio", e.PerInteractive)
	}
	if g := c.Mechanisms.Gate; g != nil {
		batch(MetricGateClosed, StatValue, "ratio", g.Closed)
	}
	batch(MetricRedone, StatValue, "tokens", c.Tokens.Redone)
	batch(MetricRedone, StatRatio, "ratio", c.Tokens.RedoneRatio)
	return out
}

// batchCompleted is the lines that the jobs completed in the measured time.
func (c CellResult) batchCompleted() Value {
	if c.Batch.AllPerS.Value == nil {
		return c.Batch.AllPerS
	}
	return measured(float64(c.Batch.AllPerS.N), c.Batch.AllPerS.N)
}
