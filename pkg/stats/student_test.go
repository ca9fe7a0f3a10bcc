package stats

import (
	"math"
	"testing"
)

// R datasets::sleep (Student 1908): extra hours of sleep with two drugs.
var (
	sleepOne = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	sleepTwo = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
)

func differences(x, y []float64) []float64 {
	d := make([]float64, len(x))
	for i := range d {
		d[i] = x[i] - y[i]
	}
	return d
}

// R t.test(paired = TRUE) on the sleep data.
func TestPairedTTestOfTheSleepData(t *testing.T) {
	d := differences(sleepOne, sleepTwo)
	test := OneSample(d)
	near(t, "mean", test.Mean, -1.58, 1e-12)
	near(t, "t", test.T(), -4.062127683, 1e-9)
	near(t, "df", test.DF, 9, 0)
	near(t, "p", test.P(), 0.0028328902, 1e-10)
	in := MeanInterval(d, 0.95)
	near(t, "low", in.Low, -2.459885763, 1e-9)
	near(t, "high", in.High, -0.700114237, 1e-9)
}

// R t.test on the sleep data as two groups.
func TestWelchTestOfTheSleepData(t *testing.T) {
	test := Welch(sleepOne, sleepTwo)
	near(t, "t", test.T(), -1.860813467, 1e-9)
	near(t, "df", test.DF, 17.77647352, 1e-8)
	near(t, "p", test.P(), 0.0793941402, 1e-10)
	in := test.Interval(0.95)
	near(t, "low", in.Low, -3.365483231, 1e-9)
	near(t, "high", in.High, 0.205483231, 1e-9)
}

// scipy on toy values of three runs: a parametric test beside exact ones.
func TestThreeRunsAgainstThree(t *testing.T) {
	base, arm := []float64{342, 350, 338}, []float64{561, 548, 570}
	near(t, "paired t", OneSample(differences(base, arm)).P(), 0.00208981698, 1e-11)
	near(t, "Welch", Welch(base, arm).P(), 6.31233324e-5, 1e-12)
	near(t, "Mann-Whitney", MannWhitney(base, arm).P, 0.1, 1e-12)
	p, ok := PairedPermutation(differences(base, arm))
	if !ok {
		t.Fatal("no exact test of three pairs")
	}
	near(t, "paired permutation", p, 0.25, 1e-12)
}

// Student's test of one value against four. With 3 degrees of freedom P(T ≤ √3) is
// ½ + (½ + π/4)/π in closed form (Student 1908).
func TestTheNextValueIsAGroupOfOne(t *testing.T) {
	test := Next([]float64{1, 2, 3, 4}, 5)
	near(t, "mean", test.Mean, 2.5, 1e-12)
	near(t, "t", test.T(), math.Sqrt(3), 1e-12)
	near(t, "df", test.DF, 3, 0)
	near(t, "p", test.P(), 2*(0.25-0.5/math.Pi), 1e-12)
}
