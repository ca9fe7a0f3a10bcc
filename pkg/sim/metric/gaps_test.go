package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestGapsCountAsObservations(t *testing.T) {
	bounds := []float64{0.001, 0.01, 0.025, 0.1, 0.3, 1.1, 7}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		one, twin := &Histogram{bounds: bounds, counts: make([]uint64, 8)}, &Histogram{bounds: bounds, counts: make([]uint64, 8)}
		want := &Histogram{bounds: bounds, counts: make([]uint64, 8)}
		at := time.Duration(random.IntN(1e9))
		from := at
		var instants []time.Duration
		for range 50 {
			gap := time.Duration(random.ExpFloat64() * 2e8)
			if i := random.IntN(2 * len(bounds)); i < len(bounds) { // on a bound, and next to it
				gap = time.Duration(math.Round(bounds[i]*1e9)) + time.Duration(random.IntN(3)-1)
			}
			at += gap
			instants = append(instants, at)
			want.Observe(gap.Seconds())
		}
		ObserveGaps([]*Histogram{one, nil, twin}, from, instants)
		for _, h := range []*Histogram{one, twin} {
			if !slices.Equal(h.counts, want.counts) || h.count != want.count {
				t.Fatalf("got counts %d, expected %d", h.counts, want.counts)
			}
			if math.Abs(h.total()-want.total()) > 1e-9 {
				t.Fatalf("got the sum %v, expected %v", h.total(), want.total())
			}
		}
	}
}

func TestWhoReadsIsUpToDate(t *testing.T) {
	var r Registry
	r.BeforeReading(func() { r.Counter("reads_total", "").Add(1) })
	if n := r.Changes(); n != 1 {
		t.Errorf("%d changes, expected the counter that was made for the reader", n)
	}
	if v := r.AppendValues(nil); len(v) != 1 || v[0] != 2 {
		t.Errorf("values %v, expected 2", v)
	}
	if v := r.Gather()[0].Metric[0].Counter.GetValue(); v != 3 {
		t.Errorf("gathered %v, expected 3", v)
	}
}
