package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bgbench/pkg/record"
)

const inferencePerf = "inference-perf"

// inferencePerfColumns are those of its records of requests: their end is after the
// client has tokenized the answer, and tokens are counted by the client unless it was
// told otherwise.
var inferencePerfColumns = columns{
	TTFT: TTFTFirstContent, TPOT: TPOTDecode, E2E: E2EToDoneTokenized, NTPOT: NTPOTToDoneTokenized, ITL: ITLPerTokenBurst,
	PromptTokens: PromptTokensMixed, OutputTokens: OutputTokensClient,
}

// inferencePerfEventColumns are those of v0.1 to v0.4, which took every event of the
// stream for a token: the role, the usage and the end too.
var inferencePerfEventColumns = columns{
	TTFT: TTFTFirstEvent, TPOT: TPOTPerEvent, E2E: E2EToDoneTokenized, NTPOT: NTPOTToDoneTokenized, ITL: ITLPerEvent,
	PromptTokens: PromptTokensClient, OutputTokens: OutputTokensClient,
}

// lifecycleLatencies of successes.latency, with what v0.1 to v0.4 meant by them.
var lifecycleLatencies = []struct {
	key                string
	definition, before Definition
	counts             string
}{
	{"request_latency", E2EToDoneTokenized, E2EToDoneTokenized, countRequests},
	{"time_to_first_token", TTFTFirstContent, TTFTFirstEvent, countRequests},
	{"time_per_output_token", TPOTDecode, TPOTPerEvent, countRequests},
	{"normalized_time_per_output_token", NTPOTToDoneTokenized, NTPOTToDoneTokenized, countRequests},
	{"inter_token_latency", ITLPerTokenBurst, ITLPerEvent, countGaps},
}

// lifecycle is a summary or stage file. Files of v0.1 to v0.5 have prompt_len where newer
// ones have prompt_tokens, and some carry both; those of v0.1 to v0.4 have no
// benchmark_time_seconds.
type lifecycle struct {
	BenchmarkTime *float64 `json:"benchmark_time_seconds"`
	LoadSummary   struct {
		Count         *int          `json:"count"`
		ScheduleDelay *distribution `json:"schedule_delay"`
		RequestedRate *float64      `json:"requested_rate"`
		Concurrency   *float64      `json:"concurrency"`
	} `json:"load_summary"`
	Successes struct {
		Count        *int                     `json:"count"`
		Latency      map[string]*distribution `json:"latency"`
		Throughput   map[string]*float64      `json:"throughput"`
		PromptLen    *distribution            `json:"prompt_len"`
		PromptTokens *distribution            `json:"prompt_tokens"`
		OutputLen    *distribution            `json:"output_len"`
		OutputTokens *distribution            `json:"output_tokens"`
		Goodput      *struct {
			RequestGoodput *float64 `json:"request_goodput"`
		} `json:"goodput_metrics"`
	} `json:"successes"`
	Failures struct {
		Count   *int `json:"count"`
		ByLabel map[string]struct {
			Count int `json:"count"`
		} `json:"by_label"`
	} `json:"failures"`
}

// distribution is a block of statistics: mean, min, max, median and p<percent>, which
// percentiles is up to the user.
type distribution map[string]json.RawMessage

// describe reads the block; names of other things in it, such as total, are left out.
func (d distribution) describe(m *Metric) error {
	m.Quantiles = QuantilesType7
	for _, key := range slices.Sorted(maps.Keys(d)) {
		name := key
		switch {
		case key == "mean", key == "min", key == "max":
		case key == "median":
			name = "p50"
		case !isPercentile(key):
			continue
		}
		var v *float64
		if err := json.Unmarshal(d[key], &v); err != nil {
			return fmt.Errorf("%s: found %.40s, expected a number", key, d[key])
		}
		switch name {
		case "mean":
			m.Mean = v
		case "min":
			m.Min = v
		case "max":
			m.Max = v
		default:
			m.setPercentile(name, v)
		}
	}
	return nil
}

// isPercentile tells p99.9 from prefix.
func isPercentile(key string) bool {
	percent, ok := strings.CutPrefix(key, "p")
	if !ok {
		return false
	}
	p, err := strconv.ParseFloat(percent, 64)
	return err == nil && p >= 0 && p <= 100 && percentileName(p) == key
}

var stageFile = regexp.MustCompile(`stage_(\d+)_lifecycle`)

func importInferencePerf(s *source) error {
	var file lifecycle
	if err := s.decode(&file); err != nil {
		return err
	}
	if file.Failures.Count == nil && file.Successes.Latency == nil {
		return fmt.Errorf("%s: found no latency of requests, as in what inference-perf reads from the servers' Prometheus metrics, expected a lifecycle file", s.name)
	}
	if file.Successes.Count == nil || file.Failures.Count == nil {
		return fmt.Errorf("%s: successes.count, failures.count: missing, expected a lifecycle file of inference-perf", s.name)
	}
	name := "summary"
	if stage := stageFile.FindStringSubmatch(filepath.Base(s.name)); stage != nil {
		name = "stage " + stage[1]
	} else if file.LoadSummary.RequestedRate != nil {
		name = "stage"
	} else {
		s.warn("a summary pools all stages, a warm-up stage and the pauses between them included")
	}
	run := s.run(inferencePerf, "", name)
	run.DurationS = file.BenchmarkTime
	if rate := file.LoadSummary.RequestedRate; rate != nil {
		label(&run, "rate", fmt.Sprintf("%g", *rate))
	}
	if n := file.LoadSummary.Concurrency; n != nil {
		label(&run, "concurrency", fmt.Sprintf("%g", *n))
	}
	run.Requests = Counts{Total: file.LoadSummary.Count, OK: file.Successes.Count, Failed: file.Failures.Count}
	if run.Requests.Total == nil {
		total := *file.Successes.Count + *file.Failures.Count
		run.Requests.Total = &total
	}
	for kind, of := range file.Failures.ByLabel {
		if run.Errors == nil {
			run.Errors = map[string]int{}
		}
		run.Errors[kind] = of.Count
	}
	if err := file.metrics(&run); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.warnOfTails(run)
	s.runs = append(s.runs, run)
	return nil
}

func (f lifecycle) metrics(run *Run) error {
	of := f.Successes
	add := func(d *distribution, definition Definition, at, unit, counts string) error {
		if d == nil {
			return nil
		}
		m := metric(definition, at[strings.LastIndexByte(at, '.')+1:], unit)
		if m.Counts = counts; counts == countRequests {
			m.N = of.Count
		}
		if err := d.describe(&m); err != nil {
			return fmt.Errorf("%s.%w", at, err)
		}
		run.add(m)
		return nil
	}
	for _, l := range lifecycleLatencies {
		definition := l.definition
		if f.BenchmarkTime == nil {
			definition = l.before
		}
		if err := add(of.Latency[l.key], definition, "successes.latency."+l.key, "s", l.counts); err != nil {
			return err
		}
	}
	// The newer key goes first; both say the same of the client's count but for
	// output_tokens, which is the server's.
	prompt, key := of.PromptTokens, "successes.prompt_tokens"
	if prompt == nil || len(*prompt) == 0 {
		prompt, key = of.PromptLen, "successes.prompt_len"
	}
	if err := add(prompt, PromptTokensMixed, key, "tokens", countRequests); err != nil {
		return err
	}
	if err := add(of.OutputLen, OutputTokensClient, "successes.output_len", "tokens", countRequests); err != nil {
		return err
	}
	if err := add(of.OutputTokens, OutputTokensMixed, "successes.output_tokens", "tokens", countRequests); err != nil {
		return err
	}
	if err := add(f.LoadSummary.ScheduleDelay, LatenessSend, "load_summary.schedule_delay", "s", ""); err != nil {
		return err
	}
	for _, t := range []struct {
		key        string
		definition Definition
		unit       string
	}{
		{"requests_per_sec", RequestsOverSpan, "requests/s"}, {"input_tokens_per_sec", InputOverSpan, "tokens/s"},
		{"output_tokens_per_sec", OutputOverSpan, "tokens/s"}, {"total_tokens_per_sec", TotalOverSpan, "tokens/s"},
	} {
		run.add(number(t.definition, t.key, t.unit, of.Throughput[t.key]))
	}
	if of.Goodput != nil {
		run.add(number(GoodOverSpan, "request_goodput", "requests/s", of.Goodput.RequestGoodput))
	}
	return nil
}

// lifecycleRequest is an element of per_request_lifecycle_metrics.json. Its times are
// seconds of a clock without an epoch, so rows get durations and no instants. The answer
// is in info.response_metrics, in v0.5 in info.response_info and before in info itself.
type lifecycleRequest struct {
	StartTime *float64 `json:"start_time"`
	EndTime   *float64 `json:"end_time"`
	Info      struct {
		RequestMetrics *struct {
			Text struct {
				InputTokens *int64 `json:"input_tokens"`
			} `json:"text"`
		} `json:"request_metrics"`
		ResponseMetrics  *lifecycleAnswer `json:"response_metrics"`
		ResponseInfo     *lifecycleAnswer `json:"response_info"`
		InputTokens      *int64           `json:"input_tokens"`
		OutputTokens     *int64           `json:"output_tokens"`
		OutputTokenTimes []float64        `json:"output_token_times"` // of events
	} `json:"info"`
	Error *struct {
		Type    string `json:"error_type"`
		Message string `json:"error_msg"`
	} `json:"error"`
}

type lifecycleAnswer struct {
	OutputTokens     *int64    `json:"output_tokens"`
	OutputTokenTimes []float64 `json:"output_token_times"`
	ServerUsage      *struct {
		PromptTokensDetails *struct {
			CachedTokens *int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"server_usage"`
}

func importPerRequest(s *source) error {
	var requests []lifecycleRequest
	if err := s.decode(&requests); err != nil {
		return err
	}
	if len(requests) == 0 {
		return fmt.Errorf("%s: found no request in it, expected at least one", s.name)
	}
	run := s.run(inferencePerf, "", "all stages")
	columns := inferencePerfColumns
	if slices.ContainsFunc(requests, func(r lifecycleRequest) bool { return len(r.Info.OutputTokenTimes) > 0 }) {
		columns = inferencePerfEventColumns
	}
	measured := newRowMetrics(columns)
	span := spanOfRun{}
	for i, r := range requests {
		q, gaps, err := r.row(s.name, run.Name, i)
		if err != nil {
			return fmt.Errorf("%s: [%d]: %w", s.name, i, err)
		}
		span.add(*r.StartTime, *r.EndTime)
		measured.add(q)
		measured.addGaps(q, gaps)
		s.rows = append(s.rows, q)
	}
	measured.describe(&run)
	if run.DurationS = finite(span.length()); run.DurationS != nil {
		measured.rates(&run, *run.DurationS, RequestsOverSpan, InputOverSpan, OutputOverSpan, TotalOverSpan)
	}
	s.warn("the file does not say of which stage a request is, so all stages are one run")
	s.runs, s.rowsMeta = append(s.runs, run), columns.metadata(inferencePerf)
	return nil
}

// row returns the gaps between events beside the row, where they are not gaps between
// tokens.
func (r lifecycleRequest) row(source, arm string, i int) (record.Request, []float32, error) {
	q := importedRow(source, arm, strconv.Itoa(i))
	if r.StartTime == nil || r.EndTime == nil {
		return q, nil, fmt.Errorf("start_time, end_time: missing, expected two times")
	}
	q.E2ES = seconds(r.EndTime, r.StartTime)
	if m := r.Info.RequestMetrics; m != nil {
		q.PromptTokens = m.Text.InputTokens
	}
	if q.PromptTokens == nil {
		q.PromptTokens = r.Info.InputTokens
	}
	if r.Error != nil {
		fail(&q, strings.TrimSpace(r.Error.Type+" "+r.Error.Message))
		return q, nil, checkTimes(q)
	}
	answer := r.Info.ResponseMetrics
	if answer == nil {
		answer = r.Info.ResponseInfo
	}
	if answer == nil {
		q.OutputTokens = r.Info.OutputTokens
		gaps, err := r.events(&q)
		return q, gaps, errors.Join(err, checkTimes(q))
	}
	q.OutputTokens = answer.OutputTokens
	if u := answer.ServerUsage; u != nil && u.PromptTokensDetails != nil {
		q.CachedTokens = u.PromptTokensDetails.CachedTokens
	}
	times := answer.OutputTokenTimes
	// inference-perf has no time to first token below two tokens.
	if len(times) < 2 {
		return q, nil, checkTimes(q)
	}
	first, last := times[0], times[len(times)-1]
	q.TTFTS = finite(first - *r.StartTime)
	if n := q.OutputTokens; n != nil && *n > 1 {
		q.TPOTS = finite((last - first) / float64(*n-1))
	}
	if err := setTokenTimes(&q, times); err != nil {
		return q, nil, fmt.Errorf("info.response_metrics.output_token_times%w", err)
	}
	return q, nil, checkTimes(q)
}

// events measures by the events of the stream, as v0.1 to v0.4 did.
func (r lifecycleRequest) events(q *record.Request) ([]float32, error) {
	times := r.Info.OutputTokenTimes
	if len(times) < 2 {
		return nil, nil
	}
	q.TTFTS = finite(times[0] - *r.StartTime)
	q.TPOTS = finite((times[len(times)-1] - times[0]) / float64(len(times)-1))
	var gaps []float32
	for i := 1; i < len(times); i++ {
		if times[i] < times[i-1] {
			return nil, fmt.Errorf("info.output_token_times[%d]: found %g after %g, expected times in order", i, times[i], times[i-1])
		}
		gaps = append(gaps, float32(times[i]-times[i-1]))
	}
	return gaps, nil
}

// setTokenTimes makes chunks of the times of tokens: inference-perf gives the tokens of
// a chunk the time of the chunk.
func setTokenTimes(q *record.Request, times []float64) error {
	q.ChunkTokens = []int32{1}
	for i := 1; i < len(times); i++ {
		gap := times[i] - times[i-1]
		switch {
		case gap < 0:
			return fmt.Errorf("[%d]: found %g after %g, expected times in order", i, times[i], times[i-1])
		case gap == 0:
			q.ChunkTokens[len(q.ChunkTokens)-1]++
		default:
			q.ChunkGapS, q.ChunkTokens = append(q.ChunkGapS, float32(gap)), append(q.ChunkTokens, 1)
		}
	}
	return nil
}
