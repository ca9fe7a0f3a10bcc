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
		add(phase, class, metric, StatP95, d.Unit, d.P95)
		add(phase, class, metric, StatP99, d.Unit, d.P99)
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
		}
	}
	percentiles(PhaseAll, record.ClassBatch, MetricTTFT, c.Batch.TTFT)
	return out
}
