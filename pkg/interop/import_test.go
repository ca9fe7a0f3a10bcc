package interop_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/interop"
	"bgbench/pkg/record"
)

var update = flag.Bool("update", false, "write the golden files")

// examples are files of other tools and the format that each has.
var examples = map[string]interop.Format{
	"guidellm/benchmarks.csv":                                        interop.GuidellmCSV,
	"guidellm/benchmarks_v2.json":                                    interop.GuidellmJSON,
	"inference-perf/summary_lifecycle_metrics.json":                  interop.InferencePerf,
	"inference-perf/stage_0_lifecycle_metrics.json":                  interop.InferencePerf,
	"inference-perf/stage_1_lifecycle_metrics.json":                  interop.InferencePerf,
	"inference-perf/per_request_lifecycle_metrics.json":              interop.InferencePerfPerRequest,
	"inference-perf-both-generations/stage_0_lifecycle_metrics.json": interop.InferencePerf,
	"vllm-bench/openai-chat-2.0qps.json":                             interop.VLLMBench,
	"vllm-bench/openai-chat-2.0qps-detailed.json":                    interop.VLLMBench,
	"vllm-bench/append-result-concatenated.json":                     interop.VLLMBench,
	"aiperf/profile_export_aiperf.json":                              interop.AIPerfJSON,
	"aiperf/profile_export.jsonl":                                    interop.AIPerfJSONL,
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func imported(t *testing.T, data []byte, name string) interop.Imported {
	t.Helper()
	in, err := interop.Import(data, name, interop.Auto)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestExamplesBecomeDocuments(t *testing.T) {
	for name, format := range examples {
		t.Run(name, func(t *testing.T) {
			in := imported(t, read(t, name), name)
			for _, run := range in.Document.Runs {
				if run.Format != format {
					t.Errorf("%s was read as %s, expected %s", run.Name, run.Format, format)
				}
			}
			var got bytes.Buffer
			if err := in.Document.WriteJSON(&got); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "golden", strings.ReplaceAll(name, "/", "_")+".golden")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("differs from %s:\n%s", path, diff)
			}
		})
	}
}

// find is the metric of a run that the file calls so.
func find(t *testing.T, run interop.Run, called string) interop.Metric {
	t.Helper()
	for _, m := range run.Metrics {
		if m.Called == called && m.From == interop.FromFile {
			return m
		}
	}
	t.Fatalf("%s has no metric called %s", run.Name, called)
	return interop.Metric{}
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= 1e-12) {
		t.Errorf("%s is %v, expected %v", what, got, want)
	}
}

// The list is not one of deciles: its last number is the maximum, and the one before it
// p99.
func TestPercentilesOfGuidellmCSV(t *testing.T) {
	run := imported(t, read(t, "guidellm/benchmarks.csv"), "benchmarks.csv").Document.Runs[0]
	m := find(t, run, "Time to First Token, ms")
	want := map[string]float64{
		"p0.1": .0561, "p1": .0605, "p5": .066, "p10": .077, "p25": .088, "p50": .110,
		"p75": .121, "p90": .143, "p95": .154, "p99": .176,
	}
	if len(m.Percentiles) != len(want) {
		t.Errorf("there are %d percentiles, expected %d", len(m.Percentiles), len(want))
	}
	for name, v := range want {
		near(t, name, new(m.Percentiles[name]), v)
	}
	near(t, "the least", m.Min, .055)
	near(t, "the largest", m.Max, .198)
}

func TestColumnsOfGuidellmCSVAreFoundByTheirHeaders(t *testing.T) {
	const csv = "" +
		"Inter Token Latency,Time to First Token,Request Counts,Time to First Token,Request Counts,Time to First Token,Request Counts\n" +
		"Successful ms,Errored ms,Total,Successful ms,Successful,Successful ms,Incomplete\n" +
		"Mean,Mean,,Percentiles,,Median,\n" +
		"20,7,10,\"[1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12]\",4,7,5\n" +
		"30,,3,,3,,0\n"
	in := imported(t, []byte(csv), "moved.csv")
	first, second := in.Document.Runs[0], in.Document.Runs[1]
	ttft := find(t, first, "Time to First Token, ms")
	near(t, "p95", new(ttft.Percentiles["p95"]), .010)
	near(t, "p50", new(ttft.Percentiles["p50"]), .007)
	if *first.Requests.OK != 4 || *first.Requests.Total != 10 || *first.Requests.Incomplete != 5 {
		t.Errorf("requests are %+v", first.Requests)
	}
	near(t, "the mean of the second", find(t, second, "Inter Token Latency, ms").Mean, .030)
	if len(second.Metrics) != 1 {
		t.Errorf("the second has %d metrics, expected the only one that is there", len(second.Metrics))
	}
	warned := strings.Join(in.Document.Warnings, "\n")
	if !strings.Contains(warned, "5 requests were cut off at the end") {
		t.Errorf("warnings %q do not tell of the cut-off requests", warned)
	}
}

// Every pair of metrics that share a name but not a definition.
func TestUnlikeDefinitionsAreNotComparable(t *testing.T) {
	metric := func(name, called string) interop.Metric {
		return find(t, imported(t, read(t, name), name).Document.Runs[0], called)
	}
	guidellmTPOT := metric("guidellm/benchmarks_v2.json", "time_per_output_token_ms")
	guidellmITL := metric("guidellm/benchmarks_v2.json", "inter_token_latency_ms")
	perfTPOT := metric("inference-perf/stage_0_lifecycle_metrics.json", "time_per_output_token")
	perfITL := metric("inference-perf/stage_0_lifecycle_metrics.json", "inter_token_latency")
	vllmTPOT := metric("vllm-bench/openai-chat-2.0qps.json", "tpot_ms")
	vllmITL := metric("vllm-bench/openai-chat-2.0qps.json", "itl_ms")
	aiperfITL := metric("aiperf/profile_export_aiperf.json", "inter_token_latency")
	aiperfChunk := metric("aiperf/profile_export_aiperf.json", "inter_chunk_latency")

	if guidellmTPOT.Name != "ntpot" {
		t.Errorf("guidellm's time per output token is %s, expected ntpot: the first token is in it", guidellmTPOT.Definition)
	}
	all := []interop.Metric{guidellmTPOT, guidellmITL, perfTPOT, perfITL, vllmTPOT, vllmITL, aiperfITL, aiperfChunk}
	for i, a := range all {
		if err := a.Comparable(a); err != nil {
			t.Errorf("%s is not comparable with itself: %v", a.Definition, err)
		}
		for _, b := range all[i+1:] {
			if a.Comparable(b) == nil {
				t.Errorf("%s and %s are comparable", a.Definition, b.Definition)
			}
		}
	}
	// The CSV and the JSON of one tool say the same.
	if err := metric("guidellm/benchmarks.csv", "Inter Token Latency, ms").Comparable(guidellmITL); err != nil {
		t.Error(err)
	}
	// One definition, but percentiles taken in two ways.
	report := metric("guidellm/benchmarks_v2.json", "request_latency")
	for _, m := range imported(t, read(t, "guidellm/benchmarks_v2.json"), "g").Document.Runs[0].Metrics {
		if m.From == interop.FromRows && m.Definition == report.Definition && m.Comparable(report) == nil {
			t.Error("percentiles by nearest rank and of type 7 are comparable")
		}
	}
}

func TestVersion1OfGuidellm(t *testing.T) {
	text := string(read(t, "guidellm/benchmarks_v2.json"))
	text = strings.Replace(text, `"version": 2`, `"version": 1`, 1)
	text = strings.Replace(text, ` "config": {`, ` "args": {`, 1)
	one, two := imported(t, []byte(text), "v"), imported(t, read(t, "guidellm/benchmarks_v2.json"), "v")
	if diff := cmp.Diff(two, one); diff != "" {
		t.Errorf("it differs from version 2:\n%s", diff)
	}
}

func TestEitherGenerationOfInferencePerf(t *testing.T) {
	var file map[string]any
	if err := json.Unmarshal(read(t, "inference-perf-both-generations/stage_0_lifecycle_metrics.json"), &file); err != nil {
		t.Fatal(err)
	}
	mean := func(in interop.Imported) *float64 {
		for _, m := range in.Document.Runs[0].Metrics {
			if m.Name == "prompt-tokens" {
				return m.Mean
			}
		}
		return nil
	}
	for _, missing := range []string{"prompt_len", "prompt_tokens"} {
		successes := file["successes"].(map[string]any)
		kept := successes[missing]
		delete(successes, missing)
		data, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "prompt tokens without "+missing, mean(imported(t, data, "stage_0_lifecycle_metrics.json")), 102)
		successes[missing] = kept
	}
}

// v0.1 to v0.4 took every event of the stream for a token, so what they call a time to
// first token is another one.
func TestOldFilesOfInferencePerfCountEvents(t *testing.T) {
	var file map[string]any
	if err := json.Unmarshal(read(t, "inference-perf-both-generations/stage_0_lifecycle_metrics.json"), &file); err != nil {
		t.Fatal(err)
	}
	delete(file, "benchmark_time_seconds")
	delete(file["successes"].(map[string]any), "prompt_tokens")
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	old := imported(t, data, "stage_0_lifecycle_metrics.json").Document.Runs[0]
	now := imported(t, read(t, "inference-perf/stage_0_lifecycle_metrics.json"), "stage_0_lifecycle_metrics.json").Document.Runs[0]
	for called, want := range map[string]interop.Definition{
		"time_to_first_token": "ttft.first-event", "time_per_output_token": "tpot.per-event", "inter_token_latency": "itl.per-event",
	} {
		m := find(t, old, called)
		if m.Definition != want || m.Comparable(find(t, now, called)) == nil {
			t.Errorf("%s is %s, expected %s, which nothing newer is comparable with", called, m.Definition, want)
		}
	}
	if err := find(t, old, "request_latency").Comparable(find(t, now, "request_latency")); err != nil {
		t.Error(err)
	}
}

func TestEachShapeOfInferencePerfsRecords(t *testing.T) {
	const answer = `"output_tokens": 3, "output_token_times": [10.25, 10.5, 10.75]`
	for _, c := range []struct {
		name, info string
		ttft       interop.Definition
		gaps       int // in the row
	}{
		{"v0.1 to v0.4", `"input_tokens": 5, ` + answer, "ttft.first-event", 0},
		{"v0.5", `"input_tokens": 5, "response_info": {` + answer + `}`, "ttft.first-content", 2},
		{"since", `"request_metrics": {"text": {"input_tokens": 5}}, "response_metrics": {` + answer + `}`, "ttft.first-content", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := imported(t, []byte(`[{"start_time": 10, "end_time": 11, "info": {`+c.info+`}, "error": null}]`), "per_request.json")
			q := in.Rows[0]
			if *q.PromptTokens != 5 || *q.OutputTokens != 3 || *q.TTFTS != .25 || *q.TPOTS != .25 || *q.E2ES != 1 || len(q.ChunkGapS) != c.gaps {
				t.Errorf("found %+v", q)
			}
			for _, m := range in.Document.Runs[0].Metrics {
				if m.Name == "ttft" && m.Definition != c.ttft {
					t.Errorf("TTFT is %s, expected %s", m.Definition, c.ttft)
				}
				if m.Name == "itl" && (*m.N != 2 || *m.Mean != .25) {
					t.Errorf("ITL has %d gaps of %v on the average, expected 2 of 0.25", *m.N, *m.Mean)
				}
			}
		})
	}
}

// Two tokens in a chunk: the row cannot say how they lay, the gaps count all the same.
func TestChunksWhoseTokensAreNotKnown(t *testing.T) {
	const text = `{"completed": 1, "failed": 0, "duration": 1, "request_throughput": 1, "input_lens": [3], "output_lens": [4],
"ttfts": [0.1], "itls": [[0.2, 0.4]], "errors": [""]}`
	in := imported(t, []byte(text), "chunks.json")
	if in.Rows[0].ChunkGapS != nil || !strings.Contains(strings.Join(in.Document.Warnings, " "), "1 requests have another number of chunks than tokens") {
		t.Errorf("found gaps %v and warnings %q", in.Rows[0].ChunkGapS, in.Document.Warnings)
	}
	for _, m := range in.Document.Runs[0].Metrics {
		if m.Name == "itl" && (*m.N != 2 || math.Abs(*m.Mean-.3) > 1e-7) {
			t.Errorf("found %d gaps of %v on the average, expected 2 of 0.3", *m.N, *m.Mean)
		}
	}
}

func TestRecordsBecomeRows(t *testing.T) {
	for _, c := range []struct {
		name        string
		ok          int
		failed      string
		ttft, tpot  float64 // of the first row
		gaps        int
		definition  string // of ttft_s
		withInstant bool
	}{
		{"guidellm/benchmarks_v2.json", 7, record.StatusRateLimited, .13926410675048828, .0199999809265136, 0, "ttft.first-token", true},
		{"inference-perf/per_request_lifecycle_metrics.json", 10, record.StatusRateLimited, 1000.2615423395098 - 1000.1964574221174, .02, 2, "ttft.first-content", false},
		{"vllm-bench/openai-chat-2.0qps-detailed.json", 5, record.StatusRateLimited, .1129882720216802, (.21966065713041874 - .1129882720216802) / 5, 5, "ttft.first-chunk", false},
		{"aiperf/profile_export.jsonl", 5, record.StatusRateLimited, .1129882720216802, (.21966065713041874 - .1129882720216802) / 5, 5, "ttft.first-token", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := imported(t, read(t, c.name), c.name)
			first := in.Rows[0]
			if math.Abs(*first.TTFTS-c.ttft) > 1e-9 || math.Abs(*first.TPOTS-c.tpot) > 1e-9 || len(first.ChunkGapS) != c.gaps {
				t.Errorf("the first row has TTFT %v, TPOT %v and %d gaps, expected %v, %v, %d",
					*first.TTFTS, *first.TPOTS, len(first.ChunkGapS), c.ttft, c.tpot, c.gaps)
			}
			if (first.SentAt != nil) != c.withInstant {
				t.Errorf("sent_at is %v", first.SentAt)
			}
			if got := in.RowsMeta["bg.import.definition.ttft_s"]; got != c.definition {
				t.Errorf("ttft_s is %q, expected %q", got, c.definition)
			}
			ok, refused := 0, 0
			for _, q := range in.Rows {
				switch q.Status {
				case record.StatusOK:
					ok++
				case c.failed:
					refused++
				}
				if q.Status != record.StatusOK && c.name[:4] != "guid" && q.TTFTS != nil {
					t.Errorf("request %s failed with a TTFT of %v", q.RequestID, *q.TTFTS)
				}
			}
			if ok != c.ok || refused != 1 {
				t.Errorf("%d ended ok and %d were refused, expected %d and 1", ok, refused, c.ok)
			}
		})
	}
}

func TestVLLMWritesNumbersThatAreNone(t *testing.T) {
	const text = `{"completed": 2, "failed": 0, "duration": 1.5, "request_throughput": 1.3, "request_rate": Infinity,
"mean_ttft_ms": NaN, "p99_ttft_ms": 12, "std_ttft_ms": -Infinity, "label": "NaN, \"Infinity\""}`
	in := imported(t, []byte(text), "nan.json")
	run := in.Document.Runs[0]
	ttft := find(t, run, "ttft_ms")
	near(t, "p99", new(ttft.Percentiles["p99"]), .012)
	if ttft.Mean != nil || ttft.SD != nil || run.Labels["label"] != `NaN, "Infinity"` || run.Labels["rate"] != "inf" {
		t.Errorf("found %+v of %v", ttft, run.Labels)
	}
	if len(in.Document.Warnings) == 0 || !strings.Contains(in.Document.Warnings[0], "3 numbers are NaN or infinite") {
		t.Errorf("warnings are %q", in.Document.Warnings)
	}
}

func TestAChunkOfSeveralTokens(t *testing.T) {
	const text = `[{"start_time": 10, "end_time": 11, "info": {"request_metrics": {"text": {"input_tokens": 5}},
"response_metrics": {"output_tokens": 5, "output_token_times": [10.25, 10.5, 10.5, 10.5, 10.75]}}}]`
	in := imported(t, []byte(text), "chunks.json")
	if diff := cmp.Diff([]int32{1, 3, 1}, in.Rows[0].ChunkTokens); diff != "" {
		t.Error(diff)
	}
	for _, m := range in.Document.Runs[0].Metrics {
		if m.Name == "itl" && (*m.N != 4 || *m.Mean != .125 || *m.Min != 0) {
			t.Errorf("4 gaps of 0.25, 0, 0 and 0.25 became %+v", m)
		}
	}
}

func TestAIPerfLeavesOutWhatDidNotHappen(t *testing.T) {
	const text = `{"input_config": {}, "error_request_count": {"unit": "requests", "avg": 7.0}, "error_summary": [
{"error_details": {"code": 503, "type": "Busy"}, "count": 5}, {"error_details": {"type": "Lost"}, "count": 2}]}`
	run := imported(t, []byte(text), "all-failed.json").Document.Runs[0]
	if *run.Requests.OK != 0 || *run.Requests.Failed != 7 || *run.Requests.Total != 7 || run.Errors["503 Busy"] != 5 || run.Errors["Lost"] != 2 {
		t.Errorf("found %d, %d, %d and %v", *run.Requests.OK, *run.Requests.Failed, *run.Requests.Total, run.Errors)
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	guidellm := string(read(t, "guidellm/benchmarks_v2.json"))
	csv := string(read(t, "guidellm/benchmarks.csv"))
	detailed := string(read(t, "vllm-bench/openai-chat-2.0qps-detailed.json"))
	jsonl := string(read(t, "aiperf/profile_export.jsonl"))
	for _, c := range []struct{ name, text, want string }{
		{"nothing at all", "", "f: empty, expected one of guidellm-json, guidellm-csv"},
		{"something else", "hello", `f: found "hello" at its start, expected JSON or CSV`},
		{"another JSON", `{"a": 1, "b": 2}`, `f: found an object with "a", "b", expected one of guidellm-json`},
		{"an array of other things", `[{"a": 1}]`, `f: found an array of objects with "a", expected the records of inference-perf's`},
		{"a file that is cut off", guidellm[:2000], "f:"},
		{"an unknown version of guidellm", strings.Replace(guidellm, `"version": 2`, `"version": 3`, 1), "f: metadata.version: found 3, expected 1 or 2"},
		{"a number that is none", strings.Replace(guidellm, `"duration": 3.770026445388794`, `"duration": "long"`, 1), "duration: found a JSON string, expected a number"},
		{"a list of percentiles that is too short", strings.Replace(csv, "55.0, 56.1, ", "55.0, ", 1),
			"f:4: Time to First Token / Successful ms / Percentiles: found 10 numbers, expected 11: min, p0.1, p1, p5, p10, p25, p75, p90, p95, p99, max"},
		{"a list of percentiles in another order", strings.Replace(csv, "55.0, 56.1", "55.0, 5.1", 1),
			"f:4: Time to First Token / Successful ms / Percentiles: p0.1: found 5.1 after 55, expected ascending numbers"},
		{"a column that is there twice", "Request Counts,Request Counts\nTotal,Total\n,\n1,2\n", "f: column 2: found Request Counts / Total, which column 1 is already"},
		{"a CSV of something else", "a,b\nc,d\ne,f\n", "f: found no column Request Counts / Successful in the three header rows"},
		{"a CSV without all its headers", "a,b\nc,d\n", "f: found 2 rows, expected three rows of headers"},
		{"a CSV with a ragged row", csv + "1,2\n", "f:5: wrong number of fields"},
		{"a CSV with a word for a number", strings.Replace(csv, "110.0,110.0,11.0", "fast,110.0,11.0", 1), `f:4: Time to First Token / Successful ms / Mean: found "fast", expected a number`},
		{"headers and nothing else", strings.Join(strings.SplitAfter(csv, "\n")[:3], ""), "f: found no run in it, expected at least one of guidellm-csv"},
		{"an array that is too short", strings.Replace(detailed, `"errors": ["", `, `"errors": [`, 1), "f: result 1: errors: found 5 elements, expected 6 as in ttfts"},
		{"a second value that is cut off", detailed + "\n" + detailed[:100], "f: cut off or not JSON"},
		{"vllm without its count", `{"request_throughput": 1, "completed": null}`, "f: result 1: completed: missing"},
		{"a record without times", strings.Replace(jsonl, `"request_start_ns": 1767225600500000000, `, "", 1), "f: record 2: metadata.request_start_ns, request_end_ns: missing"},
		{"a record with a word for a number", strings.Replace(jsonl, `"value": 100`, `"value": "x"`, 1), `f: record 1: metrics.input_sequence_length.value: found "x", expected a number`},
		{"aiperf's figures over runs", string(read(t, "aiperf/profile_export_aiperf_aggregate.FRAGMENT.json")), "f: found aiperf's aggregate over runs"},
		{"what inference-perf read from the servers", `{"load_summary": {}, "successes": {"count": 3, "request_latency": {"mean": 1}}, "failures": {}}`,
			"f: found no latency of requests, as in what inference-perf reads from the servers' Prometheus metrics, expected a lifecycle file"},
		{"a time before it began", `[{"start_time": 2, "end_time": 1, "info": {}}]`, "f: [0]: request latency: found -1 s, expected 0 or more"},
		{"tokens out of order", `[{"start_time": 1, "end_time": 9, "info": {"response_metrics": {"output_tokens": 2, "output_token_times": [3, 2]}}}]`,
			"f: [0]: info.response_metrics.output_token_times[1]: found 2 after 3, expected times in order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := interop.Import([]byte(c.text), "f", interop.Auto)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, expected %s", err, c.want)
			}
		})
	}
	if _, err := interop.Import([]byte("{}"), "f", "yaml"); err == nil || !strings.HasPrefix(err.Error(), `format: found "yaml", expected auto or one of`) {
		t.Errorf("found %v", err)
	}
}
