package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/record"
)

const aiperf = "aiperf"

// aiperfColumns are those of profile_export.jsonl.
var aiperfColumns = columns{
	TTFT: TTFTFirstToken, TPOT: TPOTAfterFirstToken, E2E: E2EToLastContent, NTPOT: NTPOTToLastContent, ITL: ITLPerChunk,
	PromptTokens: PromptTokensClient, OutputTokens: OutputTokensClient,
}

// aiperfMetrics by tag. Any other metric of the file is kept under a definition of its
// own.
var aiperfMetrics = map[string]struct {
	definition Definition
	counts     string
}{
	"request_latency":            {E2EToLastContent, countRequests},
	"time_to_first_token":        {TTFTFirstToken, countRequests},
	"time_to_first_output_token": {TTFOTContent, countRequests},
	"inter_token_latency":        {ITLRequestMean, countRequests},
	"inter_chunk_latency":        {ITLPerChunk, countGaps},
	"input_sequence_length":      {PromptTokensClient, countRequests},
	"output_sequence_length":     {OutputTokensClient, countRequests},
	"request_throughput":         {RequestsOverRun, ""},
	"output_token_throughput":    {OutputOverRun, ""},
	"total_token_throughput":     {TotalOverRun, ""},
	"goodput":                    {GoodOverRun, ""},
}

// aiperfUnits in ours.
var aiperfUnits = map[string]struct {
	divisor float64
	unit    string
}{
	"ms": {1e3, "s"}, "sec": {1, "s"}, "s": {1, "s"}, "us": {1e6, "s"}, "ns": {1e9, "s"},
	"requests/sec": {1, "requests/s"}, "tokens/sec": {1, "tokens/s"}, "tokens": {1, "tokens"},
}

// aiperfMetric is a metric of profile_export_aiperf.json.
type aiperfMetric struct {
	Unit  *string  `json:"unit"`
	Avg   *float64 `json:"avg"`
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
	SD    *float64 `json:"std"`
	Count *float64 `json:"count"`
	P1    *float64 `json:"p1"`
	P5    *float64 `json:"p5"`
	P10   *float64 `json:"p10"`
	P25   *float64 `json:"p25"`
	P50   *float64 `json:"p50"`
	P75   *float64 `json:"p75"`
	P90   *float64 `json:"p90"`
	P95   *float64 `json:"p95"`
	P99   *float64 `json:"p99"`
}

func importAIPerf(s *source) error {
	var all map[string]json.RawMessage
	if err := s.decode(&all); err != nil {
		return err
	}
	var about struct {
		Version     string `json:"aiperf_version"`
		Start       string `json:"start_time"`
		End         string `json:"end_time"`
		Cancelled   bool   `json:"was_cancelled"`
		InputConfig struct {
			Endpoint struct {
				ModelNames []string `json:"model_names"`
			} `json:"endpoint"`
		} `json:"input_config"`
		RunInfo *struct {
			Label     *string `json:"run_label"`
			Trial     *int    `json:"trial"`
			Variation *string `json:"variation_label"`
		} `json:"run_info"`
		ErrorSummary []struct {
			Details struct {
				Code *int   `json:"code"`
				Type string `json:"type"`
			} `json:"error_details"`
			Count int `json:"count"`
		} `json:"error_summary"`
	}
	if err := s.decode(&about); err != nil {
		return err
	}
	run := s.run(aiperf, about.Version, "profile")
	if info := about.RunInfo; info != nil {
		if info.Label != nil && *info.Label != "" {
			run.Name = *info.Label
		}
		if info.Variation != nil {
			label(&run, "variation", *info.Variation)
		}
	}
	label(&run, "model", strings.Join(about.InputConfig.Endpoint.ModelNames, ", "))
	label(&run, "start_time", about.Start) // without a time zone, so no instant
	if about.Cancelled {
		s.warn("%s: the run was cancelled", run.Name)
	}
	for _, e := range about.ErrorSummary { // one for each kind, with its count
		if run.Errors == nil {
			run.Errors = map[string]int{}
		}
		kind := e.Details.Type
		if e.Details.Code != nil {
			kind = fmt.Sprintf("%d %s", *e.Details.Code, kind)
		}
		run.Errors[kind] += e.Count
	}
	if err := s.aiperfMetrics(&run, all); err != nil {
		return err
	}
	s.warnOfTails(run)
	s.runs = append(s.runs, run)
	return nil
}

// aiperfMetrics takes every object that has a unit for a metric.
func (s *source) aiperfMetrics(run *Run, all map[string]json.RawMessage) error {
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		raw := all[tag]
		if len(raw) == 0 || raw[0] != '{' {
			continue
		}
		var probe map[string]json.RawMessage
		if err := json.Unmarshal(raw, &probe); err != nil || !has(probe, "unit", "avg") {
			continue
		}
		var from aiperfMetric
		if err := json.Unmarshal(raw, &from); err != nil {
			return fmt.Errorf("%s: %s: %w", s.name, tag, err)
		}
		switch tag {
		case "request_count":
			run.Requests.OK = count(from.Avg)
			continue
		case "error_request_count":
			run.Requests.Failed = count(from.Avg)
			continue
		case "benchmark_duration":
			run.DurationS = from.in(tag).Mean
			continue
		}
		run.add(from.in(tag))
	}
	none := 0
	if run.Requests.OK == nil && run.Requests.Failed != nil {
		run.Requests.OK = &none // left out where there was none
	}
	if run.Requests.OK == nil {
		return fmt.Errorf("%s: request_count: missing, expected profile_export_aiperf.json", s.name)
	}
	if run.Requests.Failed == nil {
		run.Requests.Failed = &none
	}
	total := *run.Requests.OK + *run.Requests.Failed
	run.Requests.Total = &total
	return nil
}

// count is a whole number, nil for what is none.
func count(v *float64) *int {
	if v == nil || *v < 0 || *v > 1e15 {
		return nil
	}
	n := int(*v + 0.5)
	return &n
}

func (a aiperfMetric) in(tag string) Metric {
	known, ok := aiperfMetrics[tag]
	if !ok {
		known.definition = ownDefinition(aiperf, tag)
	}
	unit := ""
	if a.Unit != nil {
		unit = *a.Unit
	}
	m := metric(known.definition, tag, unit)
	m.Mean, m.SD, m.Min, m.Max = a.Avg, a.SD, a.Min, a.Max
	m.N, m.Counts = count(a.Count), known.counts
	for name, v := range map[string]*float64{
		"p1": a.P1, "p5": a.P5, "p10": a.P10, "p25": a.P25, "p50": a.P50, "p75": a.P75, "p90": a.P90, "p95": a.P95, "p99": a.P99,
	} {
		m.setPercentile(name, v)
	}
	if len(m.Percentiles) > 0 {
		m.Quantiles = QuantilesType7
	}
	if to, ok := aiperfUnits[unit]; ok {
		return m.divided(to.divisor, to.unit)
	}
	return m
}

// aiperfRecord is a line of profile_export.jsonl.
type aiperfRecord struct {
	Metadata *struct {
		XRequestID string `json:"x_request_id"`
		SessionNum *int   `json:"session_num"`
		StartNS    *int64 `json:"request_start_ns"`
		EndNS      *int64 `json:"request_end_ns"`
		Phase      string `json:"benchmark_phase"`
		Cancelled  bool   `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	} `json:"metrics"`
	Error *struct {
		Code    *int   `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

func importAIPerfRecords(s *source) error {
	run := s.run(aiperf, "", "records")
	measured := newRowMetrics(aiperfColumns)
	span := spanOfRun{}
	decoder := json.NewDecoder(bytes.NewReader(s.data))
	unknown := 0
	for n := 1; ; n++ {
		before := decoder.InputOffset()
		var r aiperfRecord
		err := decoder.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) { // its offset counts from the record
				return jsontext.Fault(s.name, s.data, before, err)
			}
			return s.jsonError(err)
		}
		q, gaps, err := r.row(s.name, run.Name, n)
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", s.name, n, err)
		}
		if len(gaps) > 0 && q.ChunkGapS == nil {
			unknown++
		}
		s.rows = append(s.rows, q)
		if q.Warmup {
			continue
		}
		measured.add(q)
		measured.addGaps(q, gaps)
		span.add(float64(*r.Metadata.StartNS)/1e9, float64(*r.Metadata.EndNS)/1e9)
	}
	if len(s.rows) == 0 {
		return nil
	}
	if unknown > 0 {
		s.warn("%d requests have another number of chunks than tokens, so the rows have no gaps: how the tokens lay in the chunks is not known", unknown)
	}
	measured.describe(&run)
	if run.DurationS = finite(span.length()); run.DurationS != nil {
		measured.rates(&run, *run.DurationS, RequestsOverSpan, InputOverSpan, OutputOverSpan, TotalOverSpan)
	}
	s.runs, s.rowsMeta = append(s.runs, run), aiperfColumns.metadata(aiperf)
	return nil
}

// row returns the gaps between chunks beside the row, which has them only if the tokens
// of the chunks are known.
func (r aiperfRecord) row(source, arm string, n int) (record.Request, []float32, error) {
	q := importedRow(source, arm, fmt.Sprint(n))
	m := r.Metadata
	if m == nil || m.StartNS == nil || m.EndNS == nil {
		return q, nil, fmt.Errorf("metadata.request_start_ns, request_end_ns: missing, expected two times")
	}
	if m.XRequestID != "" {
		q.RequestID = m.XRequestID
	}
	sent, done := time.Unix(0, *m.StartNS).UTC(), time.Unix(0, *m.EndNS).UTC()
	q.SentAt, q.DoneAt, q.Warmup = &sent, &done, m.Phase == "warmup"
	var err error
	get := func(tag string) *float64 {
		v, failed := r.number(tag)
		err = errors.Join(err, failed)
		return v
	}
	q.TTFTS, q.E2ES = get("time_to_first_token"), get("request_latency")
	q.PromptTokens, q.OutputTokens = whole(get("input_sequence_length")), whole(get("output_sequence_length"))
	q.ReasoningTokens = whole(get("reasoning_token_count"))
	if q.PromptTokens == nil {
		q.PromptTokens = whole(get("error_isl"))
	}
	gaps, failed := r.gaps()
	if err = errors.Join(err, failed); err != nil {
		return q, nil, err
	}
	if q.OutputTokens != nil && len(gaps) > 0 && int64(len(gaps))+1 == *q.OutputTokens {
		q.ChunkGapS, q.ChunkTokens = gaps, oneToken(len(gaps)+1)
	}
	if q.TTFTS != nil && q.E2ES != nil && q.OutputTokens != nil && *q.OutputTokens > 1 {
		q.TPOTS = finite((*q.E2ES - *q.TTFTS) / float64(*q.OutputTokens-1))
	}
	switch e := r.Error; {
	case m.Cancelled:
		q.Status = record.StatusCancelled
	case e != nil && e.Code != nil && *e.Code >= 400 && *e.Code < 600:
		text := e.Type + ": " + e.Message
		q.Error = &text
		failWithCode(&q, *e.Code)
	case e != nil:
		fail(&q, e.Type+": "+e.Message)
	}
	return q, gaps, checkTimes(q)
}

// number of a metric of the record in our unit; nil where it has none.
func (r aiperfRecord) number(tag string) (*float64, error) {
	from, ok := r.Metrics[tag]
	if !ok {
		return nil, nil
	}
	var v *float64
	if err := json.Unmarshal(from.Value, &v); err != nil {
		return nil, fmt.Errorf("metrics.%s.value: found %.40s, expected a number", tag, from.Value)
	}
	if v == nil {
		return nil, nil
	}
	return finite(*v / divisorOf(from.Unit)), nil
}

// divisorOf a unit is how many are one of ours; 1 for one that is not known.
func divisorOf(unit string) float64 {
	if to, ok := aiperfUnits[unit]; ok {
		return to.divisor
	}
	return 1
}

// gaps reads inter_chunk_latency, a list, in seconds.
func (r aiperfRecord) gaps() ([]float32, error) {
	const tag = "inter_chunk_latency"
	from, ok := r.Metrics[tag]
	if !ok {
		return nil, nil
	}
	var values []float64
	if err := json.Unmarshal(from.Value, &values); err != nil {
		return nil, fmt.Errorf("metrics.%s.value: found %.40s, expected an array of numbers", tag, from.Value)
	}
	gaps := make([]float32, len(values))
	for i, gap := range values {
		if gap < 0 {
			return nil, fmt.Errorf("metrics.%s.value[%d]: found %g, expected 0 or more", tag, i, gap)
		}
		gaps[i] = float32(gap / divisorOf(from.Unit))
	}
	return gaps, nil
}

func whole(v *float64) *int64 {
	if v == nil || *v < -1e15 || *v > 1e15 {
		return nil
	}
	n := int64(*v)
	return &n
}
