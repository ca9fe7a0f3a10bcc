package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQuantilesOfDurationsAreThoseOfTheirBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(-5, 400), rapid.Int64Range(0, int64(48*time.Hour)), rapid.Just(int64(math.MaxInt64))), 1, 50).Draw(t, "durations")
		var c durations
		for i := range all {
			c.add(time.Duration(all[i]))
			all[i] = max(0, all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
			want := all[int(q*float64(len(all)-1))]
			if got := int64(c.quantile(q)); math.Abs(float64(got-want)) > float64(want)/binsOfAnOctave {
				t.Errorf("quantile %g of %v: found %d, expected %d", q, all, got, want)
			}
		}
		if int64(c.largest) != all[len(all)-1] || int(c.n) != len(all) {
			t.Errorf("found %d durations up to %d", c.n, c.largest)
		}
	})
}

func TestWithoutDurationsThereIsNoQuantile(t *testing.T) {
	var c durations
	if q := c.quantile(0.5); q != 0 || c.largest != 0 {
		t.Errorf("found %v and %v", q, c.largest)
	}
}
