//go:build scale

package analysis

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/random"
	"bgbench/pkg/record"
)

var (
	scaleRows = flag.Int("rows", 1_000_000, "rows of requests, of 50 gaps each")
	scaleDir  = flag.String("cell", "", "folder of the cell, which is made where it is missing and kept; a temporary one by default")
)

// What a summary of many rows may cost.
const (
	timesDuckDB = 1.5     // the time of the same percentiles in DuckDB
	memoryLimit = 1 << 30 // bytes resident at the peak
)

// TestManyRowsAreSummarizedAsFastAsInDuckDB runs bg-analyze and DuckDB on one file, one
// after the other, and holds the figures, the time and the memory against each other.
func TestManyRowsAreSummarizedAsFastAsInDuckDB(t *testing.T) {
	dir := *scaleDir
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "cell")
	}
	if _, err := os.Stat(dir); err != nil {
		manyRows(t, dir, *scaleRows)
	}
	tool := filepath.Join(t.TempDir(), "bg-analyze")
	if out, err := exec.Command("go", "build", "-o", tool, "bgbench/cmd/bg-analyze").CombinedOutput(); err != nil {
		t.Fatalf("building bg-analyze: %v\n%s", err, out)
	}
	duck, duckOut := timed(t, duckDB(t, filepath.Join(dir, requestsFile)))
	ours, oursOut := timed(t, exec.Command(tool, "cell", dir))

	var cell CellResult
	if err := json.Unmarshal(oursOut, &cell); err != nil {
		t.Fatal(err)
	}
	sameFigures(t, cell, duckOut)
	t.Logf("bg-analyze: %v", ours)
	t.Logf("DuckDB:     %v", duck)
	wall, cpu := ours.wall.Seconds()/duck.wall.Seconds(), ours.cpu.Seconds()/duck.cpu.Seconds()
	t.Logf("bg-analyze takes %.2f times the time of DuckDB and %.2f times its CPU time, limit %g", wall, cpu, timesDuckDB)
	if wall > timesDuckDB {
		t.Errorf("bg-analyze takes %.2f times the time of DuckDB, limit %g", wall, timesDuckDB)
	}
	if ours.memory > memoryLimit {
		t.Errorf("bg-analyze takes %d MiB, limit %d MiB", ours.memory>>20, memoryLimit>>20)
	}
}

// scaleLines is how many rows are lines of a job, which has at most 50,000.
const scaleLines = 50_000

// manyRows makes a cell: some rows are lines that were sent as ordinary requests, one of
// the others in a hundred failed. Gaps are log-normal around 20 ms and whole nanoseconds, as a
// clock gives them.
func manyRows(t *testing.T, whole string, rows int) {
	t.Helper()
	dir := record.Partial(whole)
	c := analysistest.New(analysistest.S1, 1)
	c.Requests = nil
	c.Metadata.Profile.Batch.Jobs[0].Requests = scaleLines
	if err := c.Write(dir); err != nil { // all but the requests
		t.Fatal(err)
	}
	w, err := record.CreateWhole[record.Request](filepath.Join(dir, requestsFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(random.Stream(1, "rows at scale"))
	for at := 0; at < rows; at += 4096 {
		batch := make([]record.Request, min(4096, rows-at))
		for i := range batch {
			batch[i] = anyRequest(rng, at+i, rows, c.Metadata)
		}
		if err := w.Write(batch...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, whole); err != nil {
		t.Fatal(err)
	}
}

func anyRequest(rng *rand.Rand, i, rows int, of record.Metadata) record.Request {
	// around is a duration of whole nanoseconds.
	around := func(s, spread float64) float64 {
		return time.Duration(s * math.Exp(spread*rng.NormFloat64()) * 1e9).Seconds()
	}
	after := func(t time.Time, s float64) *time.Time {
		at := t.Add(seconds(s)).Truncate(time.Microsecond)
		return &at
	}
	number := func(n int64) *int64 { return &n }
	text := func(s string) *string { return &s }
	phase, cycle, http := "burst", int32(i*3/rows), int32(200)
	if rng.IntN(8) == 0 {
		phase = "idle"
	}
	due := analysistest.Start.Add(time.Duration(float64(i) / float64(rows) * 120e9))
	lateness, ttft, gaps := around(0.0005, 1), around(0.3, 0.5), make([]float32, 50)
	streamed := 0.0
	for g := range gaps {
		gaps[g] = float32(around(0.02, 0.4))
		streamed += float64(gaps[g])
	}
	tokens := make([]int32, 51)
	for k := range tokens {
		tokens[k] = 1
	}
	value := func(v float64) *float64 { return &v }
	r := record.Request{
		Experiment: of.Experiment, Arm: of.Arm, Trial: int32(of.Trial), Seed: of.Seed,
		Class: record.ClassInteractive, Phase: &phase, Cycle: &cycle, Warmup: cycle == 0,
		RequestID: fmt.Sprintf("t1-%08d", i), PromptIndex: number(int64(i)), Attempt: 1,
		DueAt: after(due, 0), SentAt: after(due, lateness), HeadersAt: after(due, lateness), FirstChunkAt: after(due, lateness+ttft),
		FirstTokenAt: after(due, lateness+ttft), LastTokenAt: after(due, lateness+ttft+streamed), DoneAt: after(due, lateness+ttft+streamed),
		LatenessS: value(lateness), TTFTS: value(ttft), TTFTFromDueS: value(lateness + ttft),
		E2ES: value(ttft + streamed), E2EFromDueS: value(lateness + ttft + streamed), TPOTS: value(streamed / 50),
		ChunkGapS: gaps, ChunkTokens: tokens,
		PromptTokens: number(int64(rng.IntN(4000))), CachedTokens: number(0), OutputTokens: number(51), RequestedOutputTokens: number(51),
		TokenSource: text(record.TokensFromContinuousUsage), Status: record.StatusOK, HTTPStatus: &http, FinishReason: text("length"),
		Endpoint: text("vllm-0"), BytesSent: number(9000), BytesReceived: number(12000),
	}
	switch {
	case i%(rows/scaleLines) == 0:
		r.Class, r.Job, r.CustomID = record.ClassBatchEquivalent, text("A"), text(fmt.Sprintf("job-A-%05d", i/(rows/scaleLines)))
		r.DueAt, r.LatenessS, r.TTFTFromDueS, r.E2EFromDueS = nil, nil, nil, nil
	case rng.IntN(100) == 0:
		r.Status, r.DoneAt, r.E2ES, r.E2EFromDueS, r.FinishReason = record.StatusIncomplete, nil, nil, nil, nil
	}
	return r
}

// cost is what a process took.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // resident at the peak
}

func (c cost) String() string {
	return fmt.Sprintf("%.1f s, %.1f s of CPU, %d MiB", c.wall.Seconds(), c.cpu.Seconds(), c.memory>>20)
}

func timed(t *testing.T, cmd *exec.Cmd) (cost, []byte) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Path, err, stderr.String())
	}
	wall := time.Since(began)
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	unit := int64(1024)
	if runtime.GOOS == "darwin" { // which counts bytes
		unit = 1
	}
	return cost{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), used.Maxrss * unit}, stdout.Bytes()
}

// scaleColumns are the figures that DuckDB computes too.
var scaleColumns = map[string]func(PhaseSummary) Distribution{
	"ttft_s":          func(p PhaseSummary) Distribution { return p.TTFT },
	"ttft_from_due_s": func(p PhaseSummary) Distribution { return p.TTFTFromDue },
	"tpot_s":          func(p PhaseSummary) Distribution { return p.TPOT },
	"e2e_s":           func(p PhaseSummary) Distribution { return p.E2E },
	"e2e_from_due_s":  func(p PhaseSummary) Distribution { return p.E2EFromDue },
	"chunk_gap_s":     func(p PhaseSummary) Distribution { return p.ITL },
}

// duckDB asks for a row of phase, class, column, mean, maximum and percentiles of each
// figure. Each chunk has one token, so that its gaps are the inter-token latencies.
func duckDB(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	scripts := filepath.Join("..", "record", "testdata", "duckdb")
	modules, err := filepath.Abs(filepath.Join(scripts, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	for _, column := range []string{"ttft_s", "ttft_from_due_s", "tpot_s", "e2e_s", "e2e_from_due_s", "chunk_gap_s"} {
		value := column
		if column == "chunk_gap_s" {
			value = "unnest(chunk_gap_s)"
		}
		statements = append(statements, fmt.Sprintf(`SELECT phase, class, '%s', avg(v), max(v), unnest(quantile_cont(v, [0.5, 0.9, 0.95, 0.99]))
			FROM (SELECT phase, class, %s AS v FROM '%s' WHERE status = 'ok' AND NOT warmup) WHERE v IS NOT NULL GROUP BY phase, class`, column, value, path))
	}
	input, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join(scripts, "query.mjs"), modules)
	cmd.Stdin = bytes.NewReader(input)
	return cmd
}

// sameFigures compares what both found.
func sameFigures(t *testing.T, cell CellResult, duck []byte) {
	t.Helper()
	var results [][][]string
	if err := json.Unmarshal(duck, &results); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, rows := range results {
		for i, row := range rows {
			for _, p := range cell.Phases {
				if p.Phase != row[0] || p.Class != row[1] {
					continue
				}
				d := scaleColumns[row[2]](p)
				ours := []Value{d.P50, d.P90, d.P95, d.P99}[i%4]
				want, err := strconv.ParseFloat(row[5], 64)
				if err != nil || ours.Value == nil || math.Abs(*ours.Value-want) > 1e-6*want {
					t.Errorf("%s: found %v, DuckDB has %s", strings.Join(row[:3], " "), show(ours), row[5])
				}
				compared++
			}
		}
	}
	if want := 4 * (4*4 + 2*2); compared != want { // a backlog has no due times
		t.Errorf("compared %d figures, expected %d", compared, want)
	}
}
