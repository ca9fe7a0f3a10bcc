package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

func TestRanksGiveTheQuantilesOfTheValues(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	trials := [][]float64{{1, 1, 2}, {5, 3, 3, 8}, {2.5}}
	r := newRankedTrials(trials)
	for range 200 {
		var values []float64
		counts := make([]int, len(r.sorted))
		for range 1 + random.IntN(12) {
			k := random.IntN(len(trials))
			i := random.IntN(len(trials[k]))
			values = append(values, trials[k][i])
			counts[r.trials[k][i]]++
		}
		slices.Sort(values)
		for _, p := range []float64{0, 0.5, 0.95, 1} {
			if got, want := r.quantile(counts, len(values), p), stats.Quantile(values, p); math.Abs(got-want) > 1e-12 {
				t.Fatalf("p%g of %v: found %v, expected %v", 100*p, values, got, want)
			}
		}
	}
}

func TestSecondOpinionsNeedFiveTrials(t *testing.T) {
	key := MetricKey("burst", record.ClassInteractive, MetricTTFT, StatP50)
	opinion := func(trials int) *SecondOpinion {
		r := stepResults(map[string]Estimate{}, nil)
		var slots []*slot
		var medians []float64
		for k := range trials {
			var rows []float64
			for i := range 101 {
				rows = append(rows, float64(i)+float64(k))
			}
			s := &slot{trial: k + 1, result: &CellResult{Valid: true}, ttft: rows}
			s.arm.Name = "a"
			slots, medians = append(slots, s), append(medians, 50+float64(k))
		}
		r.Arms[0].Metrics[key] = estimate("s", values(medians...))
		r.secondOpinions(slots)
		return r.Arms[0].Metrics[key].Bootstrap
	}
	if o := opinion(4); o.Low != nil || o.Reason != "it needs 5 trials, there are 4" {
		t.Errorf("four trials: found %+v", o)
	}
	o := opinion(5)
	if o.Reason != "" || *o.Low > 52 || *o.High < 52 || *o.Low < 30 || *o.High > 75 {
		t.Errorf("five trials: found %v to %v, expected it around 52", deref(o.Low), deref(o.High))
	}
	if again := opinion(5); *again.Low != *o.Low || *again.High != *o.High {
		t.Error("another interval from the same rows")
	}
}

func TestManyRowsAreThinnedByRank(t *testing.T) {
	var s sample
	for i := range 5000 {
		s.add(float64(i))
	}
	got := thin(s.sorted(), 1000)
	if len(got) != 1000 || math.Abs(stats.Quantile(got, 0.95)-stats.QuantileAt(5000, 0.95, s.sorted().at)) > 5 {
		t.Errorf("%d values with p95 %v, expected 1000 with that of all", len(got), stats.Quantile(got, 0.95))
	}
}

// From 6 trials on the smallest and the largest value enclose the median in 31 of 32
// cases, and flipping 6 signs reaches 2/64.
func TestSixTrialsAllowExactStatements(t *testing.T) {
	base, arm := estimate("s", values(1, 2, 3, 4, 5, 6)), estimate("s", values(2, 4, 6, 8, 10, 12.1))
	if *base.MedianLow != 1 || *base.MedianHigh != 6 || math.Abs(*base.MedianCoverage-31.0/32) > 1e-12 || *base.Mean != 3.5 {
		t.Errorf("found %v to %v, coverage %v, mean %v", *base.MedianLow, *base.MedianHigh, *base.MedianCoverage, *base.Mean)
	}
	c := make(detectable).compare(base, arm, nil)
	if *c.PermutationP != 2.0/64 || *c.PermutationFloor != 2.0/64 {
		t.Errorf("permutation p %v, floor %v, expected 1/32 of both", *c.PermutationP, *c.PermutationFloor)
	}
	five := estimate("s", values(1, 2, 3, 4, 5))
	c = make(detectable).compare(five, estimate("s", values(2, 4, 6, 8, 10.1)), nil)
	if c.PermutationP != nil || *c.PermutationFloor != 2.0/32 || five.MedianLow != nil {
		t.Errorf("five trials: p %v, floor %v, median from %v", deref(c.PermutationP), deref(c.PermutationFloor), deref(five.MedianLow))
	}
}
