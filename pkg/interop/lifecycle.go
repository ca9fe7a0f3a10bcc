package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"bgbench/pkg/record"
)

// dist is a block of statistics as inference-perf writes it; a percentile that so few
// requests cannot bound is absent.
type dist struct {
	Mean   *float64 `json:"mean,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	P0p1   *float64 `json:"p0.1,omitempty"`
	P1     *float64 `json:"p1,omitempty"`
	P5     *float64 `json:"p5,omitempty"`
	P10    *float64 `json:"p10,omitempty"`
	P25    *float64 `json:"p25,omitempty"`
	Median *float64 `json:"median,omitempty"`
	P75    *float64 `json:"p75,omitempty"`
	P90    *float64 `json:"p90,omitempty"`
	P95    *float64 `json:"p95,omitempty"`
	P99    *float64 `json:"p99,omitempty"`
	P99p9  *float64 `json:"p99.9,omitempty"`
}

// usage is the block of prompt and output tokens.
type usage struct {
	Total    float64  `json:"total"`
	Cached   *float64 `json:"cached,omitempty"`
	Uncached *float64 `json:"uncached,omitempty"`
	*dist
}

// lifecycleOut is a lifecycle file with the keys of both generations: prompt_len and
// output_len are those that llm-d-benchmark reads, prompt_tokens and output_tokens
// those of inference-perf since 2026.
type lifecycleOut struct {
	BenchmarkTime float64      `json:"benchmark_time_seconds"`
	LoadSummary   loadSummary  `json:"load_summary"`
	Successes     successesOut `json:"successes"`
	Failures      failuresOut  `json:"failures"`
}

type loadSummary struct {
	Count         int      `json:"count"`
	ScheduleDelay *dist    `json:"schedule_delay"`
	RequestedRate *float64 `json:"requested_rate,omitempty"`
	AchievedRate  *float64 `json:"achieved_rate,omitempty"`
}

type successesOut struct {
	Count   int `json:"count"`
	Latency struct {
		RequestLatency *dist `json:"request_latency"`
		NTPOT          *dist `json:"normalized_time_per_output_token"`
		TPOT           *dist `json:"time_per_output_token"`
		TTFT           *dist `json:"time_to_first_token"`
		ITL            *dist `json:"inter_token_latency"`
	} `json:"latency"`
	Throughput struct {
		Input    *float64 `json:"input_tokens_per_sec"`
		Output   *float64 `json:"output_tokens_per_sec"`
		Total    *float64 `json:"total_tokens_per_sec"`
		Requests *float64 `json:"requests_per_sec"`
	} `json:"throughput"`
	PromptLen    *dist  `json:"prompt_len"`
	PromptTokens *usage `json:"prompt_tokens"`
	OutputLen    *dist  `json:"output_len"`
	OutputTokens *usage `json:"output_tokens"`
}

type failuresOut struct {
	Count          int                    `json:"count"`
	RequestLatency *dist                  `json:"request_latency"`
	PromptLen      *dist                  `json:"prompt_len"`
	PromptTokens   *usage                 `json:"prompt_tokens"`
	ByLabel        map[string]failureKind `json:"by_label"`
}

type failureKind struct {
	Count    int      `json:"count"`
	Messages []string `json:"messages"`
}

// lifecycleFiles are those of inference-perf for interactive requests: a stage for each
// phase, the summary of all of them and, where rows are at hand, each request.
// The warnings say which of them llm-d-benchmark's importer will refuse for what they
// lack.
func (d Document) lifecycleFiles(ctx context.Context) (files []File, warnings []string) {
	for i, r := range d.Runs {
		if r.Requests.Total == nil || r.Requests.OK == nil || r.Cell != nil && r.Cell.Class != record.ClassInteractive {
			continue
		}
		folder, name := r.folder(i), "summary_lifecycle_metrics.json"
		if c := r.Cell; c != nil && c.Phase != allPhases {
			name = fmt.Sprintf("stage_%d_lifecycle_metrics.json", c.stage())
		} else if c != nil && c.Dir != "" {
			files = append(files, File{path.Join(folder, "per_request_lifecycle_metrics.json"), func(w io.Writer) error {
				return writePerRequest(ctx, w, *c)
			}})
		}
		name = path.Join(folder, name)
		out := r.lifecycle()
		if lacks := out.lacks(); len(lacks) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s has no %s, which llm-d-benchmark needs", name, strings.Join(lacks, ", ")))
		}
		files = append(files, File{name, func(w io.Writer) error { return writeIndented(w, out) }})
	}
	return files, warnings
}

// lacks lists what llm-d-benchmark's importer (2026-08-21) requires and is not there.
func (l lifecycleOut) lacks() []string {
	if l.Successes.Count == 0 {
		return nil // it asks for nothing then
	}
	var out []string
	s := l.Successes
	for _, needed := range []struct {
		name  string
		there bool
	}{
		{"request_latency", s.Latency.RequestLatency != nil}, {"normalized_time_per_output_token", s.Latency.NTPOT != nil},
		{"prompt_len", s.PromptLen != nil},
		{"throughput", s.Throughput.Input != nil && s.Throughput.Output != nil && s.Throughput.Total != nil && s.Throughput.Requests != nil},
	} {
		if !needed.there {
			out = append(out, needed.name)
		}
	}
	return out
}

// lifecycle fills the places of the format with metrics that measure what they are
// for, and leaves the others null.
func (r Run) lifecycle() lifecycleOut {
	block := func(definitions ...Definition) *dist {
		if m, ok := r.find(definitions...); ok {
			return m.dist()
		}
		return nil
	}
	one := func(definitions ...Definition) *float64 {
		m, _ := r.find(definitions...)
		return m.Mean
	}
	var out lifecycleOut
	if r.DurationS != nil {
		out.BenchmarkTime = *r.DurationS
		out.LoadSummary.AchievedRate = finite(float64(*r.Requests.Total) / *r.DurationS)
	}
	out.LoadSummary.Count = *r.Requests.Total
	for _, m := range r.Metrics {
		if m.Definition == LatenessSend {
			out.LoadSummary.ScheduleDelay = m.dist()
		}
	}
	if c := r.Cell; c != nil && c.rate() > 0 {
		rate := c.rate()
		out.LoadSummary.RequestedRate = &rate
	}

	ok := &out.Successes
	ok.Count = *r.Requests.OK
	ok.Latency.RequestLatency = block(E2EToDoneTokenized, E2EToDone, E2EToLastChunk, E2EToLastContent)
	ok.Latency.NTPOT = block(NTPOTToDoneTokenized, NTPOTToDone, NTPOTToLastChunk, NTPOTToLastContent)
	ok.Latency.TPOT = block(TPOTDecode, TPOTAfterFirstToken, TPOTAfterFirstChunk)
	ok.Latency.TTFT = block(TTFTFirstContent, TTFTFirstToken)
	ok.Latency.ITL = block(ITLPerTokenBurst)
	ok.Throughput.Input = one(InputOverSpan, InputOverPhase, InputOverRun)
	ok.Throughput.Output = one(OutputOverSpan, OutputOverPhase, OutputOverRun)
	ok.Throughput.Total = one(TotalOverSpan, TotalOverPhase, TotalOverRun)
	ok.Throughput.Requests = one(RequestsOverSpan, RequestsOverPhase, RequestsOverRun)
	prompt, _ := r.find(PromptTokensMixed, PromptTokensServer, PromptTokensClient)
	output, _ := r.find(OutputTokensMixed, OutputTokensServer, OutputTokensOrChunks, OutputTokensClient)
	ok.PromptLen, ok.PromptTokens = prompt.dist(), prompt.usage()
	ok.OutputLen, ok.OutputTokens = output.dist(), output.usage()
	if cached, found := r.find(CachedTokensServer); found && ok.PromptTokens != nil {
		sum := cached.usage().Total
		rest := max(ok.PromptTokens.Total-sum, 0)
		ok.PromptTokens.Cached, ok.PromptTokens.Uncached = &sum, &rest
	}

	// Requests that never ended are failures, or they would be lost.
	out.Failures = failuresOut{Count: out.LoadSummary.Count - ok.Count, ByLabel: map[string]failureKind{}}
	for kind, n := range r.Errors {
		out.Failures.ByLabel[kind] = failureKind{n, []string{}}
	}
	if n := r.Requests.Incomplete; n != nil && *n > 0 {
		out.Failures.ByLabel[record.StatusIncomplete] = failureKind{*n, []string{}}
	}
	return out
}

func (m Metric) dist() *dist {
	if m.empty() {
		return nil
	}
	return &dist{
		Mean: m.Mean, Min: m.Min, Max: m.Max, P0p1: m.percentile("p0.1"), P1: m.percentile("p1"), P5: m.percentile("p5"),
		P10: m.percentile("p10"), P25: m.percentile("p25"), Median: m.percentile("p50"), P75: m.percentile("p75"),
		P90: m.percentile("p90"), P95: m.percentile("p95"), P99: m.percentile("p99"), P99p9: m.percentile("p99.9"),
	}
}

// usage has the total where mean and number of requests give it.
func (m Metric) usage() *usage {
	d := m.dist()
	if d == nil || m.Mean == nil || m.N == nil {
		return nil
	}
	return &usage{Total: *m.Mean * float64(*m.N), dist: d}
}

// perRequest is an element of per_request_lifecycle_metrics.json. Bodies are not kept,
// so request is empty; times are seconds of schedule time.
type perRequest struct {
	StartTime float64        `json:"start_time"`
	EndTime   float64        `json:"end_time"`
	Request   string         `json:"request"`
	Response  *string        `json:"response"`
	Info      perRequestInfo `json:"info"`
	Error     *perRequestErr `json:"error"`
}

type perRequestInfo struct {
	RequestMetrics struct {
		Text struct {
			InputTokens int64 `json:"input_tokens"`
		} `json:"text"`
	} `json:"request_metrics"`
	ResponseMetrics *perResponse      `json:"response_metrics"`
	Labels          map[string]string `json:"labels"`
	InputTokens     int64             `json:"input_tokens"`
}

type perResponse struct {
	OutputTokens     int64            `json:"output_tokens"`
	ServerUsage      map[string]int64 `json:"server_usage"`
	ChunkTimes       []float64        `json:"chunk_times"`
	OutputTokenTimes []float64        `json:"output_token_times"`
}

type perRequestErr struct {
	Type    string `json:"error_type"`
	Message string `json:"error_msg"`
}

// writePerRequest writes the interactive requests of the measured cycles that were
// sent, one after the other.
func writePerRequest(ctx context.Context, w io.Writer, c Cell) error {
	out := bufio.NewWriter(w)
	separator := "[\n"
	var failed error
	err := eachRow(ctx, c.Dir, func(q record.Request) {
		if failed != nil || q.Class != record.ClassInteractive || q.Warmup || q.Phase == nil || q.SentAt == nil {
			return
		}
		data, err := json.Marshal(perRequestOf(q, c))
		if err != nil {
			failed = fmt.Errorf("encoding request %s: %w", q.RequestID, err)
			return
		}
		out.WriteString(separator)
		_, failed = out.Write(data)
		separator = ",\n"
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case separator == "[\n":
		out.WriteString("[")
	}
	out.WriteString("\n]\n")
	return out.Flush()
}

func perRequestOf(q record.Request, c Cell) perRequest {
	start := q.SentAt.Sub(c.Start).Seconds()
	r := perRequest{StartTime: start, EndTime: start}
	if q.E2ES != nil {
		r.EndTime = start + *q.E2ES
	} else if q.DoneAt != nil {
		r.EndTime = q.DoneAt.Sub(c.Start).Seconds()
	}
	r.Info.Labels = map[string]string{"phase": *q.Phase, "trial": strconv.Itoa(c.Trial), "arm": c.Arm.Name}
	if q.PromptTokens != nil {
		r.Info.InputTokens = *q.PromptTokens
		r.Info.RequestMetrics.Text.InputTokens = *q.PromptTokens
	}
	if q.Status != record.StatusOK {
		r.Error = &perRequestErr{Type: q.Status}
		if q.HTTPStatus != nil && *q.HTTPStatus != 200 {
			r.Error.Type = "HTTP Error " + strconv.Itoa(int(*q.HTTPStatus))
		}
		if q.Error != nil {
			r.Error.Message = *q.Error
		}
		return r
	}
	answer := &perResponse{ServerUsage: map[string]int64{}, ChunkTimes: []float64{}, OutputTokenTimes: []float64{}}
	if q.OutputTokens != nil {
		answer.OutputTokens = *q.OutputTokens
		answer.ServerUsage["completion_tokens"] = *q.OutputTokens
	}
	if q.PromptTokens != nil {
		answer.ServerUsage["prompt_tokens"] = *q.PromptTokens
	}
	if q.TTFTS != nil {
		at := start + *q.TTFTS
		for i, tokens := range q.ChunkTokens {
			if i > 0 {
				at += float64(q.ChunkGapS[i-1])
			}
			answer.ChunkTimes = append(answer.ChunkTimes, at)
			for range tokens {
				answer.OutputTokenTimes = append(answer.OutputTokenTimes, at)
			}
		}
	}
	r.Info.ResponseMetrics = answer
	return r
}
