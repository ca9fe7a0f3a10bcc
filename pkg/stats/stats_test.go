package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) { // NaN fails
		t.Errorf("%s is %.13g, expected %.13g within %g", what, got, want, tolerance)
	}
}

func TestQuantileIsOfType7(t *testing.T) {
	oneToTen := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	inf := math.Inf(1)
	cases := []struct {
		name string
		x    []float64
		p    float64
		want float64
	}{
		// quantile(1:10, .95) in R is 9.55; types 1, 4 and 8 give 10, 9.5 and 9.9333.
		{"p95 of 1 to 10 interpolates on n-1 steps", oneToTen, 0.95, 9.55},
		{"the median of an even sample lies between its middle values", oneToTen, 0.5, 5.5},
		{"p0 is the minimum", oneToTen, 0, 1},
		{"p100 is the maximum", oneToTen, 1, 10},
		{"one value is every quantile", []float64{7}, 0.99, 7},
		{"a quantile below the infinite end is finite", []float64{1, 2, 3, inf, inf}, 0.5, 3},
		{"a quantile next to the infinite end is infinite", []float64{1, 2, 3, inf}, 0.75, inf},
		{"a quantile inside the infinite end is infinite, not NaN", []float64{1, inf, inf}, 0.75, inf},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Quantile(c.x, c.p)
			if got != c.want && math.Abs(got-c.want) > 1e-12 {
				t.Errorf("got %v, expected %v", got, c.want)
			}
		})
	}
}

// Observing n values all below the p-quantile has probability pⁿ.
func TestMinimumNIsTheFirstSampleThatBoundsAPercentile(t *testing.T) {
	for p, want := range map[float64]int{0.5: 5, 0.9: 29, 0.95: 59, 0.99: 299, 0.999: 2995} {
		got := MinimumN(p, 0.95)
		if got != want {
			t.Errorf("p%g needs %d, expected %d", 100*p, got, want)
		}
		if 1-math.Pow(p, float64(got)) < 0.95 || 1-math.Pow(p, float64(got-1)) >= 0.95 {
			t.Errorf("p%g: %d is not the first n with 1-p^n >= 0.95", 100*p, got)
		}
	}
}

// R: qbinom(c(.025,.975), 1200, .95) gives 1125 and 1154; aclements/go-moremath's
// stats.QuantileCI(1200, .95, .95) gives ranks 1125 and 1155.
func TestQuantileRanks(t *testing.T) {
	got, ok := QuantileRanks(1200, 0.95, 0.95)
	if !ok || got.Low != 1125 || got.High != 1155 {
		t.Fatalf("ranks %+v, expected 1125 and 1155", got)
	}
	if got.Coverage < 0.95 || got.Coverage > 0.96 {
		t.Errorf("coverage %v, expected just above 0.95", got.Coverage)
	}
	// The sign test's interval: 6 values are the first whose extremes enclose the
	// median at 95 % (1 − 2·2⁻⁶ = 0.96875).
	if _, ok := QuantileRanks(5, 0.5, 0.95); ok {
		t.Error("5 values cannot enclose the median at 95 %")
	}
	got, ok = QuantileRanks(6, 0.5, 0.95)
	if !ok || got.Low != 1 || got.High != 6 {
		t.Errorf("ranks of 6 values %+v, expected 1 and 6", got)
	}
	near(t, "coverage of the extremes of 6", got.Coverage, 0.96875, 1e-12)
}

// R: qt(.975, c(1, 2, 3, 4, 9, 29)).
func TestStudentQuantile(t *testing.T) {
	for df, want := range map[int]float64{
		1: 12.7062047362, 2: 4.30265272975, 3: 3.18244630528,
		4: 2.7764451052, 9: 2.2621571628, 29: 2.04522964213,
	} {
		near(t, "t quantile", studentQuantile(0.975, float64(df)), want, 1e-9)
	}
}

func TestGeometricMeanIntervalIsTheMeanIntervalOfLogs(t *testing.T) {
	// Logs −1, 0, 1: mean 0, sd 1, so ±4.30265272975/√3.
	x := []float64{math.Exp(-1), 1, math.E}
	in := GeometricMeanInterval(x, 0.95)
	half := 4.30265272975 / math.Sqrt(3)
	near(t, "geometric mean", GeometricMean(x), 1, 1e-12)
	near(t, "low", in.Low, math.Exp(-half), 1e-9)
	near(t, "high", in.High, math.Exp(half), 1e-9)
}

// R, on toy values near those of a published comparison of three matched runs.
func TestLogRatioOfThreePairs(t *testing.T) {
	r := NewLogRatio([]float64{342, 350, 338}, []float64{341, 348, 345})
	near(t, "ratio", r.Ratio(), 1.00395432682, 1e-10)
	in := r.Interval(0.95)
	near(t, "95 % low", in.Low, 0.968669372643, 1e-10)
	near(t, "95 % high", in.High, 1.04052457816, 1e-10)
	in = r.Interval(0.90)
	near(t, "90 % low", in.Low, 0.979870908916, 1e-10)
	near(t, "90 % high", in.High, 1.02862967067, 1e-10)
	// One-sided 95 % bounds are the ends of the 90 % interval.
	near(t, "upper bound", r.UpperBound(0.95), 1.02862967067, 1e-10)
	near(t, "lower bound", r.LowerBound(0.95), 0.979870908916, 1e-10)
	near(t, "TOST 5 %", r.EquivalenceP(0.05), 0.0163536927556, 1e-10)
	near(t, "TOST 2 %", r.EquivalenceP(0.02), 0.0983977714612, 1e-10)
}

// Published medians of a comparison of protections: 561 against 342 ms is a rise by
// 64.0 %, and so on.
func TestRatioOfASinglePair(t *testing.T) {
	for _, c := range []struct{ from, to, percent float64 }{
		{342, 561, 64.0}, {561, 341, -39.2}, {1648, 1798, 9.1}, {1350, 1055, -21.9},
	} {
		r := NewLogRatio([]float64{c.from}, []float64{c.to})
		near(t, "change", 100*(r.Ratio()-1), c.percent, 0.05)
	}
}

func TestLogRatioOfPairsThatAgree(t *testing.T) {
	r := NewLogRatio([]float64{1, 2, 4}, []float64{1.5, 3, 6})
	if in := r.Interval(0.95); math.Abs(in.Low-1.5) > 1e-12 || math.Abs(in.High-1.5) > 1e-12 {
		t.Errorf("interval %+v, expected 1.5 alone", in)
	}
	if p := r.EquivalenceP(0.6); p > 1e-12 {
		t.Errorf("p inside the margin is %v, expected 0", p)
	}
	if p := r.EquivalenceP(0.4); p < 1-1e-12 {
		t.Errorf("p outside the margin is %v, expected 1", p)
	}
}

func TestHolm(t *testing.T) {
	cases := []struct {
		name    string
		p, want []float64
	}{
		{"R p.adjust of five steps", []float64{.01, .02, .03, .04, .05}, []float64{.05, .08, .09, .09, .09}},
		{"order is kept", []float64{.05, .01, .04, .02, .03}, []float64{.09, .05, .09, .08, .09}},
		{"Benjamini and Hochberg 1995, 15 p-values, R p.adjust",
			[]float64{.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528, .7590, 1},
			[]float64{.0015, .0056, .0247, .1140, .2211, .2780, .2780, .2780, .3213, 1, 1, 1, 1, 1, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for i, got := range Holm(c.p) {
				near(t, "adjusted p", got, c.want[i], 1e-12)
			}
		})
	}
}

func TestShares(t *testing.T) {
	// 38 of 38: the exact lower bounds are (α/2)^(1/38) and α^(1/38).
	near(t, "38 of 38, two-sided", ClopperPearson(38, 38, 0.95).Low, math.Pow(0.025, 1.0/38), 1e-9)
	near(t, "38 of 38, two-sided", ClopperPearson(38, 38, 0.95).Low, 0.907, 5e-4)
	near(t, "38 of 38, one-sided", ClopperPearson(38, 38, 0.90).Low, 0.924, 5e-4)
	in := ClopperPearson(1, 1440, 0.95)
	near(t, "1 of 1440 low", in.Low, 0.000018, 5e-7)
	near(t, "1 of 1440 high", in.High, 0.00386, 5e-6)
	if in := ClopperPearson(0, 10, 0.95); in.Low != 0 || in.High >= 1 {
		t.Errorf("0 of 10 gives %+v", in)
	}
	// Newcombe 1998, table I, method 3: 81/263 and 0/20.
	in = Wilson(81, 263, 0.95)
	near(t, "Wilson 81 of 263 low", in.Low, 0.2553, 5e-5)
	near(t, "Wilson 81 of 263 high", in.High, 0.3662, 5e-5)
	in = Wilson(0, 20, 0.95)
	near(t, "Wilson 0 of 20 low", in.Low, 0, 1e-12)
	near(t, "Wilson 0 of 20 high", in.High, 0.1611, 5e-5)
}

func TestQuantileLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(t, "x")
		slices.Sort(x)
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		q := rapid.Float64Range(p, 1).Draw(t, "q")
		low, high := Quantile(x, p), Quantile(x, q)
		if low < x[0] || high > x[len(x)-1] {
			t.Fatalf("quantiles %v, %v leave the sample %v", low, high, x)
		}
		if low > high+1e-9*math.Abs(high) {
			t.Fatalf("quantile falls from %v at %v to %v at %v", low, p, high, q)
		}
	})
}

// R: pbinom(1, 3, 1/6, lower.tail = FALSE) and 1 − pbinom(−1, …).
func TestBinomialTailIsExact(t *testing.T) {
	for _, c := range []struct {
		k, n int
		p    float64
		want float64
	}{{2, 3, 1.0 / 6, 16.0 / 216}, {3, 3, 1.0 / 6, 1.0 / 216}, {0, 3, 0.5, 1}, {5, 5, 0.5, 1.0 / 32}} {
		if got := BinomialTail(c.k, c.n, c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("P(B >= %d of %d at %g) is %v, expected %v", c.k, c.n, c.p, got, c.want)
		}
	}
}

// The two-sided p-value of the log ratio is that of Student's test of the logs.
func TestDifferenceIsStudentsTestOfTheLogs(t *testing.T) {
	a, b := []float64{342, 350, 338}, []float64{561, 548, 570}
	var d []float64
	for i := range a {
		d = append(d, math.Log(b[i]/a[i]))
	}
	if got, want := NewLogRatio(a, b).DifferenceP(), OneSample(d).P(); math.Abs(got-want) > 1e-12 {
		t.Errorf("found %v, expected %v", got, want)
	}
	if got := NewLogRatio(a, a).DifferenceP(); got != 1 {
		t.Errorf("the same in all pairs: found %v, expected 1", got)
	}
}
