package analysis

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/record"
)

// upTo is 1, 2, … n.
func upTo(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

func sampleOf(values []float64) *sample {
	s := new(sample)
	for _, x := range values {
		s.add(x)
	}
	return s
}

func TestDistribution(t *testing.T) {
	cases := []struct {
		name   string
		values []float64
		never  int
		want   map[string]any // number or reason
	}{
		{"nothing gives the reason everywhere", nil, 0, map[string]any{
			"mean": "no request ended ok", "p50": "no request ended ok", "p99": "no request ended ok", "max": "no request ended ok"}},
		{"4 rows cannot bound the median", upTo(4), 0, map[string]any{
			"mean": 2.5, "p50": "p50 needs at least 5 rows, there are 4", "max": 4.0}},
		{"58 rows cannot bound p95", upTo(58), 0, map[string]any{
			"p50": 29.5, "p90": 1 + 57*0.9, "p95": "p95 needs at least 59 rows, there are 58"}},
		{"59 rows bound p95 and not p99", upTo(59), 0, map[string]any{
			"p95": 1 + 58*0.95, "p99": "p99 needs at least 299 rows, there are 59"}},
		{"299 rows bound p99", upTo(299), 0, map[string]any{"p99": 1 + 298*0.99, "mean": 150.0, "max": 299.0}},
		{"failures above a percentile leave it alone", upTo(97), 3, map[string]any{
			"mean": "the mean falls on a request that failed (3 of 100 did)",
			"p50":  1 + 99*0.5, "p95": 1 + 99*0.95,
			"max": "the maximum falls on a request that failed (3 of 100 did)"}},
		{"a percentile among the failures is not a number", upTo(90), 10, map[string]any{
			"p90": "p90 falls on a request that failed (10 of 100 did)", "p95": "p95 falls on a request that failed (10 of 100 did)"}},
		{"failures count as rows", nil, 59, map[string]any{"p95": "p95 falls on a request that failed (59 of 59 did)"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := outcomes{sampleOf(c.values).sorted(), c.never}.distribution("rows", "no request ended ok")
			if n := len(c.values) + c.never; d.N != n || d.Unit != "s" {
				t.Errorf("N %d unit %q, expected %d s", d.N, d.Unit, n)
			}
			got := map[string]Value{"mean": d.Mean, "p50": d.P50, "p90": d.P90, "p95": d.P95, "p99": d.P99, "max": d.Max}
			for stat, want := range c.want {
				switch want := want.(type) {
				case string:
					if got[stat].Value != nil || got[stat].Reason != want {
						t.Errorf("%s is %s, expected the reason %q", stat, show(got[stat]), want)
					}
				case float64:
					if got[stat].Value == nil || math.Abs(*got[stat].Value-want) > 1e-9 {
						t.Errorf("%s is %s, expected %v", stat, show(got[stat]), want)
					}
				}
			}
		})
	}
}

func show(v Value) any {
	if v.Value != nil {
		return *v.Value
	}
	return v.Reason
}

func TestNumbersThatAreNotFiniteBecomeReasons(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if v := measured(x, 3); v.Value != nil || v.Reason == "" || v.N != 3 {
			t.Errorf("%v became %+v, expected null with a reason", x, v)
		}
	}
}

func TestTokenGaps(t *testing.T) {
	cases := []struct {
		name   string
		gaps   []float32
		tokens []int32
		want   []float32
	}{
		{"one token a chunk keeps its gap", []float32{0.5, 0.25}, []int32{1, 1, 1}, []float32{0.5, 0.25}},
		{"a chunk of 4 tokens is 4 gaps of a quarter", []float32{0.5}, []int32{1, 4}, []float32{0.125, 0.125, 0.125, 0.125}},
		{"the tokens of the first chunk have no gap", []float32{0.5}, []int32{8, 1}, []float32{0.5}},
		{"a chunk without a token lends its gap to the next", []float32{0.25, 0.25, 0.5}, []int32{1, 0, 2, 1}, []float32{0.25, 0.25, 0.5}},
		{"a last chunk without a token ends no gap", []float32{0.5, 0.25}, []int32{1, 1, 0}, []float32{0.5}},
		{"no content, no gaps", nil, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, record.AppendTokenGaps(nil, c.gaps, c.tokens)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
