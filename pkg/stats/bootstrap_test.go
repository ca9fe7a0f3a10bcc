package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// spatial is sample A of the spatial test data of Efron and Tibshirani (1993), table
// 14.1; popular statistics of it stand in chapter 14.
var spatial = []float64{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41}

// plugInVariance has divisor n.
func plugInVariance(x []float64) float64 {
	sd := SD(x)
	return sd * sd * float64(len(x)-1) / float64(len(x))
}

// The 90 % BCa interval of the variance is (115.8, 259.6) in the book from 2000
// resamples, (115.8, 261.1) by R boot and (115.96, 261.46) by scipy from 100000.
func TestBCaOfTheSpatialData(t *testing.T) {
	near(t, "variance", plugInVariance(spatial), 171.534023669, 1e-9)
	near(t, "acceleration", acceleration(Jackknife(spatial, plugInVariance)), .0612401198, 1e-10)
	b := Bootstrap[float64]{Statistic: plugInVariance, Resamples: 200000, Source: rand.NewPCG(3, 2)}
	in, ok := b.BCa(spatial, 0.90)
	if !ok {
		t.Fatal("no interval")
	}
	near(t, "low", in.Low, 115.9, 1.5)
	near(t, "high", in.High, 261.2, 1.5)
	// R boot with 100000: it misses the skewness.
	in = b.Percentile(spatial, 0.90)
	near(t, "percentile low", in.Low, 98.0, 1)
	near(t, "percentile high", in.High, 235.9, 1)
}

type school struct{ lsat, gpa float64 }

// lawSchools are the 15 of Efron and Tibshirani (1993), table 3.1.
var lawSchools = []school{
	{576, 3.39}, {635, 3.30}, {558, 2.81}, {578, 3.03}, {666, 3.44}, {580, 3.07}, {555, 3.00}, {661, 3.43},
	{651, 3.36}, {605, 3.13}, {653, 3.12}, {575, 2.74}, {545, 2.76}, {572, 2.88}, {594, 2.96},
}

func correlation(of []school) float64 {
	var x, y float64
	for _, s := range of {
		x, y = x+s.lsat, y+s.gpa
	}
	x, y = x/float64(len(of)), y/float64(len(of))
	var xy, xx, yy float64
	for _, s := range of {
		xy += (s.lsat - x) * (s.gpa - y)
		xx += (s.lsat - x) * (s.lsat - x)
		yy += (s.gpa - y) * (s.gpa - y)
	}
	return xy / math.Sqrt(xx*yy)
}

// Efron and Tibshirani (1993), chapters 3 and 11; R to more digits.
func TestJackknifeOfTheLawSchools(t *testing.T) {
	near(t, "correlation", correlation(lawSchools), .776374491289, 1e-12)
	jackknife := Jackknife(lawSchools, correlation)
	near(t, "acceleration", acceleration(jackknife), -.0756715649, 1e-10)
	n := float64(len(lawSchools))
	near(t, "standard error", SD(jackknife)*(n-1)/math.Sqrt(n), .1425186186, 1e-10)
}

type city struct{ u, x float64 }

// R ?boot: populations of ten cities in 1920 and 1930, in thousands (Davison and
// Hinkley 1997, example 2.3).
func TestBootstrapOfTheCityRatio(t *testing.T) {
	cities := []city{
		{138, 143}, {93, 104}, {61, 69}, {179, 260}, {48, 75}, {37, 63}, {29, 50}, {23, 48}, {30, 111}, {2, 50},
	}
	ratio := func(of []city) float64 {
		var u, x float64
		for _, c := range of {
			u, x = u+c.u, x+c.x
		}
		return x / u
	}
	near(t, "ratio", ratio(cities), 1.5203125, 1e-12)
	b := Bootstrap[city]{Statistic: ratio, Resamples: 20000, Source: rand.NewPCG(1, 2)}
	// R boot.ci with 50000 resamples.
	in := b.Percentile(cities, 0.95)
	near(t, "low", in.Low, 1.251, 0.01)
	near(t, "high", in.High, 2.119, 0.04)
}

func TestTheSameSeedGivesTheSameInterval(t *testing.T) {
	interval := func(seed uint64) Interval {
		return Bootstrap[float64]{Mean[float64], 200, rand.NewPCG(seed, 0)}.Percentile(spatial, 0.95)
	}
	if interval(1) != interval(1) || interval(1) == interval(2) {
		t.Errorf("seed 1 gives %v and %v, seed 2 %v", interval(1), interval(1), interval(2))
	}
}

func TestBCaNeedsResamplesOnBothSides(t *testing.T) {
	// No resample has more different values than the sample, and none has as many.
	distinct := func(x []float64) float64 {
		seen := make(map[float64]bool)
		for _, v := range x {
			seen[v] = true
		}
		return float64(len(seen))
	}
	ascending := make([]float64, 200)
	for i := range ascending {
		ascending[i] = float64(i)
	}
	b := Bootstrap[float64]{distinct, 200, rand.NewPCG(1, 2)}
	if in, ok := b.BCa(ascending, 0.95); ok {
		t.Errorf("found %v, expected no interval", in)
	}
	if in, ok := b.BCa([]float64{5, 5, 5}, 0.95); !ok || in != (Interval{1, 1}) {
		t.Errorf("found %v, %v for a statistic that cannot vary, expected 1 to 1", in, ok)
	}
}

// Ten blocks break the order nine times at most, and blocks of one wherever they meet.
func TestBlocksKeepTheOrder(t *testing.T) {
	x := make([]float64, 60)
	for i := range x {
		x[i] = float64(i % 6)
	}
	jumps := func(x []float64) float64 { // that are not to the next of the cycle
		n := 0.0
		for i := 1; i < len(x); i++ {
			if math.Mod(x[i-1]+1, 6) != x[i] {
				n++
			}
		}
		return n
	}
	b := Bootstrap[float64]{jumps, 500, rand.NewPCG(1, 2)}
	if in := b.Blocks(x, 6, 0.95); in.High > 9 {
		t.Errorf("ten blocks break the order up to %v times, expected 9 at most", in.High)
	}
	if in := b.Blocks(x, 1, 0.95); in.Low < 35 {
		t.Errorf("blocks of one break the order %v times only", in.Low)
	}
	for n, want := range map[int]int{1: 1, 8: 2, 27: 3, 1000: 10, 1001: 11} {
		if got := BlockLength(n); got != want {
			t.Errorf("blocks of %d values have %d, expected %d", n, got, want)
		}
	}
}

// With one value in each trial there is nothing to draw within them, and of the mean
// the expanded interval is nearly Student's.
func TestHierarchicalOfSingleValuesIsStudents(t *testing.T) {
	trials := make([][]float64, len(spatial))
	for i, v := range spatial {
		trials[i] = []float64{v}
	}
	b := Bootstrap[float64]{Mean[float64], 20000, rand.NewPCG(1, 2)}
	nested, student := b.Hierarchical(trials, 0.95), MeanInterval(spatial, 0.95)
	near(t, "low", nested.Low, student.Low, 0.4)
	near(t, "high", nested.High, student.High, 0.4)
}

// R acf(lh): luteinizing hormone at 10-minute intervals (Diggle 1990).
func TestAutocorrelationOfTheHormone(t *testing.T) {
	lh := []float64{
		2.4, 2.4, 2.4, 2.2, 2.1, 1.5, 2.3, 2.3, 2.5, 2.0, 1.9, 1.7, 2.2, 1.8, 3.2, 3.2, 2.7, 2.2, 2.2, 1.9, 1.9, 1.8, 2.7, 3.0,
		2.3, 2.0, 2.0, 2.9, 2.9, 2.7, 2.7, 2.3, 2.6, 2.4, 1.8, 1.7, 1.5, 1.4, 2.1, 3.3, 3.5, 3.5, 3.1, 2.6, 2.1, 3.4, 3.0, 2.9,
	}
	for i, want := range []float64{.576, .182, -.145, -.175, -.150} {
		near(t, "acf", Autocorrelation(lh, i+1), want, 5e-4)
	}
}

// Values that follow each other closely are worth few: n(1−r)/(1+r).
func TestEffectiveN(t *testing.T) {
	for r, want := range map[float64]float64{0: 1000, .3: 538.46, .6: 250, .9: 52.63} {
		near(t, "effective n", EffectiveN(1000, r), want, 0.005)
	}
}
