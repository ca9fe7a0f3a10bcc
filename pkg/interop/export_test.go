package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/interop"
	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

// cellRuns are those of one cell of the experiment with known answers.
func cellRuns(t *testing.T, arm string, itl interop.Definition) (interop.Document, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cell")
	if err := analysistest.New(arm, 1).Write(dir); err != nil {
		t.Fatal(err)
	}
	runs, err := interop.ReadCell(t.Context(), dir, itl)
	if err != nil {
		t.Fatal(err)
	}
	return interop.NewDocument(runs, nil), dir
}

// exported are the files of a document by their paths.
func exported(t *testing.T, d interop.Document, f interop.ExportFormat) map[string][]byte {
	t.Helper()
	files, _, err := interop.Export(t.Context(), d, f)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]byte)
	for _, file := range files {
		var b bytes.Buffer
		if err := file.Write(&b); err != nil {
			t.Fatal(err)
		}
		out[file.Path] = b.Bytes()
	}
	return out
}

// The numbers are those of the rows, counted here once more.
func TestLifecycleFilesOfACell(t *testing.T) {
	d, _ := cellRuns(t, analysistest.S2, interop.ITLPerTokenBurst)
	files := exported(t, d, interop.ExportInferencePerf)
	var ttft []float64
	for _, q := range analysistest.New(analysistest.S2, 1).Requests {
		if q.Class == record.ClassInteractive && !q.Warmup && q.Phase != nil && *q.Phase == "burst" && q.Status == record.StatusOK {
			ttft = append(ttft, *q.TTFTS)
		}
	}
	slices.Sort(ttft)
	var stage struct {
		LoadSummary struct {
			Count         int     `json:"count"`
			RequestedRate float64 `json:"requested_rate"`
		} `json:"load_summary"`
		Successes map[string]json.RawMessage `json:"successes"`
		Failures  struct{ Count int }        `json:"failures"`
	}
	if err := json.Unmarshal(files["s2-ungated/t1/stage_0_lifecycle_metrics.json"], &stage); err != nil {
		t.Fatal(err)
	}
	var latency map[string]map[string]float64
	if err := json.Unmarshal(stage.Successes["latency"], &latency); err != nil {
		t.Fatal(err)
	}
	if got, want := latency["time_to_first_token"]["p95"], stats.Quantile(ttft, .95); got != want {
		t.Errorf("p95 of TTFT is %v, expected %v", got, want)
	}
	if _, ok := latency["time_to_first_token"]["p99"]; ok {
		t.Error("240 requests have a p99")
	}
	if stage.LoadSummary.Count != 240 || stage.LoadSummary.RequestedRate != 4 {
		t.Errorf("load summary is %+v, expected 240 requests at 4/s", stage.LoadSummary)
	}
	// Both generations of keys say the same.
	means := make(map[string]float64)
	for _, key := range []string{"prompt_len", "prompt_tokens", "output_len", "output_tokens"} {
		var block struct{ Mean, Total float64 }
		if err := json.Unmarshal(stage.Successes[key], &block); err != nil {
			t.Fatal(err)
		}
		means[key] = block.Mean
	}
	if means["prompt_len"] != 100 || means["prompt_tokens"] != 100 || means["output_len"] != 4 || means["output_tokens"] != 4 {
		t.Errorf("means are %v, expected 100 and 4", means)
	}
	// A chunk of 2 tokens has a gap of 0 in inference-perf's ITL, as gaps of rows are float32.
	if itl := latency["inter_token_latency"]; itl["min"] != 0 || math.Abs(itl["max"]-.06) > 1e-8 {
		t.Errorf("ITL is %v, expected gaps from 0 to 0.06", itl)
	}
}

// What we write, our own importer reads back to the same numbers.
func TestPerRequestFileComesBack(t *testing.T) {
	d, _ := cellRuns(t, analysistest.S2, interop.ITLPerTokenBurst)
	files := exported(t, d, interop.ExportInferencePerf)
	in := imported(t, files["s2-ungated/t1/per_request_lifecycle_metrics.json"], "per_request_lifecycle_metrics.json")
	var all interop.Run
	for _, r := range d.Runs {
		if r.Labels["phase"] == "all" && r.Labels["class"] == record.ClassInteractive {
			all = r
		}
	}
	for _, m := range all.Metrics {
		for _, back := range in.Document.Runs[0].Metrics {
			if back.Name != m.Name || !slices.Contains([]string{"ttft", "tpot", "e2e", "itl", "output-tokens"}, m.Name) {
				continue
			}
			if *back.N != *m.N || math.Abs(*back.Mean-*m.Mean) > 1e-6 || math.Abs(*back.Max-*m.Max) > 1e-6 {
				t.Errorf("%s came back as %d values with mean %v and max %v, expected %d, %v, %v",
					m.Name, *back.N, *back.Mean, *back.Max, *m.N, *m.Mean, *m.Max)
			}
		}
	}
}

func TestFailedRequestsStayInTheLifecycleFiles(t *testing.T) {
	cell := analysistest.New(analysistest.S2, 1)
	n := 0
	for i := range cell.Requests {
		q := &cell.Requests[i]
		if q.Class == record.ClassInteractive && !q.Warmup && q.Phase != nil && *q.Phase == "burst" {
			if n++; n == 1 {
				q.Status = record.StatusIncomplete
			} else if n <= 3 {
				q.Status = record.StatusEvicted
			}
		}
	}
	dir := t.TempDir()
	if err := cell.Write(dir); err != nil {
		t.Fatal(err)
	}
	runs, err := interop.ReadCell(t.Context(), dir, interop.ITLPerTokenBurst)
	if err != nil {
		t.Fatal(err)
	}
	files := exported(t, interop.NewDocument(runs, nil), interop.ExportInferencePerf)
	back := imported(t, files["s2-ungated/t1/stage_0_lifecycle_metrics.json"], "stage_0_lifecycle_metrics.json").Document.Runs[0]
	if *back.Requests.Total != 240 || *back.Requests.OK != 237 || *back.Requests.Failed != 3 ||
		back.Errors["evicted"] != 2 || back.Errors["incomplete"] != 1 {
		t.Errorf("requests came back as %d, %d, %d and %v", *back.Requests.Total, *back.Requests.OK, *back.Requests.Failed, back.Errors)
	}
}

// reportSchema is the JSON Schema that llm-d-benchmark ships for its report v0.2.
func reportSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(read(t, "llm-d-benchmark/br_v0_2_json_schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func validate(schema *jsonschema.Resolved, data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	return schema.Validate(v)
}

func TestReportsHoldTheSchema(t *testing.T) {
	schema := reportSchema(t)
	check := func(name string, data []byte) {
		if err := validate(schema, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("the example", read(t, "llm-d-benchmark/benchmark_report_v0.2.json"))
	for _, arm := range []string{analysistest.S0, analysistest.S1, analysistest.S2} {
		d, _ := cellRuns(t, arm, interop.ITLPerToken)
		for i := range d.Runs {
			d.Runs[i].Jobs = []interop.Job{{Job: "A", Status: "completed", Total: 3, Completed: 3, WindowS: 60, Met: true}}
		}
		for name, data := range exported(t, d, interop.ExportLLMD) {
			check(name, data)
		}
	}
	for name := range examples {
		for _, data := range exported(t, imported(t, read(t, name), name).Document, interop.ExportLLMD) {
			check(name, data)
		}
	}
}

// The schema is one that refuses: what our reports avoid.
func TestTheSchemaRefuses(t *testing.T) {
	schema := reportSchema(t)
	report := string(read(t, "llm-d-benchmark/benchmark_report_v0.2.json"))
	for _, c := range []struct{ name, old, new string }{
		{"a lognormal length", `"distribution": "other"`, `"distribution": "lognormal"`},
		{"a unit that it does not know", `"units": "s/token"`, `"units": "s per token"`},
		{"a key that it does not know", `"results": {`, `"results": {"batch": {},`},
		{"statistics without a mean", `"mean": 0.2,`, ``},
	} {
		changed := strings.Replace(report, c.old, c.new, 1)
		if changed == report {
			t.Fatalf("%s: the example has no %s", c.name, c.old)
		}
		if validate(schema, []byte(changed)) == nil {
			t.Errorf("%s is accepted", c.name)
		}
	}
}

// A place of the report is filled by what measures it: guidellm's time per output token
// has the first one in.
func TestGuidellmsTimePerOutputTokenIsNormalizedInTheReport(t *testing.T) {
	in := imported(t, read(t, "guidellm/benchmarks.csv"), "benchmarks.csv")
	var report interop.Report
	for _, data := range exported(t, in.Document, interop.ExportLLMD) {
		if err := json.Unmarshal(data, &report); err != nil {
			t.Fatal(err)
		}
	}
	latency := report.Results.RequestPerformance.Aggregate.Latency
	if latency.TPOT != nil || latency.NTPOT == nil || latency.NTPOT.Mean != .045 || latency.NTPOT.Units != "s/token" {
		t.Errorf("TPOT is %+v and NTPOT %+v, expected none and 0.045 s/token", latency.TPOT, latency.NTPOT)
	}
}

func TestBenchstatUnitsNameTheDefinition(t *testing.T) {
	var documents []interop.Document
	for _, name := range []string{"guidellm/benchmarks.csv", "vllm-bench/openai-chat-2.0qps.json", "aiperf/profile_export_aiperf.json"} {
		documents = append(documents, imported(t, read(t, name), name).Document)
	}
	text := string(exported(t, interop.Merge(documents...), interop.ExportBenchstat)[""])
	for _, want := range []string{
		"Unit ttft.first-token-nearest-rank-p95-sec better=lower\n",
		"Unit requests-per-s.over-run better=higher\n",
		"\nstrategy: constant\ntool: guidellm\nBenchmarkRun/run=constant_0 7 ",
		"\nstrategy:\nbackend: openai-chat\n", // taken back
		" 0.154 ttft.first-token-nearest-rank-p95-sec",
		" 0.13063110019977325 ttft.first-chunk-p95-sec",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("found no %q in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if fields := strings.Fields(line); strings.HasPrefix(line, "Benchmark") && len(fields)%2 != 0 {
			t.Errorf("%q is not name, number and pairs of value and unit", line)
		}
	}
}

// Trials of an arm are samples of one benchmark: they differ in nothing that benchstat
// looks at.
func TestTrialsHaveTheSameBenchstatKeys(t *testing.T) {
	head := func(trial int) string {
		dir := t.TempDir()
		if err := analysistest.New(analysistest.S2, trial).Write(dir); err != nil {
			t.Fatal(err)
		}
		runs, err := interop.ReadCell(t.Context(), dir, interop.ITLPerToken)
		if err != nil {
			t.Fatal(err)
		}
		text := string(exported(t, interop.NewDocument(runs[:1], nil), interop.ExportBenchstat)[""])
		_, body, _ := strings.Cut(text, "\n\n")
		configuration, benchmark, _ := strings.Cut(body, "\nBenchmark")
		name, _, _ := strings.Cut(benchmark, " ")
		return configuration + "\n" + name
	}
	want := "arm: s2-ungated\nexperiment: toy\nmodel: Qwen/Qwen3-8B\ntool: bgbench\nCell/phase=burst/class=interactive"
	if one, two := head(1), head(2); one != want || two != want {
		t.Errorf("found\n%s\nand\n%s\nexpected\n%s", one, two, want)
	}
}

func TestMarkdownHasATableForEachDefinition(t *testing.T) {
	one := imported(t, read(t, "guidellm/benchmarks.csv"), "benchmarks.csv").Document
	two := imported(t, read(t, "aiperf/profile_export_aiperf.json"), "a|b\n<i>").Document
	two.Runs[0].Name = "a|b\n<i>"
	text := string(exported(t, interop.Merge(one, two), interop.ExportMarkdown)[""])
	for _, want := range []string{
		"### itl.request-mean (s, requests: ok, percentiles: type 7)\n",
		"### itl.request-mean-by-tokens (s, requests: ok, percentiles: nearest rank)\n",
		"### ntpot.to-last-token-by-tokens (s, ",
		"| constant 0 | guidellm, from file | 7 | 0.11 | 0.11 | 0.143 | 0.154 | 0.176 | 0.198 |\n",
		`| a\|b &lt;i&gt; | aiperf, from file |`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("found no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "### tpot") {
		t.Error("there is a table of tpot, which neither file has")
	}
}

func TestCSVSaysWhyANumberIsMissing(t *testing.T) {
	d, dir := cellRuns(t, analysistest.S0, interop.ITLPerToken)
	d.Runs[0].Invalid = "load on time"
	lines := strings.Split(string(exported(t, d, interop.ExportCSV)[""]), "\n")
	want := fmt.Sprintf(`bgbench,%s,s0-interactive-only t1 burst interactive,s0-interactive-only,1,burst,interactive,false,ttft,ttft.first-token,ttft,ok,rows,type 7,s,240,requests,p99,,"needs at least 299 requests, there are 240"`, dir)
	if !slices.Contains(lines, want) {
		t.Errorf("found no line %s", want)
	}
}

func TestInvalidRunsAreLeftOutWhereNobodyWouldSee(t *testing.T) {
	d, _ := cellRuns(t, analysistest.S0, interop.ITLPerToken)
	for i := range d.Runs {
		d.Runs[i].Invalid = "load on time"
	}
	for _, f := range []interop.ExportFormat{interop.ExportInferencePerf, interop.ExportLLMD} {
		if _, _, err := interop.Export(t.Context(), d, f); err == nil || !strings.Contains(err.Error(), "no run has what the format needs") {
			t.Errorf("%s: found %v", f, err)
		}
	}
	files, warnings, err := interop.Export(t.Context(), d, interop.ExportBenchstat)
	if err != nil || len(files) != 1 || len(warnings) != 1 || warnings[0] != "s0-interactive-only/t1: left out, it is INVALID: load on time" {
		t.Errorf("found %d files, %q, %v", len(files), warnings, err)
	}
}
