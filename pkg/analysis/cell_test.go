package analysis

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
)

// summarize computes the summary of a cell in memory.
func summarize(c analysistest.Cell) (CellResult, error) {
	whole, err := gather(c)
	if err != nil {
		return CellResult{}, err
	}
	return whole.result("cell")
}

// gather takes the rows and the metadata of a cell.
func gather(c analysistest.Cell) (*cell, error) {
	r := newRows()
	for _, q := range c.Requests {
		if err := r.addRequest(&q); err != nil {
			return nil, err
		}
	}
	for _, j := range c.Jobs {
		if err := r.addJob(&j); err != nil {
			return nil, err
		}
	}
	if err := r.addSamples(c.Samples); err != nil {
		return nil, err
	}
	metadata, err := json.Marshal(c.Metadata)
	if err != nil {
		return nil, err
	}
	return newCell(r, metadata)
}

func mustSummarize(t *testing.T, c analysistest.Cell) CellResult {
	t.Helper()
	result, err := summarize(c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func near(t *testing.T, what string, got Value, want float64) {
	t.Helper()
	if got.Value == nil || math.Abs(*got.Value-want) > 1e-6*math.Max(1, want) {
		t.Errorf("%s is %v, expected %v", what, show(got), want)
	}
}

func TestCellSummaryFindsWhatWasPutIn(t *testing.T) {
	c := mustSummarize(t, analysistest.New(analysistest.S2, 1))
	if !c.Valid {
		t.Errorf("the cell is INVALID: %s", c.failures())
	}
	if len(c.Phases) != 2 || c.Phases[0].Phase != "burst" || c.Phases[1].Phase != "idle" {
		t.Fatalf("phases %+v, expected burst and idle", c.Phases)
	}
	burst, base := c.Phases[0], analysistest.Base(analysistest.S2, 1)
	if burst.WindowS != 60 || burst.Requests != 240 || burst.ByStatus["ok"] != 240 {
		t.Errorf("burst has %d requests in %v s, expected the 240 of two measured cycles in 60 s", burst.Requests, burst.WindowS)
	}
	near(t, "TTFT p50", burst.TTFT.P50, base*1.5)
	near(t, "TTFT p95", burst.TTFT.P95, base*1.95)
	near(t, "TTFT from due p95", burst.TTFTFromDue.P95, base*1.95+0.001)
	near(t, "TTFT maximum", burst.TTFT.Max, base*2)
	near(t, "TTFT mean", burst.TTFT.Mean, base*1.5)
	near(t, "E2E p50", burst.E2E.P50, base*1.5+0.080)
	near(t, "TPOT p95", burst.TPOT.P95, 0.080/3)
	// Each request has a gap of 20 ms and, of a chunk of 2 tokens, two of 30 ms.
	near(t, "ITL p50", burst.ITL.P50, 0.030)
	near(t, "ITL mean", burst.ITL.Mean, 0.080/3)
	if burst.ITL.N != 3*240 {
		t.Errorf("%d gaps, expected 3 a request", burst.ITL.N)
	}
	near(t, "offered", burst.OfferedPerS, 4)
	near(t, "output tokens", burst.OutputTokensPerS, 16)
	near(t, "prompt tokens", burst.PromptTokensPerS, 400)
	near(t, "cached", burst.CachedTokensRatio, 0.64)
	near(t, "error rate", burst.ErrorRate, 0)
	near(t, "lateness p95", burst.Lateness.P95, 0.001)

	near(t, "batch in the burst", c.Batch.BurstPerS, 0.5)
	near(t, "batch in the idle phase", c.Batch.IdlePerS, 2)
	near(t, "batch by phase", c.Batch.PerPhase["idle"], 2)
	want := Accounting{Submitted: 150, OK: 140, Failed: 10, Reason: "the Batch API does not show attempts"}
	if c.Batch.Lines != want {
		t.Errorf("lines %+v, expected %+v", c.Batch.Lines, want)
	}
	if c.Batch.TTFT.P50.Reason != "the Batch API does not say when a first token came" {
		t.Errorf("batch TTFT of a gateway: %v", show(c.Batch.TTFT.P50))
	}
	near(t, "completion of A", c.Jobs[0].CompletionS, 138)
}

func TestBacklogRowsBelongToThePhaseTheyWereSentIn(t *testing.T) {
	c := mustSummarize(t, analysistest.New(analysistest.S1, 1))
	counts := map[string]int{}
	for _, p := range c.Phases {
		counts[p.Phase+"/"+p.Class] = p.Requests
	}
	// Lines of job A are sent as they complete: 15 a burst and 20 an idle phase, two
	// cycles measured.
	want := map[string]int{"burst/interactive": 240, "idle/interactive": 20, "burst/batch-equivalent": 30, "idle/batch-equivalent": 40}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	near(t, "batch TTFT p50", c.Batch.TTFT.P50, 0.5)
	if c.Batch.TTFT.N != 70 {
		t.Errorf("batch TTFT over %d rows, expected the 70 of the measured phases", c.Batch.TTFT.N)
	}
	near(t, "batch in the idle phase", c.Batch.IdlePerS, 2)
}

func TestArmWithoutBatchHasNoBatchFigures(t *testing.T) {
	c := mustSummarize(t, analysistest.New(analysistest.S0, 1))
	if len(c.Jobs) != 0 || c.Batch.IdlePerS.Reason != "the arm has no batch work" || c.Batch.Lines.Submitted != 0 {
		t.Errorf("jobs %v, batch %+v", c.Jobs, c.Batch)
	}
	for _, check := range c.Checks {
		if strings.Contains(check.Name, "batch") {
			t.Errorf("an arm without batch work is checked for %s", check.Name)
		}
	}
	if !c.Valid {
		t.Errorf("INVALID: %s", c.failures())
	}
}

// Failed requests leave no latency and must not vanish for it.
func TestFailuresCount(t *testing.T) {
	cell := analysistest.New(analysistest.S0, 1)
	statuses := []string{record.StatusTimeout, record.StatusIncomplete, record.StatusRejected}
	failed := 0
	for i := range cell.Requests {
		q := &cell.Requests[i]
		if *q.Phase == "burst" && !q.Warmup && i%8 == 0 {
			q.Status = statuses[failed%3]
			failed++
		}
	}
	if failed != 30 {
		t.Fatalf("the test made %d failures, expected 30", failed)
	}
	result := mustSummarize(t, cell)
	burst := result.Phases[0]
	warned := "s0-interactive-only t1: burst/interactive: 12.5 % of 240 requests did not end ok, the latencies are those of the others"
	if w := result.Warnings(); len(w) != 1 || w[0].String() != warned {
		t.Errorf("warnings %v, expected %q", w, warned)
	}
	near(t, "error rate", burst.ErrorRate, 30.0/240)
	near(t, "offered", burst.OfferedPerS, 4)
	near(t, "ok", burst.OKPerS, 3.5)
	near(t, "output tokens of ok requests", burst.OutputTokensPerS, 14)
	if burst.IncompleteRequests != 10 || burst.ByStatus["timeout"] != 10 {
		t.Errorf("by status %v", burst.ByStatus)
	}
	if burst.TTFT.N != 210 || burst.TTFTAdjusted.N != 240 {
		t.Errorf("%d rows with TTFT, %d adjusted, expected 210 and 240", burst.TTFT.N, burst.TTFTAdjusted.N)
	}
	if burst.TTFTAdjusted.P95.Value != nil || *burst.TTFTAdjusted.P50.Value <= *burst.TTFT.P50.Value {
		t.Errorf("adjusted p50 %v p95 %v beside p50 %v: failures must push percentiles up",
			show(burst.TTFTAdjusted.P50), show(burst.TTFTAdjusted.P95), show(burst.TTFT.P50))
	}
}

func TestOrderOfRowsLeavesNoTrace(t *testing.T) {
	for _, arm := range []string{analysistest.S1, analysistest.S2} {
		cell := analysistest.New(arm, 1)
		for i := range cell.Requests { // spread the values, so that sums round
			if gaps := cell.Requests[i].ChunkGapS; gaps != nil {
				gaps[0] = 0.020 / float32(i+1)
			}
		}
		want := encode(t, mustSummarize(t, cell))
		random := rand.New(rand.NewPCG(7, 7))
		for range 5 {
			shuffle(random, cell.Requests)
			shuffle(random, cell.Jobs)
			shuffle(random, cell.Samples)
			if got := encode(t, mustSummarize(t, cell)); got != want {
				t.Fatalf("%s: another order of rows gives another summary", arm)
			}
		}
	}
}

func shuffle[T any](random *rand.Rand, rows []T) {
	random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	if err := WriteJSON(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCellsThatNoRunCanHaveLeftAreRefused(t *testing.T) {
	bad := math.NaN()
	cases := []struct {
		name   string
		change func(*analysistest.Cell)
		want   string
	}{
		{"NaN", func(c *analysistest.Cell) { c.Requests[3].TTFTS = &bad }, "ttft_s: found NaN, expected a finite number or null"},
		{"a negative duration", func(c *analysistest.Cell) { *c.Requests[3].E2ES = -1 }, "e2e_s: found -1, expected 0 or more"},
		{"a NaN gap", func(c *analysistest.Cell) { c.Requests[3].ChunkGapS[1] = float32(bad) }, "chunk_gap_s: found NaN, expected finite numbers of 0 or more"},
		{"gaps without their tokens", func(c *analysistest.Cell) { c.Requests[3].ChunkTokens = nil },
			"chunk_tokens: found 0 values beside 2 in chunk_gap_s, expected one more than gaps"},
		{"tokens below zero", func(c *analysistest.Cell) { *c.Requests[3].OutputTokens = -2 }, "output_tokens: found -2, expected 0 or more"},
		{"an unknown status", func(c *analysistest.Cell) { c.Requests[3].Status = "fine" }, `status: found "fine", expected one of ok, `},
		{"rows of two trials", func(c *analysistest.Cell) { c.Requests[3].Trial = 9 }, `it is of trial 9, the first row of trial 1`},
		{"rows of another cell", func(c *analysistest.Cell) { c.Metadata.Trial = 2 }, `its rows are of trial 1, its run-metadata.json is of trial 2`},
		{"an unknown phase", func(c *analysistest.Cell) { *c.Requests[200].Phase = "noon" }, `rows of phase "noon", class "interactive": the profile has phases [burst idle]`},
		{"an unknown job", func(c *analysistest.Cell) { c.Jobs[0].Job = "Z" }, `job "Z", which the profile does not have`},
		{"another schema", func(c *analysistest.Cell) { c.Metadata.SchemaVersion = 7 }, "schema_version: found 7, expected 1"},
		{"no stack", func(c *analysistest.Cell) { c.Metadata.Stack = nil }, "stack.arm.dispatch: found nothing"},
		{"nothing measured", func(c *analysistest.Cell) { c.Metadata.Profile.Interactive.WarmupCycles = 3 }, "interactive.warmupCycles: 3 leaves none of 3 cycles to measure"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cell := analysistest.New(analysistest.S2, 1)
			c.change(&cell)
			if _, err := summarize(cell); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, expected …%s…", err, c.want)
			}
		})
	}
}

func TestAScrapeOfALoneArmIsOfTheExperimentOfTheInputs(t *testing.T) {
	cell := analysistest.New(analysistest.S2, 1)
	want, err := summarize(cell)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cell.Samples {
		cell.Samples[i].Experiment = ""
	}
	found, err := summarize(cell)
	if err != nil || encode(t, found) != encode(t, want) {
		t.Errorf("found %+v, %v, expected what rows with the name of the experiment give", found, err)
	}
}

func FuzzMetadata(f *testing.F) {
	for _, arm := range []string{analysistest.S0, analysistest.S1, analysistest.S2} {
		text, err := json.Marshal(analysistest.New(arm, 1).Metadata)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("{}"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m record.Metadata
		if json.Unmarshal(text, &m) == nil && m.Profile.Interactive.Cycles > 1000 {
			t.Skip("a schedule of years is slow, not wrong")
		}
		c, err := newCell(newRows(), text)
		if err != nil {
			return
		}
		result, err := c.result("cell")
		if err != nil {
			return
		}
		if result.Valid {
			t.Error("a cell without a row is VALID")
		}
		if err := WriteJSON(io.Discard, result); err != nil {
			t.Error(err)
		}
	})
}
