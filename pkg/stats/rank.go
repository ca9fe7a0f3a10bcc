package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// exactBelow is the size of a sample from which on ranks are taken to be normal, as
// in R's wilcox.test.
const exactBelow = 50

// RankTest is a two-sided test on ranks.
type RankTest struct {
	Statistic float64
	P         float64
	Exact     bool // P counts arrangements; else it comes from the normal distribution
}

// MannWhitney tests whether values of x and of y are as likely to be the larger one
// (Mann and Whitney 1947). The statistic U counts the pairs with x > y, ties as half.
// With fewer than 50 values in each, P counts all ways to deal the ranks out, ties
// included; beyond that it is normal with the corrections for ties and continuity.
// Neither is empty. With n values in each, no P is below 2/C(2n, n): 0.1 for 3.
func MannWhitney(x, y []float64) RankTest {
	ranks := doubledRanks(slices.Concat(x, y))
	u := mannWhitneyU(ranks, len(x))
	if len(x) < exactBelow && len(y) < exactBelow {
		return RankTest{u, exactRankSum(ranks, len(x)), true}
	}
	return RankTest{u, normalRankSum(ranks, len(x)), false}
}

// RanksFloor is the smallest p-value that n and m values can reach in MannWhitney without
// ties, 2/C(n+m, n): 0.1 for 3 and 3, below 0.05 for 4 and 4.
func RanksFloor(n, m int) float64 {
	return min(1, 2/combin.GeneralizedBinomial(float64(n+m), float64(n)))
}

// doubledRanks are twice the ranks of x, counted from 1, which makes midranks of ties
// whole numbers.
func doubledRanks(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	ranks := make([]int, len(x))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + 1 + to
		}
		from = to
	}
	return ranks
}

func mannWhitneyU(ranks []int, n int) float64 {
	return float64(sum(ranks[:n])-n*(n+1)) / 2
}

func sum(x []int) (total int) {
	for _, v := range x {
		total += v
	}
	return total
}

// exactRankSum is the share of the ways to choose n of the ranks whose sum is at
// least as far from its mean as that of the first n.
func exactRankSum(ranks []int, n int) float64 {
	total := sum(ranks)
	// ways[k][s] is the number of ways to choose k ranks with the sum s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k >= 1; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	// The mean of the sum is n·total/N; distances are compared times N.
	size := len(ranks)
	distance := func(s int) int { return max(s*size-n*total, n*total-s*size) }
	var all, far float64
	observed := distance(sum(ranks[:n]))
	for s, count := range ways[n] {
		all += count
		if distance(s) >= observed {
			far += count
		}
	}
	return far / all
}

// normalRankSum takes U for normal with the mean nm/2 and the variance
// nm/12·(N+1 − Σ(t³−t)/(N(N−1))) over the ties of t values.
func normalRankSum(ranks []int, n int) float64 {
	size, m := float64(len(ranks)), float64(len(ranks)-n)
	ties := make(map[int]float64)
	for _, r := range ranks {
		ties[r]++
	}
	var tied float64
	for _, t := range ties {
		tied += t*t*t - t
	}
	variance := float64(n) * m / 12 * (size + 1 - tied/(size*(size-1)))
	if variance <= 0 { // all values are equal
		return 1
	}
	distance := math.Abs(mannWhitneyU(ranks, n) - float64(n)*m/2)
	z := max(0, distance-0.5) / math.Sqrt(variance)
	return 2 * distuv.UnitNormal.CDF(-z)
}

// SignedRank tests whether differences are symmetric about 0 (Wilcoxon 1945). The
// statistic V sums the ranks of the positive ones by size; differences of 0 are left
// out. P counts all ways to set signs, ties included.
func SignedRank(d []float64) RankTest {
	var sizes []float64
	var positive []bool
	for _, v := range d {
		if v != 0 {
			sizes, positive = append(sizes, math.Abs(v)), append(positive, v > 0)
		}
	}
	ranks := doubledRanks(sizes)
	observed := 0
	for i, r := range ranks {
		if positive[i] {
			observed += r
		}
	}
	total := sum(ranks)
	ways := make([]float64, total+1)
	ways[0] = 1
	for _, r := range ranks {
		for s := total; s >= r; s-- {
			ways[s] += ways[s-r]
		}
	}
	distance := func(s int) int { return max(2*s-total, total-2*s) }
	var far float64
	for s, count := range ways {
		if distance(s) >= distance(observed) {
			far += count
		}
	}
	return RankTest{float64(observed) / 2, far / math.Exp2(float64(len(ranks))), true}
}
