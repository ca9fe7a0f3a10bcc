package stats

import (
	"testing"
)

// Darwin's 15 pairs of crossed and self-fertilized maize, in eighths of an inch. Fisher
// (The Design of Experiments, 1935, section 21) counted 863 of the 2¹⁵ ways to set signs
// with a sum of 314 or more.
func TestPairedPermutationOfDarwinsMaize(t *testing.T) {
	d := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	p, ok := PairedPermutation(d)
	if !ok {
		t.Fatal("15 pairs are too many")
	}
	near(t, "p", p, 2*863.0/32768, 1e-15)
}

// The floor of n pairs that all point one way is 2/2ⁿ (R and scipy: 3 pairs .25, 5
// .0625, 6 .03125).
func TestPairedPermutationReachesItsFloor(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 3: .25, 5: .0625, 6: .03125, MostPairs: 2.0 / (1 << MostPairs)} {
		d := make([]float64, n)
		for i := range d {
			d[i] = 0.1 + 0.01*float64(i)
		}
		p, ok := PairedPermutation(d)
		if !ok || p != want || PairedFloor(n) != want {
			t.Errorf("%d pairs: found p %v, floor %v, expected %v", n, p, PairedFloor(n), want)
		}
	}
}

func TestPairedPermutationIsNotOfferedWhereItCannotBe(t *testing.T) {
	for _, n := range []int{0, MostPairs + 1} {
		if _, ok := PairedPermutation(make([]float64, n)); ok {
			t.Errorf("%d pairs have an exact test", n)
		}
	}
}
