package interop

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"bgbench/pkg/record"
)

const guidellm = "guidellm"

// guidellmColumns are those of its records of requests. Its time per output token and
// inter-token latency are figures of whole requests; of the times that they are made
// of, rows keep ours.
var guidellmColumns = columns{
	TTFT: TTFTFirstToken, TPOT: TPOTDecode, E2E: E2EToDone, NTPOT: NTPOTToDone,
	PromptTokens: PromptTokensMixed, OutputTokens: OutputTokensOrChunks,
}

// guidellmMetrics says what the metrics of a report are, by their names in JSON and by
// group and unit in CSV. A file has no gap between two tokens, and a per-token figure
// is weighted by tokens, which n counts then.
var guidellmMetrics = []struct {
	json, group, field string
	definition         Definition
	divisor            float64
	unit, counts       string
}{
	{"request_latency", "Request Latency", "Sec", E2EToDone, 1, "s", countRequests},
	{"time_to_first_token_ms", "Time to First Token", "ms", TTFTFirstToken, 1e3, "s", countRequests},
	{"time_to_first_output_token_ms", "Time to First Output Token", "ms", TTFOTContent, 1e3, "s", countRequests},
	{"time_per_output_token_ms", "Time per Output Token", "ms", NTPOTToLastTokenTokens, 1e3, "s", countTokens},
	{"inter_token_latency_ms", "Inter Token Latency", "ms", ITLRequestMeanTokens, 1e3, "s", countTokens},
	{"prompt_token_count", "Token Metrics", "Input Tokens", PromptTokensMixed, 1, "tokens", countRequests},
	{"output_token_count", "Token Metrics", "Output Tokens", OutputTokensOrChunks, 1, "tokens", countRequests},
	{"requests_per_second", "Server Throughput", "Requests/Sec", RequestsWeighted, 1, "requests/s", ""},
	{"request_concurrency", "Server Throughput", "Concurrency", ConcurrencyOfTool, 1, "requests", ""},
	{"prompt_tokens_per_second", "Token Throughput", "Input Tokens/Sec", InputWeighted, 1, "tokens/s", ""},
	{"output_tokens_per_second", "Token Throughput", "Output Tokens/Sec", OutputWeighted, 1, "tokens/s", ""},
	{"tokens_per_second", "Token Throughput", "Total Tokens/Sec", TotalWeighted, 1, "tokens/s", ""},
}

type guidellmReport struct {
	Metadata *struct {
		Version         int    `json:"version"`
		GuidellmVersion string `json:"guidellm_version"`
	} `json:"metadata"`
	Args       json.RawMessage     `json:"args"`   // version 1
	Config     json.RawMessage     `json:"config"` // version 2
	Benchmarks []guidellmBenchmark `json:"benchmarks"`
}

type guidellmBenchmark struct {
	Config struct {
		ID       string `json:"id_"`
		Strategy struct {
			Type           string   `json:"type_"`
			Rate           *float64 `json:"rate"`
			Streams        *int     `json:"streams"`
			MaxConcurrency *int     `json:"max_concurrency"`
		} `json:"strategy"`
		Backend struct {
			Model string `json:"model"`
		} `json:"backend"`
	} `json:"config"`
	StartTime *float64                   `json:"start_time"`
	EndTime   *float64                   `json:"end_time"`
	Duration  *float64                   `json:"duration"`
	Metrics   map[string]json.RawMessage `json:"metrics"`
	Requests  struct {
		Successful []guidellmRequest `json:"successful"`
		Incomplete []guidellmRequest `json:"incomplete"`
		Errored    []guidellmRequest `json:"errored"`
	} `json:"requests"`
}

type guidellmDistribution struct {
	Mean        *float64            `json:"mean"`
	Median      *float64            `json:"median"`
	StdDev      *float64            `json:"std_dev"`
	Min         *float64            `json:"min"`
	Max         *float64            `json:"max"`
	Count       *int                `json:"count"`
	Percentiles map[string]*float64 `json:"percentiles"`
}

type guidellmRequest struct {
	RequestID string `json:"request_id"`
	Info      struct {
		Error   *string `json:"error"`
		Timings struct {
			TargetedStart *float64 `json:"targeted_start"`
			RequestStart  *float64 `json:"request_start"`
			FirstRequest  *float64 `json:"first_request_iteration"`
			FirstToken    *float64 `json:"first_token_iteration"`
			LastToken     *float64 `json:"last_token_iteration"`
			RequestEnd    *float64 `json:"request_end"`
		} `json:"timings"`
	} `json:"info"`
	PromptTokens *int64 `json:"prompt_tokens"`
	CachedTokens *int64 `json:"cached_tokens"`
	OutputTokens *int64 `json:"output_tokens"`
}

func importGuidellm(s *source) error {
	var report guidellmReport
	if err := s.decode(&report); err != nil {
		return err
	}
	version := ""
	switch m := report.Metadata; {
	case m == nil:
		return fmt.Errorf("%s: metadata: missing, expected that of schema version 1 or 2 (guidellm 0.4 or newer)", s.name)
	case m.Version != 1 && m.Version != 2:
		return fmt.Errorf("%s: metadata.version: found %d, expected 1 or 2", s.name, m.Version)
	default:
		version = m.GuidellmVersion
	}
	if len(report.Benchmarks) == 0 {
		return fmt.Errorf("%s: benchmarks: found none, expected at least one", s.name)
	}
	s.rowsMeta = guidellmColumns.metadata(guidellm)
	for i, b := range report.Benchmarks {
		name := b.name(i)
		run := s.run(guidellm, version, name)
		b.label(&run)
		if err := s.guidellmMetrics(&run, b, fmt.Sprintf("benchmarks[%d].metrics", i)); err != nil {
			return err
		}
		if err := s.guidellmRows(&run, b); err != nil {
			return fmt.Errorf("%s: benchmarks[%d].%w", s.name, i, err)
		}
		s.runs = append(s.runs, run)
	}
	return nil
}

func (b guidellmBenchmark) name(i int) string {
	switch st := b.Config.Strategy; {
	case st.Type == "":
		return fmt.Sprintf("benchmark %d", i)
	case st.Rate != nil:
		return fmt.Sprintf("%s %g/s", st.Type, *st.Rate)
	case st.Streams != nil:
		return fmt.Sprintf("%s %d", st.Type, *st.Streams)
	default:
		return st.Type
	}
}

func (b guidellmBenchmark) label(run *Run) {
	st := b.Config.Strategy
	label(run, "strategy", st.Type)
	if st.Rate != nil {
		label(run, "rate", fmt.Sprintf("%g", *st.Rate))
	}
	label(run, "model", b.Config.Backend.Model)
	label(run, "id", b.Config.ID)
	run.StartedAt, run.EndedAt, run.DurationS = epoch(b.StartTime), epoch(b.EndTime), b.Duration
}

func label(run *Run, name, value string) {
	if value != "" {
		run.Labels[name] = value
	}
}

// epoch is an instant from seconds since 1970; nil for none.
func epoch(seconds *float64) *time.Time {
	const year9999 = 253402300799 // the last second that JSON has a time for
	if seconds == nil || *seconds < 0 || *seconds > year9999 {
		return nil
	}
	t := time.UnixMicro(int64(math.Round(*seconds * 1e6))).UTC()
	return &t
}

// guidellmMetrics takes those of successful requests. guidellm enters a time that a
// request does not have as 0, so the figures of failed ones mean nothing.
func (s *source) guidellmMetrics(run *Run, b guidellmBenchmark, at string) error {
	var totals struct {
		Successful *int `json:"successful"`
		Incomplete *int `json:"incomplete"`
		Errored    *int `json:"errored"`
		Total      *int `json:"total"`
	}
	if raw, ok := b.Metrics["request_totals"]; ok {
		if err := json.Unmarshal(raw, &totals); err != nil {
			return fmt.Errorf("%s: %s.request_totals: %w", s.name, at, err)
		}
	}
	run.Requests = Counts{totals.Total, totals.Successful, totals.Errored, totals.Incomplete}
	s.survivors(*run)
	for _, known := range guidellmMetrics {
		raw, ok := b.Metrics[known.json]
		if !ok {
			continue
		}
		var of struct {
			Successful *guidellmDistribution `json:"successful"`
		}
		if err := json.Unmarshal(raw, &of); err != nil {
			return fmt.Errorf("%s: %s.%s: %w", s.name, at, known.json, err)
		}
		if of.Successful == nil || of.Successful.Count != nil && *of.Successful.Count == 0 {
			continue
		}
		m := metric(known.definition, known.json, known.unit)
		m.Quantiles = QuantilesNearestRank
		of.Successful.describe(&m)
		if m.Counts = known.counts; m.Counts == "" {
			m.N = nil // intervals between events, of unequal length
		}
		s.zeroTime(m)
		run.add(m.divided(known.divisor, known.unit))
	}
	s.warnOfTails(*run)
	return nil
}

// survivors warns where requests that did not finish are in no figure.
func (s *source) survivors(run Run) {
	if n := run.Requests.Incomplete; n != nil && *n > 0 {
		s.warn("%s: %d requests were cut off at the end; the figures are those of the others", run.Name, *n)
	}
}

// zeroTime warns of a least value of 0, which stands for a request without the time.
func (s *source) zeroTime(m Metric) {
	if m.Min != nil && *m.Min == 0 && (m.Definition.Family() == "ttft" || m.Definition.Family() == "ttfot") {
		s.warn("%s has the least value 0, which guidellm enters for answers that were not streamed", m.Called)
	}
}

func (d guidellmDistribution) describe(m *Metric) {
	m.Mean, m.SD, m.Min, m.Max, m.N = d.Mean, d.StdDev, d.Min, d.Max, d.Count
	for name, key := range guidellmPercentiles {
		m.setPercentile(name, d.Percentiles[key])
	}
	if _, ok := m.Percentiles["p50"]; !ok {
		m.setPercentile("p50", d.Median)
	}
}

// guidellmPercentiles are the keys of the JSON; p001 is the 0.1th, p01 the first.
var guidellmPercentiles = map[string]string{
	"p0.1": "p001", "p1": "p01", "p5": "p05", "p10": "p10", "p25": "p25", "p50": "p50",
	"p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p999",
}

// guidellmRows makes rows of the records of requests, of which a report may hold but a
// sample, and describes them.
func (s *source) guidellmRows(run *Run, b guidellmBenchmark) error {
	measured := newRowMetrics(guidellmColumns)
	for _, group := range []struct {
		name, status string
		requests     []guidellmRequest
		total        *int
	}{
		{"successful", record.StatusOK, b.Requests.Successful, run.Requests.OK},
		{"incomplete", record.StatusIncomplete, b.Requests.Incomplete, run.Requests.Incomplete},
		{"errored", "", b.Requests.Errored, run.Requests.Failed},
	} {
		for i, r := range group.requests {
			q, err := r.row(s.name, run.Name, group.status)
			if err != nil {
				return fmt.Errorf("requests.%s[%d]: %w", group.name, i, err)
			}
			measured.add(q)
			s.rows = append(s.rows, q)
		}
		if n := len(group.requests); group.total != nil && n > 0 && n < *group.total {
			s.warn("%s: the file has %d of %d %s requests", run.Name, n, *group.total, group.name)
		}
	}
	if measured.counts.total == 0 {
		return nil
	}
	counts := run.Requests
	measured.describe(run)
	if counts.Total != nil {
		run.Requests = counts // the records may be a sample
	}
	return nil
}

func (r guidellmRequest) row(source, arm, status string) (record.Request, error) {
	q := importedRow(source, arm, r.RequestID)
	t := r.Info.Timings
	q.DueAt, q.SentAt, q.FirstChunkAt = epoch(t.TargetedStart), epoch(t.RequestStart), epoch(t.FirstRequest)
	q.FirstTokenAt, q.LastTokenAt, q.DoneAt = epoch(t.FirstToken), epoch(t.LastToken), epoch(t.RequestEnd)
	q.LatenessS = seconds(t.RequestStart, t.TargetedStart)
	q.TTFTS, q.TTFTFromDueS = seconds(t.FirstToken, t.RequestStart), seconds(t.FirstToken, t.TargetedStart)
	q.E2ES, q.E2EFromDueS = seconds(t.RequestEnd, t.RequestStart), seconds(t.RequestEnd, t.TargetedStart)
	q.PromptTokens, q.CachedTokens, q.OutputTokens = r.PromptTokens, r.CachedTokens, r.OutputTokens
	if decode := seconds(t.LastToken, t.FirstToken); decode != nil && r.OutputTokens != nil && *r.OutputTokens > 1 {
		q.TPOTS = finite(*decode / float64(*r.OutputTokens-1))
	}
	if q.Status = status; status == "" {
		text := "no error text"
		if r.Info.Error != nil {
			text = *r.Info.Error
		}
		fail(&q, text)
	}
	return q, checkTimes(q)
}

// importedRow begins a row of another tool's file.
func importedRow(source, arm, id string) record.Request {
	return record.Request{
		Experiment: source, Arm: arm, Trial: 1, Class: record.ClassInteractive,
		RequestID: id, Attempt: 1, Status: record.StatusOK,
	}
}

// seconds from one time to another; nil where one is not known.
func seconds(to, from *float64) *float64 {
	if to == nil || from == nil {
		return nil
	}
	return finite(*to - *from)
}

// checkTimes refuses what no run can have observed.
func checkTimes(q record.Request) error {
	for _, d := range []struct {
		name  string
		value *float64
	}{{"time to first token", q.TTFTS}, {"request latency", q.E2ES}, {"time per output token", q.TPOTS}} {
		if d.value != nil && *d.value < 0 {
			return fmt.Errorf("%s: found %g s, expected 0 or more", d.name, *d.value)
		}
	}
	for _, c := range []struct {
		name  string
		value *int64
	}{{"prompt tokens", q.PromptTokens}, {"output tokens", q.OutputTokens}} {
		if c.value != nil && *c.value < 0 {
			return fmt.Errorf("%s: found %d, expected 0 or more", c.name, *c.value)
		}
	}
	return nil
}
