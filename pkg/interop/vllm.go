package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/record"
)

const vllmBench = "vllm-bench"

// vllmColumns are those of its arrays. Its first chunk is the first one with choices,
// also the empty one that only names the role, so a TTFT can be too small by whatever
// the prefill took.
var vllmColumns = columns{
	TTFT: TTFTFirstChunk, TPOT: TPOTAfterFirstChunk, E2E: E2EToLastChunk, NTPOT: NTPOTToLastChunk, ITL: ITLPerAnyChunk,
	PromptTokens: PromptTokensClient, OutputTokens: OutputTokensMixed,
}

// vllmLatencies by the name in keys such as p99.9_ttft_ms.
var vllmLatencies = map[string]struct {
	definition Definition
	counts     string
}{
	"ttft":                        {TTFTFirstChunk, countRequests},
	"tpot":                        {TPOTAfterFirstChunk, countRequests},
	"itl":                         {ITLPerAnyChunk, countGaps},
	"e2el":                        {E2EToLastChunk, countRequests},
	"client_queue_time":           {QueueOfClient, countRequests},
	"e2el_including_client_queue": {E2EFromQueue, countRequests},
}

var vllmKey = regexp.MustCompile(`^(mean|median|std|p[0-9.]+)_(ttft|tpot|itl|e2el|client_queue_time|e2el_including_client_queue)_ms$`)

// vllmResult is one run: the keys that have a fixed type. The statistics are found by
// vllmKey, as which there are is up to the user.
type vllmResult struct {
	Model                string          `json:"model_id"`
	Backend              string          `json:"backend"`
	Label                *string         `json:"label"`
	Date                 string          `json:"date"`
	RequestRate          json.RawMessage `json:"request_rate"` // a number or "inf"
	MaxConcurrency       *int            `json:"max_concurrency"`
	Duration             *float64        `json:"duration"`
	Completed            *int            `json:"completed"`
	Failed               *int            `json:"failed"`
	TotalInputTokens     *float64        `json:"total_input_tokens"`
	RequestThroughput    *float64        `json:"request_throughput"`
	RequestGoodput       *float64        `json:"request_goodput"`
	OutputThroughput     *float64        `json:"output_throughput"`
	TotalTokenThroughput *float64        `json:"total_token_throughput"`

	// With --save-detailed; a failed request has 0 and [] in them.
	InputLens  []int64     `json:"input_lens"`
	OutputLens []int64     `json:"output_lens"`
	TTFTs      []float64   `json:"ttfts"`
	ITLs       [][]float64 `json:"itls"`
	Latencies  []*float64  `json:"latencies"` // in newer files, also without --save-detailed
	Errors     []string    `json:"errors"`
}

// importVLLM reads every JSON value of the file: --append-result writes one after the
// other without making an array of them.
func importVLLM(s *source) error {
	decoder := json.NewDecoder(bytes.NewReader(s.data))
	for i := 0; ; i++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s.jsonError(err)
		}
		at := decoder.InputOffset() - int64(len(raw))
		var result vllmResult
		var all map[string]json.RawMessage
		for _, to := range []any{&result, &all} {
			if err := jsontext.Fault(s.name, s.data, at, json.Unmarshal(raw, to)); err != nil {
				return err
			}
		}
		run, err := s.vllmRun(result, all, i)
		if err != nil {
			return fmt.Errorf("%s: result %d: %w", s.name, i+1, err)
		}
		s.runs = append(s.runs, run)
	}
	return nil
}

func (s *source) vllmRun(r vllmResult, all map[string]json.RawMessage, i int) (Run, error) {
	if r.Completed == nil {
		return Run{}, fmt.Errorf("completed: missing, expected the number of requests that ended ok")
	}
	rate := "?"
	if len(r.RequestRate) > 0 && string(r.RequestRate) != "null" {
		rate = string(bytes.Trim(r.RequestRate, `"`))
	} else if len(r.RequestRate) > 0 {
		rate = "inf" // written as Infinity
	}
	run := s.run(vllmBench, "", fmt.Sprintf("rate %s #%d", rate, i+1))
	label(&run, "rate", rate)
	label(&run, "model", r.Model)
	label(&run, "backend", r.Backend)
	label(&run, "date", r.Date) // local time of a machine that the file does not name
	if r.Label != nil {
		label(&run, "label", *r.Label)
	}
	if r.MaxConcurrency != nil {
		label(&run, "max_concurrency", strconv.Itoa(*r.MaxConcurrency))
	}
	run.DurationS = r.Duration
	run.Requests = Counts{OK: r.Completed, Failed: r.Failed}
	if r.Failed != nil {
		total := *r.Completed + *r.Failed
		run.Requests.Total = &total
	}
	if err := vllmStatistics(&run, all); err != nil {
		return Run{}, err
	}
	var input *float64
	if r.TotalInputTokens != nil && r.Duration != nil && *r.Duration > 0 {
		input = finite(*r.TotalInputTokens / *r.Duration)
	}
	run.add(
		number(RequestsOverRun, "request_throughput", "requests/s", r.RequestThroughput),
		number(GoodOverRun, "request_goodput", "requests/s", r.RequestGoodput),
		number(InputOverRun, "total_input_tokens", "tokens/s", input),
		number(OutputOverRun, "output_throughput", "tokens/s", r.OutputThroughput),
		number(TotalOverRun, "total_token_throughput", "tokens/s", r.TotalTokenThroughput),
	)
	s.warnOfTails(run)
	return run, s.vllmRows(&run, r)
}

// vllmStatistics are the keys such as p99_ttft_ms.
func vllmStatistics(run *Run, all map[string]json.RawMessage) error {
	found := make(map[string]*Metric)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		parts := vllmKey.FindStringSubmatch(key)
		if parts == nil {
			continue
		}
		var v *float64
		if err := json.Unmarshal(all[key], &v); err != nil {
			return fmt.Errorf("%s: found %.40s, expected a number", key, all[key])
		}
		stat, called := parts[1], parts[2]
		m := found[called]
		if m == nil {
			known := vllmLatencies[called]
			begun := metric(known.definition, called+"_ms", "s")
			begun.Quantiles, begun.Counts = QuantilesType7, known.counts
			if known.counts == countRequests {
				begun.N = run.Requests.OK
			}
			m = &begun
			found[called] = m
		}
		switch {
		case stat == "mean":
			m.Mean = v
		case stat == "std":
			m.SD = v
		case stat == "median":
			m.setPercentile("p50", v)
		case isPercentile(stat):
			m.setPercentile(stat, v)
		}
	}
	for _, called := range slices.Sorted(maps.Keys(found)) {
		if *run.Requests.OK > 0 { // vLLM writes 0 for the figures of no request
			run.add(found[called].divided(1e3, "s"))
		}
	}
	return nil
}

// vllmRows makes rows of the arrays, which are in the order of submission.
func (s *source) vllmRows(run *Run, r vllmResult) error {
	n := len(r.TTFTs)
	if n == 0 {
		return nil // made without --save-detailed
	}
	for _, array := range []struct {
		name     string
		len      int
		optional bool
	}{
		{"input_lens", len(r.InputLens), false}, {"output_lens", len(r.OutputLens), false}, {"itls", len(r.ITLs), false},
		{"errors", len(r.Errors), false}, {"latencies", len(r.Latencies), true},
	} {
		if array.len != n && !(array.optional && array.len == 0) {
			return fmt.Errorf("%s: found %d elements, expected %d as in ttfts", array.name, array.len, n)
		}
	}
	measured := newRowMetrics(vllmColumns)
	unknown := 0
	for i := range n {
		q, gaps, err := r.row(s.name, run.Name, i)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if len(gaps) > 0 && q.ChunkGapS == nil {
			unknown++
		}
		measured.add(q)
		measured.addGaps(q, gaps)
		s.rows = append(s.rows, q)
	}
	if unknown > 0 {
		s.warn("%s: %d requests have another number of chunks than tokens, so the rows have no gaps: how the tokens lay in the chunks is not known", run.Name, unknown)
	}
	measured.describe(run)
	s.rowsMeta = vllmColumns.metadata(vllmBench)
	return nil
}

// row returns the gaps between chunks beside the row, which has them only if the tokens
// of the chunks are known.
func (r vllmResult) row(source, arm string, i int) (record.Request, []float32, error) {
	q := importedRow(source, arm, arm+" "+strconv.Itoa(i))
	q.PromptTokens = &r.InputLens[i]
	if r.Errors[i] != "" {
		fail(&q, r.Errors[i])
		return q, nil, checkTimes(q)
	}
	q.OutputTokens, q.TTFTS = &r.OutputLens[i], &r.TTFTs[i]
	if len(r.Latencies) > 0 {
		q.E2ES = r.Latencies[i]
	}
	gaps, sum := make([]float32, len(r.ITLs[i])), 0.0
	for j, gap := range r.ITLs[i] {
		if gap < 0 {
			return q, nil, fmt.Errorf("itls[%d][%d]: found %g, expected 0 or more", i, j, gap)
		}
		gaps[j] = float32(gap)
		sum += gap
	}
	if q.E2ES == nil { // older files: the gaps lead from the first chunk to the last
		q.E2ES = finite(r.TTFTs[i] + sum)
	}
	if n := r.OutputLens[i]; n > 1 && q.E2ES != nil {
		q.TPOTS = finite((*q.E2ES - r.TTFTs[i]) / float64(n-1))
	}
	if int64(len(gaps))+1 == r.OutputLens[i] {
		q.ChunkGapS, q.ChunkTokens = gaps, oneToken(len(gaps)+1)
	}
	return q, gaps, checkTimes(q)
}

// oneToken is a token in each of n chunks.
func oneToken(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = 1
	}
	return tokens
}
