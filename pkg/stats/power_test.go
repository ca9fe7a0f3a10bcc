package stats

import (
	"math"
	"testing"
)

// The published factors are 3.26, 1.68 and 1.00. The digits are those of the
// noncentral t summed as a series of incomplete beta functions (AS 243, Lenth 1989)
// and solved for the power, a way that shares nothing with the integral here.
func TestMinimumDetectableIsThatOfTheNoncentralT(t *testing.T) {
	for n, want := range map[int]float64{
		2: 11.549888435882, 3: 3.2640435496996, 5: 1.6819969659556, 6: 1.4345447820404,
		10: 0.9960013714554, 34: 0.4950280979734, 100: 0.2829126327814,
	} {
		near(t, "the effect in sd", MinimumDetectable(n, 0.05, 0.8), want, 1e-9*want)
	}
}

// R power.t.test(n, power = .8, strict = TRUE), solved by uniroot to four digits.
func TestMinimumDetectableBetweenTwoGroups(t *testing.T) {
	for n, want := range map[int]float64{3: 3.070908, 5: 2.024434, 10: 1.324944} {
		near(t, "the effect in sd", MinimumDetectableBetween(n, n, 0.05, 0.8), want, 1e-4)
	}
}

func TestPowerWithoutAnEffectIsTheLevel(t *testing.T) {
	for _, df := range []float64{1, 2, 9, 999} {
		near(t, "power", studentPower(0, studentQuantile(0.975, df), df), 0.05, 1e-9)
	}
}

func TestPairsThatVaryMoreDetectLess(t *testing.T) {
	// ln ratios of -0.1, 0, 0.1 have the standard deviation 0.1: exp(0.32640435) - 1.
	r := NewLogRatio([]float64{1, 1, 1}, []float64{math.Exp(-0.1), 1, math.Exp(0.1)})
	near(t, "the change", r.Rise(MinimumDetectable(r.N, 0.05, 0.8)), 0.3859756817, 1e-9)
}

// R power.t.test(delta, sd = 1, power = .8, sig.level = .05, type = "one.sample",
// alternative = "one.sided"), rounded up: 26.1 pairs for half a standard deviation, 7.7 for
// one, 3.9 for 1.7.
func TestPairsNeededAreThoseOfTheOneSidedTest(t *testing.T) {
	for effect, want := range map[float64]int{0.5: 27, 1: 8, 1.7: 4, 4: 3, 40: 2} {
		if n, ok := PairsNeeded(effect, 0.05, 0.8, 1000); n != want || !ok {
			t.Errorf("an effect of %g sd: %d pairs (%v), expected %d", effect, n, ok, want)
		}
	}
	for _, effect := range []float64{-1, 0, 0.01} {
		if n, ok := PairsNeeded(effect, 0.05, 0.8, 100); ok {
			t.Errorf("an effect of %g sd: %d pairs, expected that 100 are too few", effect, n)
		}
	}
}

// With as many pairs as are needed the power is there, with one less it is not.
func TestPairsNeededAreTheFewest(t *testing.T) {
	for _, alpha := range []float64{0.05, 0.05 / 12} {
		n, ok := PairsNeeded(0.8, alpha, 0.8, 500)
		if !ok {
			t.Fatalf("level %g: 500 pairs are too few", alpha)
		}
		power := func(n int) float64 {
			return studentPowerAbove(0.8*math.Sqrt(float64(n)), studentQuantile(1-alpha, float64(n-1)), float64(n-1))
		}
		if power(n) < 0.8 || power(n-1) >= 0.8 {
			t.Errorf("level %g: %d pairs have the power %g, one less %g", alpha, n, power(n), power(n-1))
		}
	}
}

// The 0.2-quantiles of chi-squared are 0.446287 (df 2) and 5.380053 (df 9).
func TestSDUpperBoundIsThatOfChiSquared(t *testing.T) {
	near(t, "of 3 values", SDUpperBound(1, 3, 0.8), math.Sqrt(2/0.4462871026), 1e-8)
	near(t, "of 10 values", SDUpperBound(2, 10, 0.8), 2*math.Sqrt(9/5.3800532), 1e-7)
}
