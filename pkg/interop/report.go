package interop

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"time"

	"github.com/google/uuid"

	"bgbench/pkg/spec"
)

// Report is llm-d-benchmark's benchmark report v0.2 (schema_v0_2.py as of 2026-08-21),
// the part of it that has something of ours. Unknown keys are refused by its readers
// everywhere but under observability, profiling, native and generic components.
type Report struct {
	Version  string         `json:"version"`
	Run      reportRun      `json:"run"`
	Scenario reportScenario `json:"scenario"`
	Results  reportResults  `json:"results"`
}

type reportRun struct {
	UID         string      `json:"uid"`
	EID         string      `json:"eid,omitempty"`
	Time        *reportTime `json:"time,omitempty"`
	Description string      `json:"description"`
	Keywords    []string    `json:"keywords"`
}

type reportTime struct {
	Start    *time.Time `json:"start,omitempty"`
	End      *time.Time `json:"end,omitempty"`
	Duration string     `json:"duration,omitempty"` // ISO 8601
}

type reportScenario struct {
	Stack []reportComponent `json:"stack,omitempty"`
	Load  *reportLoad       `json:"load,omitempty"`
}

type reportMetadata struct {
	SchemaVersion string `json:"schema_version"`
	Label         string `json:"label,omitempty"`
	CfgID         string `json:"cfg_id"`
	Description   string `json:"description,omitempty"`
}

type reportNative struct {
	Args   map[string]any `json:"args,omitempty"`
	Config any            `json:"config,omitempty"`
}

type reportComponent struct {
	Metadata     reportMetadata `json:"metadata"`
	Standardized struct {
		Kind        string `json:"kind"`
		Tool        string `json:"tool"`
		ToolVersion string `json:"tool_version"`
	} `json:"standardized"`
	Native reportNative `json:"native"`
}

type reportLoad struct {
	Metadata     reportMetadata `json:"metadata"`
	Standardized struct {
		Tool         string        `json:"tool"`
		ToolVersion  string        `json:"tool_version"`
		Parallelism  int           `json:"parallelism"`
		Source       string        `json:"source"` // random, sampled or unknown
		Stage        int           `json:"stage"`
		RateQPS      *float64      `json:"rate_qps,omitempty"`
		InputSeqLen  reportLength  `json:"input_seq_len"`
		OutputSeqLen *reportLength `json:"output_seq_len,omitempty"`
	} `json:"standardized"`
	Native reportNative `json:"native"`
}

// reportLength knows no lognormal: such a length is "other", and the truth stands in
// native.
type reportLength struct {
	Distribution string   `json:"distribution"` // fixed, gaussian, uniform or other
	Value        float64  `json:"value"`
	StdDev       *float64 `json:"std_dev,omitempty"`
	Min          *int     `json:"min,omitempty"`
	Max          *int     `json:"max,omitempty"`
}

type reportResults struct {
	RequestPerformance struct {
		Aggregate reportAggregate `json:"aggregate"`
	} `json:"request_performance"`
	Observability map[string]any `json:"observability,omitempty"`
}

type reportAggregate struct {
	Requests struct {
		Total        int         `json:"total"`
		Failures     *int        `json:"failures,omitempty"`
		Incomplete   *int        `json:"incomplete,omitempty"`
		InputLength  *reportStat `json:"input_length,omitempty"`
		OutputLength *reportStat `json:"output_length,omitempty"`
	} `json:"requests"`
	Latency struct {
		TTFT           *reportStat `json:"time_to_first_token,omitempty"`
		NTPOT          *reportStat `json:"normalized_time_per_output_token,omitempty"`
		TPOT           *reportStat `json:"time_per_output_token,omitempty"`
		ITL            *reportStat `json:"inter_token_latency,omitempty"`
		RequestLatency *reportStat `json:"request_latency,omitempty"`
	} `json:"latency"`
	Throughput struct {
		Input    *reportStat `json:"input_token_rate,omitempty"`
		Output   *reportStat `json:"output_token_rate,omitempty"`
		Total    *reportStat `json:"total_token_rate,omitempty"`
		Requests *reportStat `json:"request_rate,omitempty"`
	} `json:"throughput"`
}

type reportStat struct {
	Units string   `json:"units"`
	Mean  float64  `json:"mean"`
	SD    *float64 `json:"stddev,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	P0p1  *float64 `json:"p0p1,omitempty"`
	P1    *float64 `json:"p1,omitempty"`
	P5    *float64 `json:"p5,omitempty"`
	P10   *float64 `json:"p10,omitempty"`
	P25   *float64 `json:"p25,omitempty"`
	P50   *float64 `json:"p50,omitempty"`
	P75   *float64 `json:"p75,omitempty"`
	P90   *float64 `json:"p90,omitempty"`
	P95   *float64 `json:"p95,omitempty"`
	P99   *float64 `json:"p99,omitempty"`
	P99p9 *float64 `json:"p99p9,omitempty"`
	Max   *float64 `json:"max,omitempty"`
}

// reportFiles are one report for each run that says how many requests it had.
func (d Document) reportFiles() []File {
	var files []File
	for i, r := range d.Runs {
		if r.Requests.Total == nil {
			continue
		}
		name := "benchmark_report_v0.2.json"
		if c := r.Cell; c != nil {
			name = fmt.Sprintf("benchmark_report_v0.2_%s_%s.json", c.Phase, c.Class)
		}
		files = append(files, File{path.Join(r.folder(i), name), func(w io.Writer) error { return writeIndented(w, r.report()) }})
	}
	return files
}

// names of reports are UUIDs made of what they are about, so that the same results
// give the same report.
func reportID(parts ...string) string {
	data, _ := json.Marshal(parts) // strings always have JSON
	return uuid.NewSHA1(uuid.NameSpaceOID, data).String()
}

func (r Run) report() Report {
	out := Report{Version: "0.2"}
	started := ""
	if r.StartedAt != nil {
		started = r.StartedAt.Format(time.RFC3339Nano)
	}
	out.Run = reportRun{
		UID: reportID(r.Tool, r.Source, r.Name, started), Description: r.Name, Keywords: []string{r.Tool},
	}
	if r.StartedAt != nil || r.DurationS != nil {
		out.Run.Time = &reportTime{Start: r.StartedAt, End: r.EndedAt}
		if r.DurationS != nil {
			out.Run.Time.Duration = fmt.Sprintf("PT%gS", *r.DurationS)
		}
	}
	if c := r.Cell; c != nil {
		out.Run.EID = reportID("experiment", c.Experiment)
		out.Run.Keywords = append(out.Run.Keywords, c.Experiment, c.Arm.Name, c.Phase, c.Class)
		out.Scenario = reportScenario{Stack: []reportComponent{c.component()}, Load: c.load(r.definitions())}
		if len(r.Jobs) > 0 {
			out.Results.Observability = map[string]any{"bg_batch_jobs": r.Jobs}
		}
	} else if input, ok := r.find(PromptTokensServer, PromptTokensMixed, PromptTokensClient); ok && input.Mean != nil {
		out.Scenario.Load = r.foreignLoad(input)
	}
	out.Results.RequestPerformance.Aggregate = r.aggregate()
	return out
}

// definitions of the metrics, which the report's own keys cannot say.
func (r Run) definitions() map[Definition]string {
	return NewDocument([]Run{r}, nil).Definitions
}

// component is the stack under test as a whole.
func (c Cell) component() reportComponent {
	var out reportComponent
	out.Metadata = reportMetadata{SchemaVersion: "0.0.1", Label: c.Arm.Name, CfgID: configID(c.Arm), Description: c.Arm.Description}
	out.Standardized.Kind, out.Standardized.Tool, out.Standardized.ToolVersion = "generic", "bg-deploy "+c.Target, orUnknown(c.Version)
	out.Native.Config = c.Arm
	return out
}

func (c Cell) load(definitions map[Definition]string) *reportLoad {
	out := &reportLoad{Metadata: reportMetadata{SchemaVersion: "0.0.1", CfgID: configID(c.Profile), Description: c.Profile.Description}}
	s := &out.Standardized
	s.Tool, s.ToolVersion, s.Parallelism, s.Source, s.Stage = "bg-load", orUnknown(c.Version), 1, "random", max(0, c.stage())
	if rate := c.rate(); rate > 0 {
		s.RateQPS = &rate
	}
	s.InputSeqLen = length(c.Profile.Prompt.ISL)
	output := length(c.Profile.Prompt.OSL)
	s.OutputSeqLen = &output
	out.Native = reportNative{
		Args:   map[string]any{"phase": c.Phase, "class": c.Class, "trial": c.Trial},
		Config: map[string]any{"profile": c.Profile, "definitions": definitions},
	}
	return out
}

func (r Run) foreignLoad(input Metric) *reportLoad {
	out := &reportLoad{Metadata: reportMetadata{SchemaVersion: "0.0.1", CfgID: configID(r.Labels)}}
	s := &out.Standardized
	s.Tool, s.ToolVersion, s.Parallelism, s.Source = r.Tool, orUnknown(r.ToolVersion), 1, "unknown"
	s.InputSeqLen = reportLength{Distribution: "other", Value: *input.Mean, StdDev: input.SD}
	out.Native.Config = map[string]any{"labels": r.Labels, "definitions": r.definitions()}
	return out
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// configID is the hash of a configuration.
func configID(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "unknown" // a value that has no JSON has no hash
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func length(d spec.Distribution) reportLength {
	out := reportLength{Distribution: "other", Value: d.Mean}
	switch d.Type {
	case spec.Fixed:
		out.Distribution = "fixed"
	case spec.Uniform:
		out.Distribution = "uniform"
	case spec.Normal:
		out.Distribution = "gaussian"
	}
	if d.SD > 0 {
		out.StdDev = &d.SD
	}
	if d.Max > 0 {
		low, high := max(0, d.Min), d.Max
		out.Min, out.Max = &low, &high
	}
	return out
}

func (r Run) aggregate() reportAggregate {
	var out reportAggregate
	out.Requests.Total, out.Requests.Failures, out.Requests.Incomplete = *r.Requests.Total, r.Requests.Failed, r.Requests.Incomplete
	get := func(units string, definitions ...Definition) *reportStat {
		m, _ := r.find(definitions...)
		return m.reportStat(units)
	}
	out.Requests.InputLength = get("count", PromptTokensServer, PromptTokensMixed, PromptTokensClient)
	out.Requests.OutputLength = get("count", OutputTokensServer, OutputTokensMixed, OutputTokensOrChunks, OutputTokensClient)
	l := &out.Latency
	l.TTFT = get("s", TTFTFirstToken, TTFTFirstContent, TTFTFirstChunk, TTFTFirstEvent)
	l.NTPOT = get("s/token", NTPOTToDone, NTPOTToDoneTokenized, NTPOTToLastChunk, NTPOTToLastContent, NTPOTToLastTokenTokens)
	l.TPOT = get("s/token", TPOTDecode, TPOTAfterFirstToken, TPOTAfterFirstChunk, TPOTPerEvent)
	l.ITL = get("s/token", ITLPerToken, ITLPerTokenBurst, ITLPerChunk, ITLPerAnyChunk, ITLPerEvent, ITLRequestMean, ITLRequestMeanTokens)
	l.RequestLatency = get("s", E2EToDone, E2EToDoneTokenized, E2EToLastContent, E2EToLastChunk)
	t := &out.Throughput
	t.Input = get("tokens/s", InputOverPhase, InputOverSpan, InputOverRun, InputWeighted)
	t.Output = get("tokens/s", OutputOverPhase, OutputOverSpan, OutputOverRun, OutputWeighted)
	t.Total = get("tokens/s", TotalOverPhase, TotalOverSpan, TotalOverRun, TotalWeighted)
	t.Requests = get("queries/s", RequestsOverPhase, RequestsOverSpan, RequestsOverRun, RequestsWeighted)
	return out
}

// reportStat needs a mean, which the schema requires.
func (m Metric) reportStat(units string) *reportStat {
	if m.Mean == nil || math.IsNaN(*m.Mean) {
		return nil
	}
	return &reportStat{
		Units: units, Mean: *m.Mean, SD: m.SD, Min: m.Min, Max: m.Max,
		P0p1: m.percentile("p0.1"), P1: m.percentile("p1"), P5: m.percentile("p5"), P10: m.percentile("p10"),
		P25: m.percentile("p25"), P50: m.percentile("p50"), P75: m.percentile("p75"), P90: m.percentile("p90"),
		P95: m.percentile("p95"), P99: m.percentile("p99"), P99p9: m.percentile("p99.9"),
	}
}
