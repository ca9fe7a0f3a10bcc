package metric

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
)

func TestGatherIsExposedSortedWithCumulativeBuckets(t *testing.T) {
	var r Registry
	r.Gauge("b_running", "Running.", Label{"model", "m"}).Set(3)
	r.Counter("a_total", "All.", Label{"x", "2"}).Add(2)
	r.Counter("a_total", "All.", Label{"x", "1"}).Add(1)
	r.Counter("a_total", "All.", Label{"x", "1"}).Add(1)
	h := r.Histogram("c_seconds", "Times.", []float64{0.1, 1})
	h.Observe(0.1) // bounds are inclusive
	h.ObserveN(0.5, 3)
	h.Observe(7)
	n := 0.0
	r.GaugeFunc("d", "Asked.", func() float64 { n++; return n })

	want := `# HELP a_total All.
# TYPE a_total counter
a_total{x="1"} 2
a_total{x="2"} 2
# HELP b_running Running.
# TYPE b_running gauge
b_running{model="m"} 3
# HELP c_seconds Times.
# TYPE c_seconds histogram
c_seconds_bucket{le="0.1"} 1
c_seconds_bucket{le="1"} 4
c_seconds_bucket{le="+Inf"} 5
c_seconds_sum 8.6
c_seconds_count 5
# HELP d Asked.
# TYPE d gauge
d 1
`
	var got strings.Builder
	for _, mf := range r.Gather() {
		if _, err := expfmt.MetricFamilyToText(&got, mf); err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestAppendValuesIsGatherWithoutNames(t *testing.T) {
	var r Registry
	changes := r.Changes()
	r.Gauge("b", "").Set(3)
	r.Counter("a_total", "", Label{"x", "2"}).Add(2)
	r.Counter("a_total", "", Label{"x", "1"}).Add(1)
	h := r.Histogram("c", "", []float64{0.1, 1})
	h.ObserveN(0.5, 3)
	h.Observe(7)
	r.GaugeFunc("d", "", func() float64 { return 9 })
	if got, want := r.AppendValues([]float64{-1}), []float64{-1, 1, 2, 3, 0, 3, 4, 8.5, 4, 9}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if r.Changes() == changes {
		t.Error("new series are no change")
	}
	changes = r.Changes()
	r.Gauge("b", "").Set(4)
	if r.Changes() != changes {
		t.Error("a series that was there is a change")
	}
	if r.Reset(); r.Changes() == changes {
		t.Error("that all series went is no change")
	}
}

func TestOneNameHasOneKind(t *testing.T) {
	var r Registry
	r.Counter("x", "")
	defer func() {
		if recover() == nil {
			t.Error("a gauge took the name of a counter")
		}
	}()
	r.Gauge("x", "")
}
