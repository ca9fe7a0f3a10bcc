//go:build published

package pipelines

import (
	"fmt"
	"math"
	"slices"

	"bgbench/pkg/analysis"
)

// row is one published figure beside the model's. Where a published run does not say
// what it ran on, a ratio of two of its arms is compared: lengths and hardware that we
// had to choose move both.
type row struct {
	what, published string
	model           func(runs map[string]analysis.Results) (float64, error)
	unit            string // of the figure: "", "s", "%" or what is counted
	low, high       float64
}

func (r row) format(v float64) string {
	switch r.unit {
	case "":
		return fmt.Sprintf("%.3g", v)
	case "s":
		return fmt.Sprintf("%.3g s", v)
	}
	return fmt.Sprintf("%.0f %s", v, r.unit)
}

func (r row) band() string {
	if r.low == r.high {
		return r.format(r.low)
	}
	if math.IsInf(r.high, 1) {
		return "at least " + r.format(r.low)
	}
	return r.format(r.low) + " to " + r.format(r.high)
}

// Keys of results.json.
const (
	realtimeP95   = "realtime/interactive/ttft/p95"
	realtimeBatch = "realtime/batch/requests_per_s/value"
	evictions     = "all/batch/evictions/value"
	redone        = "all/batch/redone_tokens/value"
)

var published = []row{
	// Holdback and eviction under a fixed schedule: a public write-up on llm-d's router
	// with flow control, medians over three runs.
	{"holdback: realtime TTFT p95, unprotected over alone", "1.64", ratio("holdback", realtimeP95, "h1-unprotected", "h0-realtime-only"), "", 1.2, 3.3},
	{"holdback: the same, reserve of a half over alone", "1.00", ratio("holdback", realtimeP95, "h2-holdback", "h0-realtime-only"), "", 0.9, 1.1},
	{"holdback: the same, reserve and eviction over alone", "1.02", ratio("holdback", realtimeP95, "h3-holdback-evict", "h0-realtime-only"), "", 0.9, 1.1},
	{"holdback: batch requests done in 300 s with the reserve", "1,648", scaled(300, median("holdback", realtimeBatch, "h2-holdback")), "requests", 1200, 2200},
	{"holdback: batch throughput, with eviction over without", "1.09", ratio("holdback", realtimeBatch, "h3-holdback-evict", "h2-holdback"), "", 0.95, 1.2},
	{"holdback: evictions in three runs", "38", total("holdback", evictions, "h3-holdback-evict"), "evictions", 19, 76},
	{"holdback: lines without exactly one final result", "0 of 38 evicted", stray("holdback", "h3-holdback-evict"), "lines", 0, 0},
	{"reserve sweep: TTFT p95 of the worst over the best of 25, 50 and 75 %", "1.09", spread("reserve-sweep", realtimeP95, "h3-minCeiling-0.75", "h3-minCeiling-0.5", "h3-minCeiling-0.25"), "", 1, 1.25},
	{"reserve sweep: evictions at 50 %", "0", total("reserve-sweep", evictions, "h3-minCeiling-0.5"), "evictions", 0, 3},
	{"eviction isolation: TTFT p95, with eviction over without", "0.78", ratio("eviction-isolation", realtimeP95, "h3-holdback-evict", "h2-holdback"), "", 0.6, 0.95},
	{"eviction isolation: evictions", "25", median("eviction-isolation", evictions, "h3-holdback-evict"), "evictions", 10, 75},
	{"eviction isolation: tokens computed again", "9,076", median("eviction-isolation", redone, "h3-holdback-evict"), "tokens", 3000, 27000},
	{"eviction isolation: batch throughput, with eviction over without", "below 1: batch p95 8.5 to 12.2 s", ratio("eviction-isolation", realtimeBatch, "h3-holdback-evict", "h2-holdback"), "", 0.6, 1},

	// Holdback beside eviction: a public eviction suite for llm-d's router v0.10 with a
	// processor that resumes evicted streams, one H200, three runs an arm.
	{"1.5B: interactive TTFT p50 alone (0.11 s of it are the path)", "0.13 s", median("eviction", "steady-1/interactive/ttft/p50", "e-interactive-only"), "s", 0.11, 0.16},
	{"1.5B: evictions per interactive request at 4 req/s, eviction only", "0.9", perInteractive("eviction", "steady-4", "e-evict-resume-true"), "", 0.7, 1.2},
	// 219 evictions at 9 in 10 are some 240 requests at 4 req/s: a minute. None in the 60
	// and 120 of a minute at 1 and 2 req/s bounds a share at 3/60 and 3/120 (rule of three).
	{"1.5B: evictions per interactive request at 1 req/s, reserve of 20 %", "0 (of some 60)", perInteractive("eviction", "steady-1", "e-evict-holdback-80-resume-true"), "", 0, 0.05},
	{"1.5B: the same at 2 req/s", "0 (of some 120)", perInteractive("eviction", "steady-2", "e-evict-holdback-80-resume-true"), "", 0, 0.025},
	{"1.5B: evictions at 4 req/s, reserve of 20 % over none", "0.08 (18 of 219)", quotient(
		inPhase("eviction", "steady-4", "e-evict-holdback-80-resume-true"), inPhase("eviction", "steady-4", "e-evict-resume-true")), "", 0, 0.2},
	{"1.5B: bursts of 32 overwhelm a reserve of 20 %: TTFT p50 over alone", "above 1", ratio("eviction", "burst/interactive/ttft/p50", "e-evict-holdback-80-resume-true", "e-interactive-only"), "", 1.1, math.Inf(1)},
	{"1.5B: TTFT p50 in bursts, reserve of 40 % without eviction over with", "4.8 (1.05 s over 0.22 s)", ratio("eviction", "burst/interactive/ttft/p50", "e-holdback-60", "e-evict-holdback-60-resume-true"), "", 2, 10},
	{"1.5B: end of the last job, reserve of 20 % over none", "some 1.1 (up to 3 s)", ratio("eviction", "all/batch/completion_s/C", "e-evict-holdback-80-resume-true", "e-evict-resume-true"), "", 1, 1.25},
	{"1.5B: tokens computed again, restart over resume", "above 1", ratio("eviction", redone, "e-evict-resume-false", "e-evict-resume-true"), "", 2, math.Inf(1)},
	{"1.5B: lines whose text differs from that of an arm without eviction", "0", different("eviction"), "lines", 0, 0},

	{"14B: evictions, no reserve", "166", median("eviction-long-prompts", evictions, "e-evict"), "evictions", 83, 332},
	{"14B: evictions, reserve of 10 %", "11", median("eviction-long-prompts", evictions, "e-evict-holdback-90"), "evictions", 3, 44},
	{"14B: evictions, reserve of 20 %", "2", median("eviction-long-prompts", evictions, "e-evict-holdback-80"), "evictions", 0, 8},
	{"14B: interactive TTFT p95, no reserve", "0.92 s", median("eviction-long-prompts", "steady/interactive/ttft/p95", "e-evict"), "s", 0.37, 2.3},
	{"14B: interactive TTFT p95, reserve of 10 %", "0.92 s", median("eviction-long-prompts", "steady/interactive/ttft/p95", "e-evict-holdback-90"), "s", 0.37, 2.3},
	{"14B: interactive TTFT p95, reserve of 20 %", "0.92 s", median("eviction-long-prompts", "steady/interactive/ttft/p95", "e-evict-holdback-80"), "s", 0.37, 2.3},
	{"14B: end of the last job, reserve of 20 % over none", "1.04 to 1.05", ratio("eviction-long-prompts", "all/batch/completion_s/C", "e-evict-holdback-80", "e-evict"), "", 1, 1.1},

	{"32B: requests that run of 128 in flight", "about 28", gauge("kv-bound", "vllm:num_requests_running", "e-none"), "requests", 22, 36},
	{"32B: requests that wait in vLLM", "about 100", gauge("kv-bound", "vllm:num_requests_waiting", "e-none"), "requests", 75, 125},
	{"32B: interactive TTFT p50, counting requests, no reserve", "about 50 s", median("kv-bound", "steady/interactive/ttft/p50", "e-evict"), "s", 25, 100},
	{"32B: the same, reserve of 20 % over none", "1", ratio("kv-bound", "steady/interactive/ttft/p50", "e-evict-holdback-80", "e-evict"), "", 0.75, 1.33},
	{"32B: length of a run", "about 960 s", length("kv-bound", "e-evict"), "s", 480, 1920},

	// The seven scenarios in public runs: llm-d-batch-gateway issue 491.
	{"scenarios: TTFT p99 in bursts, ungated requests over flow control", "1.5 (492 over 337 ms)", ratio("batch-gateway", "burst/interactive/ttft/p99", "s1-no-gateway", "s4-flow-control-aimd"), "", 1.2, math.Inf(1)},
	{"scenarios: the same, flow control over a plain cap", "3.5 (337 over 95 ms)", ratio("batch-gateway", "burst/interactive/ttft/p99", "s4-flow-control-aimd", "s6-low-concurrency"), "", 1.2, math.Inf(1)},
	{"scenarios: end of job C over end of job A with a worker for each", "1.0 (12, 12, 12 min)", ratio2("batch-gateway", "s2-ungated", "all/batch/completion_s/C", "all/batch/completion_s/A"), "", 0.95, 1.1},
	{"scenarios: AIMD decreases under a limit that is never reached", "0 (flat at its maximum)", total("upstream-values", "all/batch/aimd_decreases/value", "s4-upstream"), "decreases", 0, 0},
	{"scenarios: share of lines lost to a request timeout of 30 s", "0.4 % (11 of 3,000)", failed("upstream-values", "s4-upstream"), "‰", 1, 100},
}

// of finds an arm of an experiment, all of whose trials must be valid.
func of(runs map[string]analysis.Results, experiment, arm string) (analysis.ArmResult, error) {
	r, err := read(runs, experiment)
	if err != nil {
		return analysis.ArmResult{}, err
	}
	i := slices.IndexFunc(r.Arms, func(a analysis.ArmResult) bool { return a.Name == arm })
	switch {
	case i < 0:
		return analysis.ArmResult{}, fmt.Errorf("experiment %s has no arm %s", experiment, arm)
	case r.Arms[i].Invalid > 0:
		return analysis.ArmResult{}, fmt.Errorf("experiment %s: %d trials of arm %s are INVALID", experiment, r.Arms[i].Invalid, arm)
	}
	return r.Arms[i], nil
}

type figure = func(runs map[string]analysis.Results) (float64, error)

func median(experiment, metric, arm string) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		a, err := of(runs, experiment, arm)
		if err != nil {
			return 0, err
		}
		m := a.Metrics[metric]
		if m.Median == nil {
			return 0, fmt.Errorf("experiment %s, arm %s: %s has no value: %s", experiment, arm, metric, m.Reason)
		}
		return *m.Median, nil
	}
}

// total is the sum over trials.
func total(experiment, metric, arm string) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		a, err := of(runs, experiment, arm)
		if err != nil {
			return 0, err
		}
		sum := 0.0
		for i, v := range a.Metrics[metric].Values {
			if v == nil {
				return 0, fmt.Errorf("experiment %s, arm %s, trial %d: %s has no value", experiment, arm, i+1, metric)
			}
			sum += *v
		}
		if len(a.Metrics[metric].Values) == 0 {
			return 0, fmt.Errorf("experiment %s, arm %s has no %s", experiment, arm, metric)
		}
		return sum, nil
	}
}

func quotient(above, below figure) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		a, err := above(runs)
		if err != nil {
			return 0, err
		}
		b, err := below(runs)
		if err == nil && b == 0 {
			err = fmt.Errorf("the divisor is 0")
		}
		return a / b, err
	}
}

func ratio(experiment, metric, arm, over string) figure {
	return quotient(median(experiment, metric, arm), median(experiment, metric, over))
}

// ratio2 divides two metrics of one arm.
func ratio2(experiment, arm, metric, over string) figure {
	return quotient(median(experiment, metric, arm), median(experiment, over, arm))
}

func scaled(by float64, f figure) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		v, err := f(runs)
		return v * by, err
	}
}

// spread is the largest of the arms' medians over the smallest.
func spread(experiment, metric string, arms ...string) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		var all []float64
		for _, arm := range arms {
			v, err := median(experiment, metric, arm)(runs)
			if err != nil {
				return 0, err
			}
			all = append(all, v)
		}
		return slices.Max(all) / slices.Min(all), nil
	}
}

// cells are those of one arm.
func cells(runs map[string]analysis.Results, experiment, arm string) ([]analysis.CellResult, error) {
	if _, err := of(runs, experiment, arm); err != nil {
		return nil, err
	}
	var all []analysis.CellResult
	for _, c := range runs[experiment].Cells {
		if c.Arm == arm {
			all = append(all, c)
		}
	}
	return all, nil
}

// overCells adds up a count of each cell of an arm.
func overCells(experiment, arm string, count func(analysis.CellResult) (float64, error)) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		all, err := cells(runs, experiment, arm)
		if err != nil {
			return 0, err
		}
		sum := 0.0
		for _, c := range all {
			n, err := count(c)
			if err != nil {
				return 0, fmt.Errorf("experiment %s, arm %s, trial %d: %w", experiment, arm, c.Trial, err)
			}
			sum += n
		}
		return sum, nil
	}
}

// stray counts lines without exactly one result.
func stray(experiment, arm string) figure {
	return overCells(experiment, arm, func(c analysis.CellResult) (float64, error) {
		l := c.Batch.Lines
		return float64(l.Lost + l.Duplicated + l.Failed + l.Unfinished), nil
	})
}

// failed is the share of lines without a good result, in thousandths.
func failed(experiment, arm string) figure {
	lines := overCells(experiment, arm, func(c analysis.CellResult) (float64, error) { return float64(c.Batch.Lines.Submitted), nil })
	return scaled(1000, quotient(stray(experiment, arm), lines))
}

// different counts the lines of all arms whose text is not that of the first arm.
func different(experiment string) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		r, err := read(runs, experiment)
		if err != nil {
			return 0, err
		}
		sum, compared := 0, 0
		for _, c := range r.Cells {
			if c.Outputs != nil {
				sum += c.Outputs.Different
				compared += c.Outputs.Compared
			}
		}
		if compared == 0 {
			return 0, fmt.Errorf("experiment %s: no output was compared", experiment)
		}
		return float64(sum), nil
	}
}

// inPhase counts evictions of all trials in one phase.
func inPhase(experiment, phase, arm string) figure {
	return total(experiment, analysis.MetricKey(phase, "batch", analysis.MetricEvictions, analysis.StatValue), arm)
}

func perInteractive(experiment, phase, arm string) figure {
	requests := overCells(experiment, arm, func(c analysis.CellResult) (float64, error) {
		for _, p := range c.Phases {
			if p.Phase == phase && p.Class == "interactive" {
				return float64(p.Requests), nil
			}
		}
		return 0, fmt.Errorf("no interactive requests in phase %s", phase)
	})
	return quotient(inPhase(experiment, phase, arm), requests)
}

// gauge is the median of a gauge's samples in the measured time, all trials together.
func gauge(experiment, name, arm string) figure {
	return func(runs map[string]analysis.Results) (float64, error) {
		all, err := cells(runs, experiment, arm)
		if err != nil {
			return 0, err
		}
		var samples []float64
		for _, c := range all {
			end := c.Bands[len(c.Bands)-1].EndS
			for _, curve := range c.Curves {
				for _, p := range curve.Points {
					if curve.Name == name && p[0] >= 0 && p[0] <= end {
						samples = append(samples, p[1])
					}
				}
			}
		}
		if len(samples) == 0 {
			return 0, fmt.Errorf("experiment %s, arm %s: no samples of %s", experiment, arm, name)
		}
		slices.Sort(samples)
		return samples[len(samples)/2], nil
	}
}

// length is how long the trials took on average, lead and drain included.
func length(experiment, arm string) figure {
	seconds := overCells(experiment, arm, func(c analysis.CellResult) (float64, error) { return c.EndedAt.Sub(c.StartedAt).Seconds(), nil })
	trials := overCells(experiment, arm, func(analysis.CellResult) (float64, error) { return 1, nil })
	return quotient(seconds, trials)
}
