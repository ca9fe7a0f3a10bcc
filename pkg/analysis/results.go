package analysis

import (
	"time"

	"bgbench/pkg/spec"
)

// SchemaVersion of Results. It changes when a reader of the old one would be misled.
const SchemaVersion = "bgbench.results/1"

// Results is results.json.
type Results struct {
	SchemaVersion string          `json:"schema_version"`
	Experiment    spec.Experiment `json:"experiment"` // resolved
	Arms          []ArmResult     `json:"arms"`       // in the order of the experiment
	Cells         []CellResult    `json:"cells"`      // by arm, then trial
	Warnings      []Warning       `json:"warnings"`

	Steps    []Step       `json:"steps"`     // of the chains that the experiment declares
	Suite    []SuiteRow   `json:"suite"`     // arms as published runs put them
	TradeOff []TradePoint `json:"trade_off"` // arms with batch work
}

// Warning is something that a reader must know before believing the numbers.
type Warning struct {
	Arm     string `json:"arm,omitempty"`
	Trial   int    `json:"trial,omitempty"`
	Message string `json:"message"`
}

// Value is a number, or the reason why there is none.
type Value struct {
	Value  *float64 `json:"value"`
	N      int      `json:"n"` // rows (or gaps) that it is computed from
	Reason string   `json:"reason,omitempty"`
}

// Distribution of one quantity over the raw rows of a phase, in Unit.
type Distribution struct {
	Unit string `json:"unit"` // s
	N    int    `json:"n"`
	Mean Value  `json:"mean"`
	P50  Value  `json:"p50"`
	P90  Value  `json:"p90"`
	P95  Value  `json:"p95"`
	P99  Value  `json:"p99"`
	P999 Value  `json:"p99_9"`
	Max  Value  `json:"max"`
}

// CellResult is the summary of one cell.
type CellResult struct {
	Arm   string `json:"arm"`
	Trial int    `json:"trial"`
	Seed  int64  `json:"seed"`
	Dir   string `json:"dir"`
	// Valid is false when any check failed; the cell is then left out of the
	// summaries over trials.
	Valid  bool    `json:"valid"`
	Checks []Check `json:"checks"`
	// LoadWarnings are those that bg-load left in run-metadata.json, such as polls
	// that failed.
	LoadWarnings []string `json:"warnings"`
	// StartedAt is the instant of schedule time 0; times in Bands and Curves count
	// seconds from it, and jobs submitted before it have negative times.
	StartedAt time.Time      `json:"started_at"`
	EndedAt   time.Time      `json:"ended_at"`
	Clock     string         `json:"clock"` // wall or virtual
	Bands     []Band         `json:"bands"`
	Phases    []PhaseSummary `json:"phases"`
	Jobs      []JobSummary   `json:"jobs"`
	Batch     BatchSummary   `json:"batch"`
	Curves    []Curve        `json:"curves"`
	// Mechanisms says what engaged in the measured time, whether it was promised or not.
	Mechanisms Mechanisms   `json:"mechanisms"`
	Tokens     TokenSummary `json:"tokens"`
	// TokenCounts says how long requests were against what was asked for.
	TokenCounts []TokenCounts `json:"token_counts"`
	// QueueTimes and Release say how long the router let requests wait, and how soon an
	// eviction gave room; Release only in arms with eviction.
	QueueTimes     []QueueTimes     `json:"queue_times"`
	Release        *ReleaseTimes    `json:"eviction_release,omitempty"`
	Infrastructure []Infrastructure `json:"infrastructure"`
	// Agreement is a cross-check of clients and servers.
	Agreement TTFTAgreement `json:"ttft_agreement"`
	// Outputs compares with another arm of the trial; bg-analyze cell has none.
	Outputs *OutputComparison `json:"outputs,omitempty"`
	// ReferenceOutputs compares with a reference run, where one is given.
	ReferenceOutputs *OutputComparison `json:"reference_outputs,omitempty"`
	Versions         map[string]any    `json:"metadata"` // run-metadata.json as it is
}

// Check is one line of the validity of a cell.
type Check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Evidence string `json:"evidence"`
}

// Band is one phase of one cycle on the time axis.
type Band struct {
	Phase  string  `json:"phase"`
	Cycle  int     `json:"cycle"`
	Warmup bool    `json:"warmup"`
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
}

// PhaseSummary pools the rows of one class in one phase over the measured cycles.
type PhaseSummary struct {
	Phase    string         `json:"phase"`
	Class    string         `json:"class"`
	WindowS  float64        `json:"window_s"` // measured seconds of this phase
	Requests int            `json:"requests"` // offered
	ByStatus map[string]int `json:"by_status"`
	// ErrorRate is the share of offered requests that did not end ok.
	ErrorRate          Value `json:"error_rate"`
	OfferedPerS        Value `json:"offered_requests_per_s"`
	OKPerS             Value `json:"ok_requests_per_s"`
	OutputTokensPerS   Value `json:"output_tokens_per_s"`
	PromptTokensPerS   Value `json:"prompt_tokens_per_s"`
	CachedTokensRatio  Value `json:"cached_tokens_ratio"`
	CrossesPhaseCount  int   `json:"crosses_phase"`
	IncompleteRequests int   `json:"incomplete"`

	// Latencies of requests that ended ok, from the time they were sent; the
	// FromDue ones from the time they were due.
	TTFT        Distribution `json:"ttft"`
	TTFTFromDue Distribution `json:"ttft_from_due"`
	ITL         Distribution `json:"itl"` // every gap of every request, divided over the tokens of its chunk
	TPOT        Distribution `json:"tpot"`
	E2E         Distribution `json:"e2e"`
	E2EFromDue  Distribution `json:"e2e_from_due"`
	// TTFTAdjusted counts a failed request as +inf; a percentile that falls on one
	// is null with the reason.
	TTFTAdjusted Distribution `json:"ttft_error_adjusted"`
	Lateness     Distribution `json:"lateness"`
	CDFs         CDFs         `json:"cdf"` // for drawing

	Errors       Share            `json:"errors"` // ErrorRate with its interval
	ErrorsByKind map[string]Share `json:"errors_by_kind"`
	Goodput      Goodput          `json:"goodput"`
	// TTFTCensored and E2ECensored allow for requests that did not come to an end.
	TTFTCensored CensoredTimes    `json:"ttft_censored"`
	E2ECensored  CensoredTimes    `json:"e2e_censored"`
	Within       []QuantileWithin `json:"within_trial"`
	Cycles       []CycleSummary   `json:"cycles"`
	Steadiness   Steadiness       `json:"steadiness"`
}

// JobSummary is the end of one batch job.
type JobSummary struct {
	Job       string `json:"job"`
	Status    string `json:"status"` // at the last observation
	Total     int64  `json:"total"`
	Completed int64  `json:"completed"`
	Failed    int64  `json:"failed"`
	// CompletionS is completed_at − created_at; null with the reason when the job
	// did not complete.
	CompletionS Value   `json:"completion_s"`
	WindowS     float64 `json:"window_s"`
	// Met says that the job completed inside its window with no failed line.
	Met bool `json:"met"`
	// ObservedS is the time from the creation of the job to its last observation.
	ObservedS Value `json:"observed_s"`
	// WaitS is how long the job waited for a worker of the batch gateway, MarginS what
	// was left of its window when it completed, negative if it was late.
	WaitS   Value `json:"wait_s"`
	MarginS Value `json:"margin_s"`
	// InWindow is the share of the lines that had completed when the window ended.
	InWindow Value            `json:"in_window_ratio"`
	PerPhase map[string]Value `json:"requests_per_s_by_phase"`
	// LineTimes is from the creation of the job to the completion of a line.
	LineTimes CensoredTimes `json:"line_times"`
}

// BatchSummary is the work that the jobs got done.
type BatchSummary struct {
	// Requests completed per second of measured phase, from the progress of the jobs.
	IdlePerS  Value            `json:"idle_requests_per_s"`
	BurstPerS Value            `json:"burst_requests_per_s"`
	PerPhase  map[string]Value `json:"requests_per_s_by_phase"`
	// TTFT of batch requests where rows have it (s1); null with the reason else.
	TTFT Distribution `json:"ttft"`
	// E2E of lines first sent in the measured time, from the first send to the end of
	// the attempt that ended ok; null with the reason where rows do not have it.
	E2E       Distribution `json:"e2e"`
	Deadlines Deadlines    `json:"deadlines"`
	// AllPerS is over all measured phases together, SpanS from the creation of the first
	// job to the completion of the last.
	AllPerS Value `json:"requests_per_s"`
	SpanS   Value `json:"span_s"`
	// CachedTokensRatio is that of the lines that ended ok, warm-up and lead included.
	CachedTokensRatio Value `json:"cached_tokens_ratio"`
	// Lines accounts for every line of every job.
	Lines Accounting `json:"lines"`
	// Evicted follows evictions to a final result, in an arm with eviction.
	Evicted *EvictedWork `json:"evicted,omitempty"`
}

// EvictedWork is what was evicted over the whole run and what became of it.
type EvictedWork struct {
	Issued    Value `json:"issued"`     // by the router
	Attempts  Value `json:"attempts"`   // of lines, evicted
	Lines     Value `json:"lines"`      // that had one
	OneResult Value `json:"one_result"` // of those, with exactly one final result, an ok
	Retries   Value `json:"retries"`    // of the async processor, for whatever reason
}

// TokenSummary holds what the servers computed over the whole run, for all classes,
// against what the final results needed.
type TokenSummary struct {
	NeededOutput   Value `json:"needed_output"`
	NeededPrompt   Value `json:"needed_prompt"` // not found in a cache
	Generated      Value `json:"generated"`
	ComputedPrompt Value `json:"computed_prompt"` // not found in a cache
	// Redone is computed − needed: done again, or returned to nobody.
	Redone      Value `json:"redone"`
	RedoneRatio Value `json:"redone_ratio"` // of needed
}

// OutputComparison counts the lines whose output differs from that of another cell.
type OutputComparison struct {
	Run       string `json:"run,omitempty"` // its experiment, where it is a reference run
	Reference string `json:"reference"`     // arm
	Compared  int    `json:"compared"`
	Different int    `json:"different"`
}

// Accounting says where the lines of the jobs went.
type Accounting struct {
	Submitted  int `json:"submitted"` // lines of all jobs, from the profile
	OK         int `json:"ok"`
	Failed     int `json:"failed"`
	Unfinished int `json:"unfinished"` // no terminal result, because the job had none either
	Lost       int `json:"lost"`       // no terminal result, although the job ended
	Duplicated int `json:"duplicated"` // more than one terminal result
	// Retried lines took more than one attempt, Evicted ones had an attempt that was
	// evicted. Null where attempts are hidden; Reason says why.
	Retried *int   `json:"retried"`
	Evicted *int   `json:"evicted"`
	Reason  string `json:"reason,omitempty"`
}

// Mechanisms says what of the protection engaged in the measured time. What the arm
// cannot have is absent.
type Mechanisms struct {
	Promised   []string         `json:"promised"` // by the arm
	AIMD       *AIMDState       `json:"aimd,omitempty"`
	Saturation *SaturationState `json:"saturation,omitempty"`
	Queue      *QueueState      `json:"queue,omitempty"`
	Ceiling    *CeilingState    `json:"ceiling,omitempty"`
	Eviction   *EvictionState   `json:"eviction,omitempty"`
	Gate       *GateState       `json:"gate,omitempty"`
}

// AIMDState is what the batch gateway's controller did.
type AIMDState struct {
	Decreases   Value `json:"decreases"` // signals, those at the floor included
	Increases   Value `json:"increases"`
	LowestLimit Value `json:"lowest_limit"` // of those sampled
	MeanLimit   Value `json:"mean_limit"`   // over time
	// Limits are [seconds from StartedAt, limit] at each sample that differs from the
	// one before.
	Limits [][2]float64 `json:"limits"`
}

// SaturationState is how full the router took the pool to be.
type SaturationState struct {
	Max    Value  `json:"max"`
	Full   Value  `json:"full_ratio"` // share of the time at 1 or more
	Source string `json:"source"`     // the metric that it is computed from
	// Refused counts the requests that admission control refused, which it does only
	// while the pool is full: a pool can be full between two samples. Null under flow
	// control, whose refusals have other causes too.
	Refused Value `json:"refused"`
}

// QueueState is the router's queue.
type QueueState struct {
	Waited     Value              `json:"waited"`      // requests that left it after more than 0.1 s
	ByPriority map[string]float64 `json:"by_priority"` // of those
	Longest    Value              `json:"longest"`     // of the lengths sampled
}

// CeilingState is the lowest priority band under holdback.
type CeilingState struct {
	Priority int     `json:"priority"`
	Ceiling  float64 `json:"ceiling"` // share of the pool
	// Limit is the ceiling in requests; 0 where another detector than requests counts.
	Limit       float64 `json:"limit"`
	MaxInFlight Value   `json:"max_in_flight"`
	// Above is the share of the time for which more were in flight than the limit and
	// the overshoot of a freed slot explain.
	Above Value `json:"above_ratio"`
	// Held is the share of the time for which requests of the band waited although the
	// pool was not full.
	Held Value `json:"held_ratio"`
}

// EvictionState is what the router evicted.
type EvictionState struct {
	Issued         Value              `json:"issued"`
	ByPriority     map[string]float64 `json:"by_priority"` // of the requests that were made room for
	ByPhase        map[string]Value   `json:"by_phase"`    // in the measured bands of each phase
	PerInteractive Value              `json:"per_interactive_request"`
}

// GateState is the dispatch budget of the async processor.
type GateState struct {
	Min    Value `json:"min"`
	Max    Value `json:"max"`
	Closed Value `json:"closed_ratio"` // share of the time at 0
}

// Curve is one thing over time, decimated for drawing.
type Curve struct {
	Name   string       `json:"name"` // job:A, vllm:num_requests_running, …
	Source string       `json:"source"`
	Unit   string       `json:"unit"`
	Points [][2]float64 `json:"points"` // [seconds from StartedAt, value]
}

// ArmResult is an arm over its valid trials.
type ArmResult struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Baseline    bool   `json:"baseline"`
	// Factors are the keys that a sweep set, with their values, and SweptFrom is the arm
	// that it set them in. Point is that of the workload, where keys of the profile are
	// swept: there each point has a baseline.
	Factors   []spec.Factor `json:"factors,omitempty"`
	SweptFrom string        `json:"swept_from,omitempty"`
	Point     string        `json:"point,omitempty"`
	Trials    int           `json:"trials"` // valid ones
	Invalid   int           `json:"invalid"`
	// Metrics are keyed as MetricKey builds them: burst/interactive/ttft/p95.
	Metrics map[string]Estimate `json:"metrics"`
	// Against compares with the baseline, paired by trial, under the same keys.
	Against map[string]Comparison `json:"against_baseline"`
	Jobs    []ArmJob              `json:"jobs"`
	// Order asks over the trials whether jobs end by their deadlines.
	Order ArmOrder `json:"deadline_order"`
}

// Estimate is one metric over trials. Values stand in the order of the trials; a
// trial without a value is null.
type Estimate struct {
	Unit      string     `json:"unit"`
	Values    []*float64 `json:"values"`
	Median    *float64   `json:"median"`
	Min       *float64   `json:"min"`
	Max       *float64   `json:"max"`
	GeoMean   *float64   `json:"geomean"`
	Low       *float64   `json:"ci_low"`
	High      *float64   `json:"ci_high"`
	Level     float64    `json:"ci_level"`            // 0.95
	Method    string     `json:"ci_method,omitempty"` // t on logs
	Reason    string     `json:"reason,omitempty"`    // why there is no value or no interval
	TrialsUse int        `json:"n"`

	Mean *float64 `json:"mean"` // arithmetic, to be read with min and max
	// MeanLow and MeanHigh bound it where logs can't, of many trials.
	MeanLow    *float64 `json:"mean_ci_low,omitempty"`
	MeanHigh   *float64 `json:"mean_ci_high,omitempty"`
	MeanMethod string   `json:"mean_ci_method,omitempty"` // BCa bootstrap
	// MedianLow and MedianHigh bound the median of all trials that might be run, without
	// any assumption, from 6 trials on: then the smallest and the largest value enclose it
	// with a probability of 0.97. Coverage is that of the bounds given.
	MedianLow      *float64 `json:"median_ci_low"`
	MedianHigh     *float64 `json:"median_ci_high"`
	MedianCoverage *float64 `json:"median_ci_coverage"`
	// Bootstrap is a second opinion on a percentile of which the rows are at hand.
	Bootstrap *SecondOpinion `json:"bootstrap,omitempty"`
}

// SecondOpinion is the interval of a percentile of all rows, whose trials and then whose rows
// were resampled.
type SecondOpinion struct {
	Low    *float64 `json:"ci_low"`
	High   *float64 `json:"ci_high"`
	Method string   `json:"ci_method,omitempty"` // hierarchical bootstrap
	Reason string   `json:"reason,omitempty"`
}

// Comparison is the ratio arm / baseline over paired trials.
type Comparison struct {
	Ratio  *float64 `json:"ratio"`
	Low    *float64 `json:"ci_low"`
	High   *float64 `json:"ci_high"`
	Level  float64  `json:"ci_level"`
	Pairs  int      `json:"pairs"`
	Reason string   `json:"reason,omitempty"`
	// MDE is the smallest change that as many pairs could have shown, as a share of
	// the baseline: 0.1 is a rise by 10 %. Null below 3 pairs; Reason says why.
	MDE *float64 `json:"mde"`
	// Margin is the non-inferiority margin, and OneSidedLow and OneSidedHigh the
	// one-sided bounds that each test compares with 1 + Margin. Verdict is one of
	// the Verdict constants; these, P and PAdjusted only on the metrics that have a verdict.
	Margin       *float64 `json:"margin,omitempty"`
	OneSidedLow  *float64 `json:"one_sided_low,omitempty"`
	OneSidedHigh *float64 `json:"one_sided_high,omitempty"`
	// P is the smaller p-value of the two one-sided tests, PAdjusted what Holm's method
	// makes of it in the family of all verdicts of the experiment; the verdict rests on
	// the latter.
	P         *float64 `json:"p,omitempty"`
	PAdjusted *float64 `json:"p_adjusted,omitempty"`
	Verdict   string   `json:"verdict,omitempty"`

	// DifferenceP is the two-sided p-value of the ratio being 1. PermutationP is that of
	// the exact test that takes no distribution for granted: signs of the log ratios are
	// flipped in all ways. With n pairs it can't be below PermutationFloor, so that it is
	// null where that is above 0.05.
	DifferenceP      *float64 `json:"p_difference"`
	PermutationP     *float64 `json:"p_permutation"`
	PermutationFloor *float64 `json:"p_permutation_floor"`
	// EquivalenceP, on metrics with a verdict, is that of the two one-sided tests (TOST):
	// up to 0.05 the two arms are shown to be within Margin of each other.
	EquivalenceP *float64 `json:"p_equivalence,omitempty"`
}

// Verdicts. They follow tests at the 5 % level and nothing else.
const (
	VerdictProtected    = "protected"     // at most Margin worse than the baseline
	VerdictDegraded     = "degraded"      // more than Margin worse than the baseline
	VerdictNoConclusion = "no conclusion" // neither was shown
)

// ArmJob is one job over the valid trials of an arm.
type ArmJob struct {
	Job         string   `json:"job"`
	WindowS     float64  `json:"window_s"`
	CompletionS Estimate `json:"completion_s"`
	Met         int      `json:"met"`
	Trials      int      `json:"trials"`
	MetShare    Share    `json:"met_ratio"`
	// Censored counts the trials in which the job did not complete.
	Censored CensoredTimes `json:"completion_censored"`
}
