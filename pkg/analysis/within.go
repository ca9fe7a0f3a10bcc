package analysis

import "bgbench/pkg/stats"

// QuantileWithin is an interval of a percentile from the order statistics of the rows of one
// trial. It says how well the trial knows its own percentile and nothing about other
// trials: those vary by more.
type QuantileWithin struct {
	Metric   string   `json:"metric"`           // ttft, tpot or e2e
	Stat     string   `json:"stat"`             // p50, p95, …
	N        int      `json:"n"`                // rows
	Low      *float64 `json:"ci_low"`           // order statistic below
	High     *float64 `json:"ci_high"`          // order statistic above
	Coverage *float64 `json:"coverage"`         // the probability that the ranks enclose it, at least 0.95
	Reason   string   `json:"reason,omitempty"` // why there is none
}

// within lists the intervals of p50, p95 and p99. Gaps of one
// request are no independent draws, so that ITL has none.
func within(metric string, sorted rising) []QuantileWithin {
	var out []QuantileWithin
	for _, q := range []struct {
		stat string
		p    float64
	}{{StatP50, 0.5}, {StatP95, 0.95}, {StatP99, 0.99}} {
		one := QuantileWithin{Metric: metric, Stat: q.stat, N: len(sorted)}
		if ranks, ok := stats.QuantileRanks(len(sorted), q.p, level); ok {
			one.Low, one.High, one.Coverage = finite(sorted.at(ranks.Low-1)), finite(sorted.at(ranks.High-1)), finite(ranks.Coverage)
		} else {
			one.Reason = "too few rows: no two of them enclose it in 95 of 100 trials"
		}
		out = append(out, one)
	}
	return out
}
