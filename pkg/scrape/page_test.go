package scrape

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"bgbench/pkg/record"
	"bgbench/pkg/sim/metric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var at = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func textFamilies(t testing.TB, page string) []*dto.MetricFamily {
	t.Helper()
	families, err := parse(http.Header{"Content-Type": {"text/plain; version=0.0.4; charset=utf-8"}}, []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// show writes the columns that a page decides.
func show(rows []record.Sample) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %s", r.Metric, r.Labels)
		if r.Canonical != r.Metric {
			fmt.Fprintf(&b, " canonical=%s", r.Canonical)
		}
		fmt.Fprintf(&b, " %s %v\n", r.Type, r.Value)
	}
	return b.String()
}

func TestRecordedPagesBecomeRows(t *testing.T) {
	for _, name := range []string{"batch-processor", "inference-sim"} {
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			got := show(samples(textFamilies(t, string(page)), name, at, record.Sample{}))
			golden := filepath.Join("testdata", name+".rows")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("rows differ from %s (go test -update rewrites it); got:\n%s", golden, got)
			}
		})
	}
}

func TestFamiliesBecomeRows(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"a counter without _total gets it in the canonical name",
			"# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens 3\n",
			"vllm:prompt_tokens {} canonical=vllm:prompt_tokens_total counter 3\n"},
		{"an old name keeps its place and gets the canonical one beside it",
			"# TYPE vllm:gpu_cache_usage_perc gauge\nvllm:gpu_cache_usage_perc 0.5\n",
			"vllm:gpu_cache_usage_perc {} canonical=vllm:kv_cache_usage_perc gauge 0.5\n"},
		{"of two names of one quantity on a page only the new one is canonical",
			"# TYPE inference_extension_flow_control_queue_size gauge\ninference_extension_flow_control_queue_size 7\n" +
				"# TYPE llm_d_epp_flow_control_queue_size gauge\nllm_d_epp_flow_control_queue_size 7\n",
			"inference_extension_flow_control_queue_size {} gauge 7\nllm_d_epp_flow_control_queue_size {} gauge 7\n"},
		{"a histogram's suffixes follow the canonical name",
			"# TYPE vllm:time_per_output_token_seconds histogram\n" +
				"vllm:time_per_output_token_seconds_bucket{le=\"1.0\"} 2\nvllm:time_per_output_token_seconds_bucket{le=\"+Inf\"} 3\n" +
				"vllm:time_per_output_token_seconds_sum 4.5\nvllm:time_per_output_token_seconds_count 3\n",
			"vllm:time_per_output_token_seconds_bucket {\"le\":\"1\"} canonical=vllm:inter_token_latency_seconds_bucket histogram 2\n" +
				"vllm:time_per_output_token_seconds_bucket {\"le\":\"+Inf\"} canonical=vllm:inter_token_latency_seconds_bucket histogram 3\n" +
				"vllm:time_per_output_token_seconds_sum {} canonical=vllm:inter_token_latency_seconds_sum histogram 4.5\n" +
				"vllm:time_per_output_token_seconds_count {} canonical=vllm:inter_token_latency_seconds_count histogram 3\n"},
		{"a summary yields its quantiles, NaN included",
			"# TYPE s summary\ns{quantile=\"0.5\"} NaN\ns_sum 0\ns_count 0\n",
			"s {\"quantile\":\"0.5\"} summary NaN\ns_sum {} summary 0\ns_count {} summary 0\n"},
		{"a metric without a type is untyped", "x 1\n", "x {} untyped 1\n"},
		{"labels are sorted and escaped as JSON, nothing more",
			"x{z=\"<a&b>\",a=\"q\\\"\\n\\\\\"} 1\n",
			`x {"a":"q\"\n\\","z":"<a&b>"} untyped 1` + "\n"},
		{"infinity is kept", "x +Inf\ny -Inf\n", "x {} untyped +Inf\ny {} untyped -Inf\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := show(samples(textFamilies(t, c.page), "s", at, record.Sample{})); got != c.want {
				t.Errorf("got:\n%swant:\n%s", got, c.want)
			}
		})
	}
}

func TestMissingInfinityBucketIsAdded(t *testing.T) {
	name, bound, count, sum, total := "h", 0.5, uint64(1), 2.5, uint64(3)
	families := []*dto.MetricFamily{{Name: &name, Type: dto.MetricType_HISTOGRAM.Enum(), Metric: []*dto.Metric{{
		Histogram: &dto.Histogram{SampleCount: &total, SampleSum: &sum, Bucket: []*dto.Bucket{{UpperBound: &bound, CumulativeCount: &count}}},
	}}}}
	want := "h_bucket {\"le\":\"0.5\"} histogram 1\nh_bucket {\"le\":\"+Inf\"} histogram 3\nh_sum {} histogram 2.5\nh_count {} histogram 3\n"
	if got := show(samples(families, "s", at, record.Sample{})); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestLabelsWithAColumnFillItAndStayInLabels(t *testing.T) {
	host := "10.0.0.1:8000"
	page := `x{pod="p",job="j",model_name="m",endpoint="e",priority="-1",engine="0",other="o"} 1` + "\n"
	row := samples(textFamilies(t, page), "vllm-0", at, record.Sample{Experiment: "x", Arm: "a", Trial: 2, Instance: &host})[0]
	for _, c := range []struct {
		column string
		got    *string
		want   string
	}{
		{"pod", row.Pod, "p"}, {"instance", row.Instance, host}, {"job", row.Job, "j"}, {"model_name", row.ModelName, "m"},
		{"endpoint", row.Endpoint, "e"}, {"priority", row.Priority, "-1"}, {"engine", row.Engine, "0"},
	} {
		if c.got == nil || *c.got != c.want {
			t.Errorf("%s: found %v, expected %s", c.column, c.got, c.want)
		}
	}
	if row.LE != nil {
		t.Errorf("le: found %s, expected null", *row.LE)
	}
	if !json.Valid([]byte(row.Labels)) || !strings.Contains(row.Labels, `"pod":"p"`) {
		t.Errorf("labels: found %s", row.Labels)
	}
	if row.Experiment != "x" || row.Arm != "a" || row.Trial != 2 || row.Source != "vllm-0" || !row.At.Equal(at) {
		t.Errorf("found %+v", row)
	}
}

func TestSeriesIDDependsOnSourceMetricAndLabelsAlone(t *testing.T) {
	// FNV-1a of "s", 0, "x", 0, "{}" with the constants of RFC 9923.
	want := uint64(14695981039346656037)
	for _, c := range []byte("s\x00x\x00{}") {
		want = (want ^ uint64(c)) * 1099511628211
	}
	if got := seriesID("s", "x", "{}"); got != int64(want) {
		t.Errorf("found %d, expected %d", got, int64(want))
	}
	ids := make(map[int64]string)
	for _, page := range []string{"x 1\n", "y 1\n", "x{a=\"1\"} 1\n", "x{b=\"1\"} 1\n", "x{a=\"2\"} 1\n"} {
		for _, source := range []string{"s", "t"} {
			id := samples(textFamilies(t, page), source, at, record.Sample{})[0].SeriesID
			if other, ok := ids[id]; ok {
				t.Errorf("%s and %q of %s have the same id", other, page, source)
			}
			ids[id] = page
		}
	}
	a := samples(textFamilies(t, "x{a=\"1\",b=\"2\"} 1\n"), "s", at, record.Sample{})[0]
	b := samples(textFamilies(t, "x{b=\"2\",a=\"1\"} 5\n"), "s", at.Add(time.Hour), record.Sample{})[0]
	if a.SeriesID != b.SeriesID {
		t.Error("the order of labels changed the id")
	}
}

func TestLaterRoundsOfAPageAreAsFresh(t *testing.T) {
	page := NewPage("s", record.Sample{})
	for i, text := range []string{
		"# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\nx 1\n",
		"# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 2\nh_sum 2\nh_count 2\nx 2\n",
		"# TYPE h histogram\nh_bucket{le=\"2\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_sum 2\nh_count 3\nx 2\n", // another bound
		"# TYPE h histogram\nh_bucket{le=\"2\"} 2\nh_bucket{le=\"5\"} 3\nh_bucket{le=\"+Inf\"} 3\nh_sum 2\nh_count 3\n",
		"# TYPE x counter\nx 3\n", // another type
		"# TYPE x counter\nx 3\n# TYPE x_total counter\nx_total{a=\"\"} 3\n", // the new name appears
	} {
		families := textFamilies(t, text)
		now := at.Add(time.Duration(i) * time.Second)
		got, want := show(page.Append(nil, families, now)), show(samples(families, "s", now, record.Sample{}))
		if got != want {
			t.Errorf("round %d: got:\n%swant:\n%s", i, got, want)
		}
	}
}

func TestRegistriesOfTheModelAndTheirTextYieldTheSameRows(t *testing.T) {
	var r metric.Registry
	model := metric.Label{Name: "model_name", Value: "m"}
	r.Gauge("vllm:num_requests_running", "Running.", model).Set(3)
	r.Counter("vllm:prompt_tokens_total", "Tokens.", model).Add(12)
	r.Histogram("vllm:time_to_first_token_seconds", "TTFT.", []float64{0.001, 2560}, model).Observe(0.25)
	direct := show(samples(r.Gather(), "vllm-0", at, record.Sample{}))
	scraped := show(samples(textFamilies(t, encodeText(t, r.Gather())), "vllm-0", at, record.Sample{}))
	if direct != scraped || direct == "" {
		t.Errorf("direct:\n%sscraped:\n%s", direct, scraped)
	}
}

func TestUpHasTwoRows(t *testing.T) {
	page := NewPage("gateway", record.Sample{})
	want := "up {} gauge 0\nscrape_duration_seconds {} gauge 0.25\n"
	if got := show(page.Up(nil, at, false, 250*time.Millisecond)); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func FuzzPage(f *testing.F) {
	f.Add("# TYPE h histogram\nh_bucket{le=\"1\",z=\"\\\"\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\nx NaN 12\n")
	f.Add("# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_sum 2\n{\"utf8.é\",a=\"b\"} 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		families, err := parse(http.Header{"Content-Type": {"text/plain"}}, []byte(text))
		if err != nil {
			return
		}
		page := NewPage("s", record.Sample{})
		first, second := page.Append(nil, families, at), page.Append(nil, families, at)
		for i, row := range first {
			if !json.Valid([]byte(row.Labels)) {
				t.Errorf("labels are no JSON: %s", row.Labels)
			}
			same := row.Value == second[i].Value || math.IsNaN(row.Value) && math.IsNaN(second[i].Value)
			if !same || row.SeriesID != second[i].SeriesID || row.Metric != second[i].Metric {
				t.Errorf("row %d is %+v, then %+v", i, row, second[i])
			}
		}
	})
}

func BenchmarkPage(b *testing.B) {
	text, err := os.ReadFile("testdata/inference-sim.txt")
	if err != nil {
		b.Fatal(err)
	}
	families := textFamilies(b, string(text))
	page := NewPage("s", record.Sample{})
	rows := page.Append(nil, families, at)
	b.ReportAllocs()
	for b.Loop() {
		rows = page.Append(rows[:0], families, at)
	}
	b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// samples are the rows of one round on a new page.
func samples(families []*dto.MetricFamily, source string, at time.Time, base record.Sample) []record.Sample {
	return NewPage(source, base).Append(nil, families, at)
}
