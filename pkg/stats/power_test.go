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
