package interop

import (
	"bgbench/pkg/record"
)

// columns says by which definitions the columns of rows were measured, and under
// which names their metrics are called.
type columns struct {
	TTFT, TPOT, E2E, NTPOT, ITL Definition
	PromptTokens, OutputTokens  Definition
}

// ourColumns are those of rows that bg-load wrote.
var ourColumns = columns{
	TTFT: TTFTFirstToken, TPOT: TPOTDecode, E2E: E2EToDone, NTPOT: NTPOTToDone, ITL: ITLPerToken,
	PromptTokens: PromptTokensServer, OutputTokens: OutputTokensServer,
}

// Metadata names the definitions in the metadata of a file of rows, so that a column
// that came from another tool is not taken for one of ours.
func (c columns) metadata(tool string) map[string]string {
	out := map[string]string{"bg.import.tool": tool}
	gaps := ITLPerChunk
	if c.ITL == ITLPerAnyChunk || c.ITL == ITLPerEvent {
		gaps = c.ITL
	}
	for column, d := range map[string]Definition{
		"ttft_s": c.TTFT, "tpot_s": c.TPOT, "e2e_s": c.E2E, "chunk_gap_s": gaps,
		"prompt_tokens": c.PromptTokens, "output_tokens": c.OutputTokens,
	} {
		out["bg.import.definition."+column] = string(d)
	}
	return out
}

// rowMetrics collects the numbers of rows.
type rowMetrics struct {
	columns columns
	counts  struct{ total, ok, incomplete int }
	errors  map[string]int

	ttft, tpot, e2e, ntpot, prompt, output, cached values[float64]
	ttftFromDue, e2eFromDue, lateness              values[float64]
	itl                                            values[float32]

	inputTokens, outputTokens int64 // of requests that ended ok
}

func newRowMetrics(c columns) *rowMetrics { return &rowMetrics{columns: c, errors: map[string]int{}} }

func (r *rowMetrics) add(q record.Request) {
	r.counts.total++
	r.lateness.add(q.LatenessS)
	switch q.Status {
	case record.StatusOK:
		r.counts.ok++
	case record.StatusIncomplete:
		r.counts.incomplete++
		return
	default:
		r.errors[q.Status]++
		return
	}
	r.ttft.add(q.TTFTS)
	r.tpot.add(q.TPOTS)
	r.e2e.add(q.E2ES)
	r.ttftFromDue.add(q.TTFTFromDueS)
	r.e2eFromDue.add(q.E2EFromDueS)
	switch r.columns.ITL {
	case ITLPerToken:
		r.itl = record.AppendTokenGaps(r.itl, q.ChunkGapS, q.ChunkTokens)
	case ITLPerTokenBurst:
		r.itl = appendBurstGaps(r.itl, q.ChunkGapS, q.ChunkTokens)
	}
	if q.PromptTokens != nil {
		r.inputTokens += *q.PromptTokens
		r.prompt = append(r.prompt, float64(*q.PromptTokens))
	}
	if q.CachedTokens != nil {
		r.cached = append(r.cached, float64(*q.CachedTokens))
	}
	if q.OutputTokens == nil {
		return
	}
	r.outputTokens += *q.OutputTokens
	r.output = append(r.output, float64(*q.OutputTokens))
	if q.E2ES != nil && *q.OutputTokens > 0 {
		r.ntpot = append(r.ntpot, *q.E2ES/float64(*q.OutputTokens))
	}
}

// addGaps adds those of a request whose definition asks for no tokens, and which its row
// may not have because their tokens are not known.
func (r *rowMetrics) addGaps(q record.Request, gaps []float32) {
	if q.Status == record.StatusOK {
		r.itl = append(r.itl, gaps...)
	}
}

// appendBurstGaps gives the tokens of a chunk after its first gaps of 0, as
// inference-perf does, which gives every token the time of its chunk.
func appendBurstGaps(to []float32, gaps []float32, tokens []int32) []float32 {
	if len(tokens) == 0 {
		return to
	}
	for range tokens[0] - 1 {
		to = append(to, 0)
	}
	for i, gap := range gaps {
		for j := range tokens[i+1] {
			if j > 0 {
				gap = 0
			}
			to = append(to, gap)
		}
	}
	return to
}

// describe puts counts, errors and metrics into run. Names of metrics in the file, or
// in results.json for ours, go by family.
func (r *rowMetrics) describe(run *Run) {
	failed := r.counts.total - r.counts.ok - r.counts.incomplete
	run.Requests = Counts{&r.counts.total, &r.counts.ok, &failed, &r.counts.incomplete}
	if len(r.errors) > 0 {
		run.Errors = r.errors
	}
	c := r.columns
	for _, m := range []struct {
		d      Definition
		values values[float64]
	}{
		{c.TTFT, r.ttft}, {TTFTFromDue, r.ttftFromDue}, {c.TPOT, r.tpot}, {c.NTPOT, r.ntpot},
		{c.E2E, r.e2e}, {E2EFromDue, r.e2eFromDue}, {LatenessSend, r.lateness},
	} {
		of := m.values.measure(m.d, m.d.Family(), "s", countRequests)
		if m.d == LatenessSend {
			of.Of = OfAll
		}
		run.add(of)
	}
	run.add(r.itl.measure(c.ITL, c.ITL.Family(), "s", countGaps),
		r.prompt.measure(c.PromptTokens, c.PromptTokens.Family(), "tokens", countRequests),
		r.cached.measure(CachedTokensServer, CachedTokensServer.Family(), "tokens", countRequests),
		r.output.measure(c.OutputTokens, c.OutputTokens.Family(), "tokens", countRequests))
}

// rates adds what ended ok per second.
func (r *rowMetrics) rates(run *Run, seconds float64, requests, input, output, total Definition) {
	if seconds <= 0 {
		return
	}
	for _, m := range []struct {
		d     Definition
		unit  string
		count float64
	}{
		{requests, "requests/s", float64(r.counts.ok)},
		{input, "tokens/s", float64(r.inputTokens)},
		{output, "tokens/s", float64(r.outputTokens)},
		{total, "tokens/s", float64(r.inputTokens + r.outputTokens)},
	} {
		rate := number(m.d, m.d.Family(), m.unit, finite(m.count/seconds))
		rate.From = FromRows
		run.add(rate)
	}
}
