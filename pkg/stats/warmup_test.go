package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// By hand: 20 batch means, 9 8 7 then 1 and 2 in turn. For d = 3 the rest has 17
// values, 9 of 1 and 8 of 2, with the sum of squares 72/17, so 0.01465; for 2 it is
// (4.2353 + 17·(7−1.4706)²/18)/18² = 0.1022 and for 4 4/16² = 0.0156, for 5 3.7333/15²
// = 0.0166. More is only worse until the last five batches.
func TestMSER5ByHand(t *testing.T) {
	means := []float64{9, 8, 7}
	for i := range 17 {
		means = append(means, float64(1+i%2))
	}
	var x []float64
	for _, m := range means {
		x = append(x, m-0.2, m+0.2, m, m-0.1, m+0.1)
	}
	warmup, ok := MSER5(append(x, 99, 99)) // an unfinished batch counts nothing
	if !ok || warmup != 15 {
		t.Errorf("found %d, %v, expected the first three batches of 5", warmup, ok)
	}
}

func TestMSER5FindsTheEndOfADecay(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	x := make([]float64, 2000)
	for i := range x {
		x[i] = 10 + 30*math.Exp(-float64(i)/50) + random.NormFloat64()
	}
	warmup, ok := MSER5(x)
	if !ok || warmup < 100 || warmup > 350 {
		t.Errorf("found %d, %v, expected two to seven time constants of 50", warmup, ok)
	}
}

func TestMSER5RejectsWhatNeverSettles(t *testing.T) {
	x := make([]float64, 500)
	for i := range x {
		x[i] = float64(i * i)
	}
	if warmup, ok := MSER5(x); ok {
		t.Errorf("a series that grows for ever settles after %d", warmup)
	}
	if _, ok := MSER5(x[:49]); ok {
		t.Error("49 values are enough to tell")
	}
}
