package analysis

import (
	"strings"

	"bgbench/pkg/spec"
)

// MetricKey names a metric in ArmResult: phase/class/metric/statistic.
func MetricKey(phase, class, metric, stat string) string {
	return strings.Join([]string{phase, class, metric, stat}, "/")
}

// Metrics and statistics that keys are built from. Latencies come as p50, p95 and
// p99, everything else as value:
//
//	burst/interactive/ttft/p95
//	burst/interactive/error_rate/value
//	idle/batch/requests_per_s/value    requests that the jobs completed in the phase
//	all/batch/ttft/p50                 batch-equivalent requests of all measured phases
//	all/batch/completion_s/A           job A
//	all/batch/evictions/value          in the measured time
const (
	MetricTTFT         = "ttft"
	MetricTTFTAdjusted = "ttft_error_adjusted"
	MetricTTFTFromDue  = "ttft_from_due"
	MetricITL          = "itl"
	MetricTPOT         = "tpot"
	MetricE2E          = "e2e"
	MetricErrorRate    = "error_rate"
	MetricOKPerS       = "ok_requests_per_s"
	MetricOutputTokens = "output_tokens_per_s"
	MetricRequestsPerS = "requests_per_s"
	MetricE2EFromDue   = "e2e_from_due"
	MetricGoodput      = "goodput"
	MetricCachedTokens = "cached_tokens"

	MetricCompletion    = "completion_s" // the statistic is the name of the job
	MetricAIMDDecreases = "aimd_decreases"
	MetricAIMDIncreases = "aimd_increases"
	MetricAIMDLimit     = "aimd_limit"
	MetricSaturation    = "saturation"
	MetricWaited        = "waited"
	MetricEvictions     = "evictions"
	MetricGateClosed    = "gate_closed"
	MetricRedone        = "redone_tokens"
	MetricCompleted     = "completed" // lines in the measured time
	MetricSpan          = "span_s"
	MetricDeadlines     = "deadlines_met"
	MetricLines         = "lines"

	StatP50   = "p50"
	StatP90   = "p90"
	StatP999  = "p99_9"
	StatP95   = "p95"
	StatP99   = "p99"
	StatValue = "value"

	StatMin            = "min"
	StatMean           = "mean"
	StatMax            = "max"
	StatFull           = "full"
	StatRatio          = "ratio"
	StatPerInteractive = "per_interactive_request"
	StatPerS           = "per_s"
	StatLines          = "lines" // of the lines, not the jobs
	StatLost           = "lost"
	StatDuplicated     = "duplicated"
	StatRetried        = "retried"
	StatEvicted        = "evicted"

	// UnitCount is the unit of what is counted.
	UnitCount = "1"

	// PhaseAll stands for all measured phases together.
	PhaseAll = "all"
)

// interactivePhases are those whose requests are what batch work must not slow down;
// all of them where the schedule has no interactive one.
func interactivePhases(in spec.Interactive) []spec.Phase {
	var own []spec.Phase
	for _, p := range in.Phases {
		if p.Class == spec.ClassInteractive {
			own = append(own, p)
		}
	}
	if len(own) == 0 {
		return in.Phases
	}
	return own
}

// BurstPhase is the interactive phase with the highest rate, whatever its name; the
// first of several.
func BurstPhase(in spec.Interactive) string {
	var burst spec.Phase
	for _, p := range interactivePhases(in) {
		if burst.Name == "" || p.Offered() > burst.Offered() {
			burst = p
		}
	}
	return burst.Name
}

// IdlePhase is the interactive phase with the lowest rate, whatever its name; the
// first of several.
func IdlePhase(in spec.Interactive) string {
	var idle spec.Phase
	for _, p := range interactivePhases(in) {
		if idle.Name == "" || p.Offered() < idle.Offered() {
			idle = p
		}
	}
	return idle.Name
}

// Which values of a metric are the better ones.
const (
	betterLower  = "lower"
	betterHigher = "higher"
	neither      = "neither"
)

// betterOf says which values of the metric of a key are the better ones. How often a
// protection engaged is neither.
func betterOf(key string) string {
	metric := ""
	if parts := strings.Split(key, "/"); len(parts) > 2 {
		metric = parts[2]
	}
	switch metric {
	case MetricTTFT, MetricTTFTAdjusted, MetricTTFTFromDue, MetricITL, MetricTPOT, MetricE2E, MetricE2EFromDue,
		MetricErrorRate, MetricCompletion, MetricSpan, MetricRedone, MetricLines:
		return betterLower
	case MetricOKPerS, MetricOutputTokens, MetricRequestsPerS, MetricGoodput, MetricCachedTokens, MetricCompleted, MetricDeadlines:
		return betterHigher
	}
	return neither
}
