package analysis

import (
	"time"

	"bgbench/pkg/spec"
)

// SchemaVersion of Results. It changes when a reader of the old one would be misled.
const SchemaVersion = "bgbench.results/1"

// Results is results.json.
type Results struct {
	SchemaVersion string          `json:"schema_version"` // bgbench.results/1
	Experiment    spec.Experiment `json:"experiment"`     // resolved
	Arms          []ArmResult     `json:"arms"`           // in the order of the experiment
	Cells         []CellResult    `json:"cells"`          // by arm, then trial
	Warnings      []Warning       `json:"warnings"`       // what to know before believing the numbers
	// Changed are the settings that were declared otherwise when the cells ran. What rests on
	// one of them has no verdict.
	Changed []ChangedSetting `json:"settings_changed"`

	Steps    []Step       `json:"steps"`     // of the chains that the experiment declares
	Suite    []SuiteRow   `json:"suite"`     // arms as published runs put them
	TradeOff []TradePoint `json:"trade_off"` // arms with batch work

	keys fileKeys // of the file that they were read from
}

// Warning is something that a reader must know before believing the numbers.
type Warning struct {
	Arm     string `json:"arm,omitempty"`   // absent where it concerns the whole
	Trial   int    `json:"trial,omitempty"` // absent where it concerns the whole
	Message string `json:"message"`         // in words
}

// Value is a number, or the reason why there is none.
type Value struct {
	Value  *float64 `json:"value"`            // null where there is none; never NaN or infinite
	N      int      `json:"n"`                // rows (or gaps) that it is computed from
	Reason string   `json:"reason,omitempty"` // why it is null
}

// Distribution of one quantity over the raw rows of a phase, in Unit.
type Distribution struct {
	Unit string `json:"unit"`  // s
	N    int    `json:"n"`     // values
	Mean Value  `json:"mean"`  // arithmetic
	P50  Value  `json:"p50"`   // quantile of type 7
	P90  Value  `json:"p90"`   // quantile of type 7
	P95  Value  `json:"p95"`   // quantile of type 7
	P99  Value  `json:"p99"`   // quantile of type 7
	P999 Value  `json:"p99_9"` // quantile of type 7
	Max  Value  `json:"max"`   // largest value
}

// CellResult is the summary of one cell.
type CellResult struct {
	Arm   string `json:"arm"`   // its name
	Trial int    `json:"trial"` // counted from 1
	Seed  int64  `json:"seed"`  // of the trial
	Dir   string `json:"dir"`   // folder, relative to the experiment; - for a stream
	// Valid is false when any check failed; the cell is then left out of the
	// summaries over trials.
	Valid  bool    `json:"valid"`
	Checks []Check `json:"checks"` // what makes the cell valid
	// LoadWarnings are those that bg-load left in run-metadata.json, such as polls
	// that failed.
	LoadWarnings []string `json:"warnings"`
	// StartedAt is the instant of schedule time 0; times in Bands and Curves count
	// seconds from it, and jobs submitted before it have negative times.
	StartedAt time.Time      `json:"started_at"`
	EndedAt   time.Time      `json:"ended_at"` // after the last row
	Clock     string         `json:"clock"`    // wall or virtual
	Bands     []Band         `json:"bands"`    // phases of all cycles on the time axis
	Phases    []PhaseSummary `json:"phases"`   // one for each phase and class
	Jobs      []JobSummary   `json:"jobs"`     // in the order of the profile
	Batch     BatchSummary   `json:"batch"`    // the jobs together
	Curves    []Curve        `json:"curves"`   // for drawing
	// Mechanisms says what engaged in the measured time, whether it was promised or not.
	Mechanisms Mechanisms   `json:"mechanisms"`
	Tokens     TokenSummary `json:"tokens"` // computed against needed
	// TokenCounts says how long requests were against what was asked for.
	TokenCounts []TokenCounts `json:"token_counts"`
	// QueueTimes and Release say how long the router let requests wait, and how soon an
	// eviction gave room; Release only in arms with eviction.
	QueueTimes     []QueueTimes     `json:"queue_times"`
	Release        *ReleaseTimes    `json:"eviction_release,omitempty"` // from an order to evict to the end of the stream
	Infrastructure []Infrastructure `json:"infrastructure"`             // metrics of the servers by phase
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
	Name     string `json:"name"`     // what is asked
	OK       bool   `json:"ok"`       // whether it holds
	Evidence string `json:"evidence"` // what was found, in words
}

// Band is one phase of one cycle on the time axis.
type Band struct {
	Phase  string  `json:"phase"`   // its name
	Cycle  int     `json:"cycle"`   // counted from 0
	Warmup bool    `json:"warmup"`  // not measured
	StartS float64 `json:"start_s"` // from started_at
	EndS   float64 `json:"end_s"`   // from started_at
}

// PhaseSummary pools the rows of one class in one phase over the measured cycles.
type PhaseSummary struct {
	Phase    string         `json:"phase"`     // its name
	Class    string         `json:"class"`     // interactive, batch, batch-equivalent or standard
	WindowS  float64        `json:"window_s"`  // measured seconds of this phase
	Requests int            `json:"requests"`  // offered
	ByStatus map[string]int `json:"by_status"` // requests by how they ended
	// ErrorRate is the share of offered requests that did not end ok.
	ErrorRate          Value `json:"error_rate"`
	OfferedPerS        Value `json:"offered_requests_per_s"` // requests over window_s
	OKPerS             Value `json:"ok_requests_per_s"`      // those that ended ok over window_s
	OutputTokensPerS   Value `json:"output_tokens_per_s"`    // of requests that ended ok
	PromptTokensPerS   Value `json:"prompt_tokens_per_s"`    // of requests that ended ok
	CachedTokensRatio  Value `json:"cached_tokens_ratio"`    // of prompt tokens, found in the prefix cache
	CrossesPhaseCount  int   `json:"crosses_phase"`          // requests that ended in another phase than they began in
	IncompleteRequests int   `json:"incomplete"`             // requests in flight when the run ended

	// Latencies of requests that ended ok, from the time they were sent; the
	// FromDue ones from the time they were due.
	TTFT        Distribution `json:"ttft"`
	TTFTFromDue Distribution `json:"ttft_from_due"` // first token less due time
	ITL         Distribution `json:"itl"`           // every gap of every request, divided over the tokens of its chunk
	TPOT        Distribution `json:"tpot"`          // time per output token after the first, one value a request
	E2E         Distribution `json:"e2e"`           // done less send
	E2EFromDue  Distribution `json:"e2e_from_due"`  // done less due time
	// TTFTAdjusted counts a failed request as +inf; a percentile that falls on one
	// is null with the reason.
	TTFTAdjusted Distribution `json:"ttft_error_adjusted"`
	Lateness     Distribution `json:"lateness"` // send less due time, of all requests
	CDFs         CDFs         `json:"cdf"`      // for drawing

	Errors       Share            `json:"errors"`         // ErrorRate with its interval
	ErrorsByKind map[string]Share `json:"errors_by_kind"` // shares by status
	Goodput      Goodput          `json:"goodput"`        // requests that kept every bound of the SLO
	// TTFTCensored and E2ECensored allow for requests that did not come to an end.
	TTFTCensored CensoredTimes    `json:"ttft_censored"`
	E2ECensored  CensoredTimes    `json:"e2e_censored"` // the same to the end of the answer
	Within       []QuantileWithin `json:"within_trial"` // intervals within this trial
	Cycles       []CycleSummary   `json:"cycles"`       // one by one, warm-up included
	Steadiness   Steadiness       `json:"steadiness"`   // how the mean TTFT moved over time
}

// JobSummary is the end of one batch job.
type JobSummary struct {
	Job       string `json:"job"`       // its name
	Status    string `json:"status"`    // at the last observation
	Total     int64  `json:"total"`     // lines
	Completed int64  `json:"completed"` // lines with an ok result
	Failed    int64  `json:"failed"`    // lines with another result
	// CompletionS is completed_at − created_at; null with the reason when the job
	// did not complete.
	CompletionS Value   `json:"completion_s"`
	WindowS     float64 `json:"window_s"` // completion window
	// Met says that the job completed inside its window with no failed line.
	Met bool `json:"met"`
	// ObservedS is the time from the creation of the job to its last observation.
	ObservedS Value `json:"observed_s"`
	// WaitS is how long the job waited for a worker of the batch gateway, MarginS what
	// was left of its window when it completed, negative if it was late.
	WaitS   Value `json:"wait_s"`
	MarginS Value `json:"margin_s"` // window less completion; negative if late
	// InWindow is the share of the lines that had completed when the window ended.
	InWindow Value            `json:"in_window_ratio"`
	PerPhase map[string]Value `json:"requests_per_s_by_phase"` // lines a second by phase
	// LineTimes is from the creation of the job to the completion of a line.
	LineTimes CensoredTimes `json:"line_times"`
}

// BatchSummary is the work that the jobs got done.
type BatchSummary struct {
	// Requests completed per second of measured phase, from the progress of the jobs.
	IdlePerS  Value            `json:"idle_requests_per_s"`
	BurstPerS Value            `json:"burst_requests_per_s"`    // lines a second in the phase with the highest rate
	PerPhase  map[string]Value `json:"requests_per_s_by_phase"` // lines a second by phase
	// TTFT of batch requests where rows have it (s1); null with the reason else.
	TTFT Distribution `json:"ttft"`
	// E2E of lines first sent in the measured time, from the first send to the end of
	// the attempt that ended ok; null with the reason where rows do not have it.
	E2E       Distribution `json:"e2e"`
	Deadlines Deadlines    `json:"deadlines"` // whether and in which order jobs ended within their windows
	// AllPerS is over all measured phases together, SpanS from the creation of the first
	// job to the completion of the last.
	AllPerS Value `json:"requests_per_s"`
	SpanS   Value `json:"span_s"` // from the creation of the first job to the completion of the last
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
	NeededOutput   Value `json:"needed_output"`   // output tokens of results that ended ok
	NeededPrompt   Value `json:"needed_prompt"`   // not found in a cache
	Generated      Value `json:"generated"`       // by all servers
	ComputedPrompt Value `json:"computed_prompt"` // not found in a cache
	// Redone is computed − needed: done again, or returned to nobody.
	Redone      Value `json:"redone"`
	RedoneRatio Value `json:"redone_ratio"` // of needed
}

// OutputComparison counts the lines whose output differs from that of another cell.
type OutputComparison struct {
	Run       string `json:"run,omitempty"` // its experiment, where it is a reference run
	Reference string `json:"reference"`     // arm
	Compared  int    `json:"compared"`      // lines that both have
	Different int    `json:"different"`     // of those, with another output
}

// Accounting says where the lines of the jobs went.
type Accounting struct {
	Submitted  int `json:"submitted"`  // lines of all jobs, from the profile
	OK         int `json:"ok"`         // with an ok result
	Failed     int `json:"failed"`     // the only result is no ok
	Unfinished int `json:"unfinished"` // no terminal result, because the job had none either
	Lost       int `json:"lost"`       // no terminal result, although the job ended
	Duplicated int `json:"duplicated"` // more than one terminal result
	// Retried lines took more than one attempt, Evicted ones had an attempt that was
	// evicted. Null where attempts are hidden; Reason says why.
	Retried *int   `json:"retried"`
	Evicted *int   `json:"evicted"`          // lines with an attempt that was evicted
	Reason  string `json:"reason,omitempty"` // why retried and evicted are null
}

// Mechanisms says what of the protection engaged in the measured time. What the arm
// cannot have is absent.
type Mechanisms struct {
	Promised   []string         `json:"promised"`             // by the arm
	AIMD       *AIMDState       `json:"aimd,omitempty"`       // of the batch gateway
	Saturation *SaturationState `json:"saturation,omitempty"` // of the router's pool
	Queue      *QueueState      `json:"queue,omitempty"`      // of the router
	Ceiling    *CeilingState    `json:"ceiling,omitempty"`    // of holdback
	Eviction   *EvictionState   `json:"eviction,omitempty"`   // of the router
	Gate       *GateState       `json:"gate,omitempty"`       // of the async processor
}

// AIMDState is what the batch gateway's controller did.
type AIMDState struct {
	Decreases   Value `json:"decreases"`    // signals, those at the floor included
	Increases   Value `json:"increases"`    // of the limit, in the measured time
	LowestLimit Value `json:"lowest_limit"` // of those sampled
	MeanLimit   Value `json:"mean_limit"`   // over time
	// Limits are [seconds from StartedAt, limit] at each sample that differs from the
	// one before.
	Limits [][2]float64 `json:"limits"`
}

// SaturationState is how full the router took the pool to be.
type SaturationState struct {
	Max    Value  `json:"max"`        // of the samples in the measured time
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
	Priority int     `json:"priority"` // of the band
	Ceiling  float64 `json:"ceiling"`  // share of the pool
	// Limit is the ceiling in requests; 0 where another detector than requests counts.
	Limit       float64 `json:"limit"`
	MaxInFlight Value   `json:"max_in_flight"` // most of its requests in flight that were sampled
	// Above is the share of the time for which more were in flight than the limit and
	// the overshoot of a freed slot explain.
	Above Value `json:"above_ratio"`
	// Held is the share of the time for which requests of the band waited although the
	// pool was not full.
	Held Value `json:"held_ratio"`
}

// EvictionState is what the router evicted.
type EvictionState struct {
	Issued         Value              `json:"issued"`                  // by the router in the measured time
	ByPriority     map[string]float64 `json:"by_priority"`             // of the requests that were made room for
	ByPhase        map[string]Value   `json:"by_phase"`                // in the measured bands of each phase
	PerInteractive Value              `json:"per_interactive_request"` // evictions for interactive requests over those offered
}

// GateState is the dispatch budget of the async processor.
type GateState struct {
	Min    Value `json:"min"`          // of the dispatch budget
	Max    Value `json:"max"`          // of the dispatch budget
	Closed Value `json:"closed_ratio"` // share of the time at 0
}

// Curve is one thing over time, decimated for drawing.
type Curve struct {
	Name   string       `json:"name"`   // job:A, vllm:num_requests_running, …
	Source string       `json:"source"` // component, jobs or requests
	Unit   string       `json:"unit"`   // of the values
	Points [][2]float64 `json:"points"` // [seconds from StartedAt, value]
}

// ArmResult is an arm over its valid trials.
type ArmResult struct {
	Name        string `json:"name"`        // of the arm
	Description string `json:"description"` // of the arm
	Baseline    bool   `json:"baseline"`    // whether the others are compared with it
	// Factors are the keys that a sweep set, with their values, and SweptFrom is the arm
	// that it set them in. Point is that of the workload, where keys of the profile are
	// swept: there each point has a baseline.
	Factors   []spec.Factor `json:"factors,omitempty"`
	SweptFrom string        `json:"swept_from,omitempty"` // the arm that a sweep set them in
	Point     string        `json:"point,omitempty"`      // of a sweep over keys of the profile
	Trials    int           `json:"trials"`               // valid ones
	Invalid   int           `json:"invalid"`              // cells that were read and do not count
	// Metrics are keyed as MetricKey builds them: burst/interactive/ttft/p95.
	Metrics map[string]Estimate `json:"metrics"`
	// Against compares with the baseline, paired by trial, under the same keys.
	Against map[string]Comparison `json:"against_baseline"`
	Jobs    []ArmJob              `json:"jobs"` // in the order of the profile
	// Order asks over the trials whether jobs end by their deadlines.
	Order ArmOrder `json:"deadline_order"`
}

// Estimate is one metric over trials. Values stand in the order of the trials; a
// trial without a value is null.
type Estimate struct {
	Unit      string     `json:"unit"`                // of all values
	Values    []*float64 `json:"values"`              // of each trial
	Median    *float64   `json:"median"`              // of the trials
	Min       *float64   `json:"min"`                 // of the trials, from 2 on
	Max       *float64   `json:"max"`                 // of the trials, from 2 on
	GeoMean   *float64   `json:"geomean"`             // from 3 trials on
	Low       *float64   `json:"ci_low"`              // bound of the geometric mean
	High      *float64   `json:"ci_high"`             // bound of the geometric mean
	Level     float64    `json:"ci_level"`            // 0.95
	Method    string     `json:"ci_method,omitempty"` // t on logs
	Reason    string     `json:"reason,omitempty"`    // why there is no value or no interval
	TrialsUse int        `json:"n"`                   // trials with a value

	Mean *float64 `json:"mean"` // arithmetic, to be read with min and max
	// MeanLow and MeanHigh bound it where logs can't, of many trials.
	MeanLow    *float64 `json:"mean_ci_low,omitempty"`
	MeanHigh   *float64 `json:"mean_ci_high,omitempty"`   // upper bound of the mean
	MeanMethod string   `json:"mean_ci_method,omitempty"` // BCa bootstrap
	// MedianLow and MedianHigh bound the median of all trials that might be run, without
	// any assumption, from 6 trials on: then the smallest and the largest value enclose it
	// with a probability of 0.97. Coverage is that of the bounds given.
	MedianLow      *float64 `json:"median_ci_low"`
	MedianHigh     *float64 `json:"median_ci_high"`     // upper bound of the median
	MedianCoverage *float64 `json:"median_ci_coverage"` // probability that the bounds enclose it
	// Bootstrap is a second opinion on a percentile of which the rows are at hand.
	Bootstrap *SecondOpinion `json:"bootstrap,omitempty"`
}

// SecondOpinion is the interval of a percentile of all rows, whose trials and then whose rows
// were resampled.
type SecondOpinion struct {
	Low    *float64 `json:"ci_low"`              // bound of the percentile
	High   *float64 `json:"ci_high"`             // bound of the percentile
	Method string   `json:"ci_method,omitempty"` // hierarchical bootstrap
	Reason string   `json:"reason,omitempty"`    // why there is none
}

// Comparison is the ratio arm / baseline over paired trials.
type Comparison struct {
	Ratio  *float64 `json:"ratio"`            // geometric mean of arm over baseline
	Low    *float64 `json:"ci_low"`           // bound of the ratio
	High   *float64 `json:"ci_high"`          // bound of the ratio
	Level  float64  `json:"ci_level"`         // of the interval, 0.95
	Pairs  int      `json:"pairs"`            // trials with a value in both
	Reason string   `json:"reason,omitempty"` // why a figure is missing
	// MDE is the smallest change that as many pairs could have shown, as a share of
	// the baseline: 0.1 is a rise by 10 %. Null below 3 pairs; Reason says why.
	MDE *float64 `json:"mde"`
	// Margin is the non-inferiority margin, and OneSidedLow and OneSidedHigh the
	// one-sided bounds that each test compares with 1 + Margin. Verdict is one of
	// the Verdict constants; these, P and PAdjusted only on the metrics that have a verdict.
	Margin       *float64 `json:"margin,omitempty"`
	OneSidedLow  *float64 `json:"one_sided_low,omitempty"`  // one-sided lower bound of the ratio
	OneSidedHigh *float64 `json:"one_sided_high,omitempty"` // one-sided upper bound of the ratio
	// P is the smaller p-value of the two one-sided tests, PAdjusted what Holm's method
	// makes of it in the family of all verdicts of the experiment; the verdict rests on
	// the latter.
	P         *float64 `json:"p,omitempty"`
	PAdjusted *float64 `json:"p_adjusted,omitempty"` // by Holm's method
	Verdict   string   `json:"verdict,omitempty"`    // protected, degraded or no conclusion

	// DifferenceP is the two-sided p-value of the ratio being 1. PermutationP is that of
	// the exact test that takes no distribution for granted: signs of the log ratios are
	// flipped in all ways. With n pairs it can't be below PermutationFloor, so that it is
	// null where that is above 0.05.
	DifferenceP      *float64 `json:"p_difference"`
	PermutationP     *float64 `json:"p_permutation"`       // of the exact test
	PermutationFloor *float64 `json:"p_permutation_floor"` // least p of the exact test with as many pairs
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
	Job         string   `json:"job"`          // its name
	WindowS     float64  `json:"window_s"`     // completion window
	CompletionS Estimate `json:"completion_s"` // created_at to completed_at, over the trials
	Met         int      `json:"met"`          // trials in which it completed within its window with no failed line
	Trials      int      `json:"trials"`       // that met is out of
	MetShare    Share    `json:"met_ratio"`    // Met over Trials
	// Censored counts the trials in which the job did not complete.
	Censored CensoredTimes `json:"completion_censored"`
}
