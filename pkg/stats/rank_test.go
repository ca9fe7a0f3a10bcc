package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// R ?wilcox.test (Hollander and Wolfe 1973, p. 69): permeability of the chorioamnion.
func TestMannWhitneyOfPermeability(t *testing.T) {
	got := MannWhitney(
		[]float64{.80, .83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, .73, 1.46},
		[]float64{1.15, .88, .90, .74, 1.21})
	near(t, "U", got.Statistic, 35, 0)
	near(t, "P", got.P, .2544122544, 1e-10)
	if !got.Exact {
		t.Error("a test of 10 and 5 values is not exact")
	}
}

// scipy.stats.mannwhitneyu: ages of diagnosis of diabetes.
func TestMannWhitneyOfFiveAndFour(t *testing.T) {
	got := MannWhitney([]float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12})
	near(t, "U", got.Statistic, 17, 0)
	near(t, "P", got.P, 1.0/9, 1e-12)
	near(t, "normal P", normalRankSum(doubledRanks([]float64{19, 22, 16, 29, 24, 20, 11, 17, 12}), 5), 0.11134688653314041, 1e-12)
}

// R wilcox.test(Ozone ~ Month, data = airquality, subset = Month %in% c(5, 8)) gives
// W = 127.5, p-value = 0.0001208 with ties and the normal distribution.
func TestMannWhitneyOfTiedOzone(t *testing.T) {
	may := []float64{41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37}
	august := []float64{39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84, 85}
	ranks := doubledRanks(append(append([]float64{}, may...), august...))
	near(t, "U", mannWhitneyU(ranks, len(may)), 127.5, 0)
	near(t, "normal P", normalRankSum(ranks, len(may)), 0.0001208, 5e-8)
	if p := exactRankSum(ranks, len(may)); p > 0.0001208 || p < 0.0001208/3 {
		t.Errorf("exact P is %v, expected somewhat less: so far out the normal tail is too heavy", p)
	}
}

// The exact distribution is that of all ways to deal the values out, with ties or
// without.
func TestExactRankSumCountsEveryDeal(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for range 30 {
		x := make([]float64, 8)
		for i := range x {
			x[i] = float64(random.IntN(5)) // many ties
		}
		ranks := doubledRanks(x)
		const n = 3
		distance := func(mask int) float64 {
			var sum float64
			for i, r := range ranks {
				if mask>>i&1 == 1 {
					sum += float64(r)
				}
			}
			return math.Abs(sum/n - 9) // the mean of doubled ranks of 8 is 9
		}
		far, all := 0, 0
		for mask := range 1 << len(x) {
			if count(mask) == n {
				all++
				if distance(mask) >= distance(1<<n-1)-1e-9 {
					far++
				}
			}
		}
		near(t, "P", exactRankSum(ranks, n), float64(far)/float64(all), 1e-12)
	}
}

func count(mask int) (bits int) {
	for ; mask > 0; mask &= mask - 1 {
		bits++
	}
	return bits
}

func TestMannWhitneyOfValuesThatAllAgreeShowsNothing(t *testing.T) {
	near(t, "exact P", MannWhitney([]float64{1, 1, 1}, []float64{1, 1, 1}).P, 1, 0)
	many := make([]float64, exactBelow)
	got := MannWhitney(many, many)
	if got.Exact || got.P != 1 {
		t.Errorf("found %+v, expected P 1 from the normal distribution", got)
	}
}

// R ?wilcox.test (Hollander and Wolfe 1973, p. 29): Hamilton depression scale of nine
// patients before and after; V = 40, one-sided p = 0.01953125.
func TestSignedRankOfDepression(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	got := SignedRank(differences(before, after))
	near(t, "V", got.Statistic, 40, 0)
	near(t, "P", got.P, 2*0.01953125, 1e-12)
}

func TestSignedRankLeavesZerosOut(t *testing.T) {
	with, without := SignedRank([]float64{0, 3, -1, 2, 0}), SignedRank([]float64{3, -1, 2})
	if with != without {
		t.Errorf("found %+v with zeros, %+v without", with, without)
	}
}

// The floors of 2/C(2n, n): .10, .0286 and .0079 for 3, 4 and 5 in each (R and scipy).
func TestMannWhitneyReachesItsFloor(t *testing.T) {
	for _, c := range []struct {
		n, m int
		want float64
	}{{3, 3, .1}, {4, 4, 2.0 / 70}, {5, 5, 2.0 / 252}, {3, 5, 2.0 / 56}, {1, 1, 1}} {
		x, y := make([]float64, c.n), make([]float64, c.m)
		for i := range x {
			x[i] = float64(i)
		}
		for i := range y {
			y[i] = float64(100 + i)
		}
		near(t, "floor", RanksFloor(c.n, c.m), c.want, 1e-12)
		near(t, "P", MannWhitney(x, y).P, c.want, 1e-12)
	}
}
