package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"bgbench/pkg/record"
)

// someSamples are rounds of two sources with all that a page can have.
func someSamples(t testing.TB, rounds int) []record.Sample {
	t.Helper()
	var rows []record.Sample
	host := "10.0.0.1:8000"
	for _, source := range []string{"vllm-0", "vllm-1"} {
		page := NewPage(source, record.Sample{Experiment: "e", Arm: "a", Trial: 2, Instance: &host})
		for i := range rounds {
			families := textFamilies(t, fmt.Sprintf("# TYPE c_total counter\nc_total{z=\"q\\\"\\n\\\\\",source=\"s\"} %d\n"+
				"# TYPE h histogram\nh_bucket{le=\"0.5\"} %[1]d\nh_bucket{le=\"+Inf\"} %[1]d\nh_sum 1.25\nh_count %[1]d\n"+
				"# TYPE h_c gauge\nh_c NaN\n# TYPE s summary\ns{quantile=\"0.5\"} -Inf\ns_sum 1\ns_count 2\n"+
				"vllm:gpu_cache_usage_perc 0.1\n", i))
			rows = page.Append(rows, families, at.Add(time.Duration(i)*time.Second+1234*time.Microsecond))
		}
	}
	return rows
}

func exportText(t testing.TB, rows []record.Sample) string {
	t.Helper()
	var b bytes.Buffer
	sorted := record.SortSamples(t.TempDir(), func(yield func(record.Sample, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	})
	if err := Export(&b, sorted); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRowsSurviveOpenMetrics(t *testing.T) {
	want := someSamples(t, 3)
	var got []record.Sample
	err := Import(strings.NewReader(exportText(t, want)), record.Sample{}, func(rows []record.Sample) error {
		got = append(got, slices.Clone(rows)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The instance of a scrape becomes a label.
	for i := range want {
		labels := strings.Replace(want[i].Labels, "{", `{"instance":"10.0.0.1:8000",`, 1)
		labels = strings.Replace(labels, ",}", "}", 1)
		if strings.Contains(labels, `"instance":"10.0.0.1:8000","h`) {
			t.Fatal(labels)
		}
		want[i].Labels = sortedJSON(labels)
		want[i].SeriesID = seriesID(want[i].Source, want[i].Metric, want[i].Labels)
	}
	order := cmpopts.SortSlices(func(a, b record.Sample) bool {
		return fmt.Sprint(a.Source, a.Metric, a.Labels, a.At) < fmt.Sprint(b.Source, b.Metric, b.Labels, b.At)
	})
	if diff := cmp.Diff(want, got, order, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// sortedJSON sorts the keys of a labels object.
func sortedJSON(labels string) string {
	_, all, err := parseSeries([]byte("x{}"))
	if err != nil {
		return err.Error()
	}
	for _, part := range strings.Split(strings.Trim(labels, "{}"), `,"`) {
		key, value, _ := strings.Cut(part, `":"`)
		text, _, _ := quoted([]byte(`"` + value))
		all = append(all, label{strings.TrimPrefix(key, `"`), text})
	}
	return canonicalJSON(all)
}

func TestFamiliesStandTogetherInOpenMetrics(t *testing.T) {
	text := exportText(t, someSamples(t, 1)[:8])
	var order []string
	for line := range strings.Lines(text) {
		order = append(order, strings.TrimSpace(strings.SplitN(line, "{", 2)[0]))
	}
	want := []string{"# TYPE c counter", "c_total", "# TYPE h histogram", "h_bucket", "h_bucket", "h_count", "h_sum", "# TYPE h_c gauge", "h_c",
		"# TYPE s summary", "s", "s_sum", "# EOF"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("lines (-want +got):\n%s\n%s", diff, text)
	}
	if want := `c_total{bg_experiment="e",bg_arm="a",bg_trial="2",bg_source="vllm-0",instance="10.0.0.1:8000",source="s",z="q\"\n\\"} 0 1795953600.001234`; !strings.Contains(text, want+"\n") {
		t.Errorf("found\n%s\nexpected %s", text, want)
	}
}

func TestPromtoolTakesWhatWeExport(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool on the PATH: install Debian's package prometheus")
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "m.om")
	if err := os.WriteFile(text, []byte(exportText(t, someSamples(t, 100))), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", text, data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(data, "wal"), 0o755); err != nil { // a database has one
		t.Fatal(err)
	}
	dump, err := exec.Command(promtool, "tsdb", "dump", data).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, dump)
	}
	if n := bytes.Count(dump, []byte("\n")); n != 2*10*100 {
		t.Errorf("promtool has %d samples, expected 2000", n)
	}
	if want := `bg_source="vllm-1"`; !bytes.Contains(dump, []byte(want)) {
		t.Errorf("promtool has no %s", want)
	}
}

func TestOpenMetricsThatIsNoneIsRefusedWithItsLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no end", "a 1 1\n", "line 2: found the end, expected # EOF (is it whole?)"},
		{"text behind the end", "# EOF\na 1 1\n", "line 2: found text behind # EOF"},
		{"an empty line", "a 1 1\n\n# EOF\n", "line 2: found an empty line"},
		{"a comment of another kind", "# hello\n# EOF\n", `line 1: found "# hello", expected # TYPE, # HELP, # UNIT or # EOF`},
		{"a type that is none", "# TYPE a number\n# EOF\n", `line 1: found "# TYPE a number", expected # TYPE, a name and a type of OpenMetrics`},
		{"no value", "a\n# EOF\n", `line 1: found "a", expected a name, labels and a value`},
		{"a value that is none", "a one 1\n# EOF\n", `line 1: found value "one", expected a number`},
		{"no timestamp", "a{b=\"c\"} 1\n# EOF\n", `line 1: found no timestamp of "a{b=\"c\"}", expected one of every sample`},
		{"a timestamp that is none", "a 1 today\n# EOF\n", `line 1: found timestamp "today", expected seconds since 1970`},
		{"words behind the timestamp", "a 1 2 3\n# EOF\n", "line 1: found \" 1 2 3\", expected a value and a timestamp"},
		{"a label twice", "# TYPE a gauge\na{b=\"1\",b=\"2\"} 1 1\n# EOF\n", "line 2: found label b twice"},
		{"a label without a value", "a{b} 1 1\n# EOF\n", "line 1: found \"}\" behind label b, expected ="},
		{"a label that does not end", "a{b=\"1} 1 1\n# EOF\n", "line 1: found "},
		{"a name that is none", "1a 1 1\n# EOF\n", `line 1: found name "1a", expected letters`},
		{"no name", "{a=\"b\"} 1 1\n# EOF\n", "line 1: found labels without a name"},
		{"an exemplar without labels", "a 1 1 # 3\n# EOF\n", `line 1: found "3" behind #, expected the labels of an exemplar`},
		{"other bytes than UTF-8", "a{b=\"\xff\"} 1 1\n# EOF\n", "expected UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Import(strings.NewReader(c.text), record.Sample{}, func([]record.Sample) error { return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, expected %s", err, c.want)
			}
		})
	}
}

func TestOpenMetricsOfOthersBecomesRows(t *testing.T) {
	text := "# HELP vllm:gpu_prefix_cache_hits Hits.\n# TYPE vllm:gpu_prefix_cache_hits counter\n" +
		"vllm:gpu_prefix_cache_hits_total 3.0 1.5 # {trace=\"x # y\"} 1.0 1.0\nvllm:gpu_prefix_cache_hits_created 1 1.5\n" +
		"# TYPE \"my.name\" gauge\n{\"my.name\",\"a.b\"=\"c\"} 0x1p-2 -0.25\n" +
		"# TYPE gh gaugehistogram\ngh_bucket{le=\"1\"} 2 1\ngh_gsum 1 1\ngh_gcount 2 1\n# TYPE i info\ni_info{v=\"1\"} 1 1\n" +
		"inference_extension_x_bucket{le=\"1.0\"} 1 1\nvllm:time_per_output_token_seconds_sum 5 1\n# EOF\n"
	var got string
	err := Import(strings.NewReader(text), record.Sample{Source: "s"}, func(rows []record.Sample) error { got += show(rows); return nil })
	want := `vllm:gpu_prefix_cache_hits_total {} canonical=vllm:prefix_cache_hits_total counter 3
vllm:gpu_prefix_cache_hits_created {} gauge 1
my.name {"a.b":"c"} untyped 0.25
gh_bucket {"le":"1"} histogram 2
gh_gsum {} histogram 1
gh_gcount {} histogram 2
i_info {"v":"1"} gauge 1
inference_extension_x_bucket {"le":"1"} canonical=llm_d_epp_x_bucket untyped 1
vllm:time_per_output_token_seconds_sum {} canonical=vllm:inter_token_latency_seconds_sum untyped 5
`
	if err != nil || got != want {
		t.Errorf("found %v and\n%sexpected\n%s", err, got, want)
	}
}

func TestWideFileHasAColumnASeriesAndARowAnInstant(t *testing.T) {
	dir := t.TempDir()
	long, wide := filepath.Join(dir, "m.parquet"), filepath.Join(dir, "w.parquet")
	w, err := record.Create[record.Sample](long, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := someSamples(t, 3)
	if err := errors.Join(w.Write(rows...), w.Close()); err != nil {
		t.Fatal(err)
	}
	convert := func(metrics ...string) (*parquet.Schema, []parquet.Row) {
		t.Helper()
		if err := Convert(Conversion{From: long, To: wide, Wide: true, Metrics: metrics}, nil, io.Discard); err != nil {
			t.Fatal(err)
		}
		out, err := os.Open(wide)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		reader := parquet.NewReader(out)
		all := make([]parquet.Row, 10)
		n, err := reader.ReadRows(all)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return reader.Schema(), all[:n]
	}
	schema, got := convert()
	var names []string
	for _, path := range schema.Columns() {
		names = append(names, path[0])
	}
	if want := "arm at c_total experiment h_c h_count h_sum s s_count s_sum source trial vllm:kv_cache_usage_perc"; strings.Join(names, " ") != want {
		t.Errorf("found columns %v, expected %s", names, want)
	}
	if len(got) != 6 || got[4][2].Double() != 2 || !math.IsNaN(got[0][4].Double()) {
		t.Errorf("found %v", got)
	}
	if schema, _ := convert("h_bucket", "c_total"); !strings.Contains(schema.String(), `h_bucket{le="0.5"}`) || len(schema.Columns()) != 8 {
		t.Errorf("found %s", schema)
	}
}

func FuzzOpenMetrics(f *testing.F) {
	f.Add("# TYPE a counter\na_total{b=\"c\\\\\\\"\\n\"} 1 2.000001 # {} 1\n# EOF\n")
	f.Add("{\"a.b\",\"c.d\"=\"e\"} NaN -1\n# EOF\n")
	f.Fuzz(func(t *testing.T, text string) {
		var rows []record.Sample
		err := Import(strings.NewReader(text), record.Sample{}, func(some []record.Sample) error { rows = append(rows, some...); return nil })
		if err != nil {
			return
		}
		for i := range rows {
			if rows[i].Metric == "" {
				t.Errorf("row %d has no name", i)
			}
		}
		again := 0
		exported := exportText(t, rows)
		if err := Import(strings.NewReader(exported), record.Sample{}, func(some []record.Sample) error { again += len(some); return nil }); err != nil {
			t.Fatalf("what came of %q is refused: %v\n%s", text, err, exported)
		}
		if again != len(rows) {
			t.Errorf("%d rows became %d", len(rows), again)
		}
	})
}
