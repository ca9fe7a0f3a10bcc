package scrape

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
)

func pointer[T any](v T) *T { return &v }

// nativeFamily is a native histogram of schema 1 (bounds grow by the root of 2), with
// 3 observations of 0, 2 in (1, √2], 4 in (√2, 2], 1 in (8, 8√2] and 5 in [-√2, -1).
func nativeFamily() *dto.MetricFamily {
	return &dto.MetricFamily{Name: pointer("h"), Type: dto.MetricType_HISTOGRAM.Enum(), Metric: []*dto.Metric{{Histogram: &dto.Histogram{
		Schema: pointer(int32(1)), ZeroThreshold: pointer(0.001), ZeroCount: pointer(uint64(3)),
		SampleCount: pointer(uint64(15)), SampleSum: pointer(7.5),
		PositiveSpan:  []*dto.BucketSpan{{Offset: pointer(int32(1)), Length: pointer(uint32(2))}, {Offset: pointer(int32(4)), Length: pointer(uint32(1))}},
		PositiveDelta: []int64{2, 2, -3},
		NegativeSpan:  []*dto.BucketSpan{{Offset: pointer(int32(1)), Length: pointer(uint32(1))}}, NegativeDelta: []int64{5},
	}}}}
}

const nativeRows = `h_bucket {"le":"-1"} histogram 5
h_bucket {"le":"0.001"} histogram 8
h_bucket {"le":"1.41421356237"} histogram 10
h_bucket {"le":"2"} histogram 14
h_bucket {"le":"11.313708499"} histogram 15
h_bucket {"le":"+Inf"} histogram 15
h_sum {} histogram 7.5
h_count {} histogram 15
`

func TestNativeHistogramIsKeptAsItsPopulatedBuckets(t *testing.T) {
	family := nativeFamily()
	if got := show(samples([]*dto.MetricFamily{family}, "s", at, record.Sample{})); got != nativeRows {
		t.Errorf("got:\n%swant:\n%s", got, nativeRows)
	}
	family.Metric[0].Histogram.Bucket = []*dto.Bucket{
		{UpperBound: pointer(0.5), CumulativeCount: pointer(uint64(8))}, {UpperBound: pointer(2.0), CumulativeCount: pointer(uint64(14))},
	}
	want := strings.Replace(nativeRows, `h_bucket {"le":"1.4`, "h_bucket {\"le\":\"0.5\"} histogram 8\nh_bucket {\"le\":\"1.4", 1)
	if got := show(samples([]*dto.MetricFamily{family}, "s", at, record.Sample{})); got != want {
		t.Errorf("with classic buckets, got:\n%swant:\n%s", got, want)
	}
}

func TestSpansThatPromiseMoreThanThereIsEndEarly(t *testing.T) {
	spans := []*dto.BucketSpan{{Offset: pointer(int32(-2)), Length: pointer(uint32(math.MaxUint32))}}
	if got := nativeBuckets(spans, nil, []float64{1, 0, 2.5}); len(got) != 2 || got[1] != (nativeBucket{0, 2.5}) {
		t.Errorf("found %v, expected the buckets -2 and 0", got)
	}
}

func TestServerHasTheRowsOfANativeHistogramThatAScrapeYields(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		w.Header().Set("Content-Type", string(format))
		w.Write(encodeAs(t, []*dto.MetricFamily{nativeFamily()}, format))
	}))
	defer page.Close()
	server := startPrometheus(t, []deploy.Endpoint{{Source: "s", URL: page.URL + "/metrics"}})
	now := time.Now()
	got, _, err := rangeRowsOf(t, RangeConfig{URL: server, Client: http.DefaultClient, Start: now.Add(-300 * time.Millisecond), End: now, Selectors: []Selector{{PromQL: "h"}}})
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Sample
	for _, row := range got[:min(8, len(got))] { // of the first scrape
		row.Labels = strings.NewReplacer(`"instance":"`+*row.Instance+`"`, "", `,"job":"stack"`, "", `,"namespace":"bench"`, "", `,"le"`, `"le"`).Replace(row.Labels)
		rows = append(rows, row)
	}
	if show(rows) != nativeRows {
		t.Errorf("got:\n%swant:\n%s", show(rows), nativeRows)
	}
}

func rangeRowsOf(t *testing.T, cfg RangeConfig) (rows []record.Sample, report RangeReport, err error) {
	t.Helper()
	cfg.Step, cfg.Chunk = time.Second, time.Hour
	cfg.Write = func(some []record.Sample) error { rows = append(rows, some...); return nil }
	report, err = Range(t.Context(), cfg)
	return rows, report, err
}
