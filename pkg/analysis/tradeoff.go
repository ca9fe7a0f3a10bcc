package analysis

import "bgbench/pkg/record"

// TradePoint is what an arm gives both sides: how long interactive requests of the busiest
// phase wait, and how much batch work gets done. Frontier says that no other arm that was
// tested on the same workload has less of the one and more of the other: the best of those tested, which is no
// optimum. It goes by medians and tests nothing.
type TradePoint struct {
	Arm       string `json:"arm"`                  // its name
	TTFTP95   Value  `json:"ttft_p95_s"`           // median of interactive requests in the busiest phase
	BatchPerS Value  `json:"batch_requests_per_s"` // median of lines a second
	Frontier  bool   `json:"frontier"`             // no tested arm is as good in both and better in one
}

// tradeOff fills TradeOff from the arms with batch work.
func (r *Results) tradeOff() {
	r.TradeOff = []TradePoint{}
	value := func(e Estimate) Value { return Value{Value: e.Median, N: e.TrialsUse, Reason: e.Reason} }
	for _, a := range r.Arms {
		burst := BurstPhase(r.Experiment.ProfileOf(a.Name).Interactive)
		batch, ok := a.Metrics[MetricKey(PhaseAll, record.ClassBatch, MetricRequestsPerS, StatValue)]
		if !ok {
			continue
		}
		p := TradePoint{Arm: a.Name, TTFTP95: value(a.Metrics[MetricKey(burst, record.ClassInteractive, MetricTTFT, StatP95)]), BatchPerS: value(batch)}
		for _, v := range []*Value{&p.TTFTP95, &p.BatchPerS} {
			if v.Value != nil {
				v.Reason = ""
			}
		}
		r.TradeOff = append(r.TradeOff, p)
	}
	for i := range r.TradeOff {
		p := &r.TradeOff[i]
		p.Frontier = p.TTFTP95.Value != nil && p.BatchPerS.Value != nil
		for _, q := range r.TradeOff {
			same := r.Experiment.SweptOf(q.Arm).Point == r.Experiment.SweptOf(p.Arm).Point
			p.Frontier = p.Frontier && !(same && q.dominates(*p))
		}
	}
}

// dominates: at least as good on both sides and better on one.
func (p TradePoint) dominates(q TradePoint) bool {
	if p.TTFTP95.Value == nil || p.BatchPerS.Value == nil {
		return false
	}
	faster, more := *q.TTFTP95.Value-*p.TTFTP95.Value, *p.BatchPerS.Value-*q.BatchPerS.Value
	return faster >= 0 && more >= 0 && faster+more > 0
}
