package stats

import (
	"math"
	"math/bits"
)

// MostPairs is the largest number of pairs for which PairedPermutation tries all
// signs: a million.
const MostPairs = 20

// PairedPermutation is the exact two-sided p-value of the mean of paired differences
// under the hypothesis that each could as well have had the other sign (Fisher 1935):
// the share of the 2ⁿ ways to set signs whose mean is at least as far from 0 as the
// observed one. It reports false for no or for more than MostPairs differences.
func PairedPermutation(d []float64) (p float64, ok bool) {
	if len(d) == 0 || len(d) > MostPairs {
		return 0, false
	}
	var observed, size float64
	for _, v := range d {
		observed += v
		size += math.Abs(v)
	}
	// Sums that are equal on paper differ in the last digits by their order.
	reach := math.Abs(observed) - 1e-12*size
	far, current := 0, observed
	signs := make([]float64, len(d))
	for i := range signs {
		signs[i] = 1
	}
	for i := range 1 << len(d) {
		if math.Abs(current) >= reach {
			far++
		}
		// A Gray code changes one sign at a time, that of the lowest set bit.
		if flip := bits.TrailingZeros(uint(i + 1)); flip < len(d) {
			signs[flip] = -signs[flip]
			current += 2 * signs[flip] * d[flip]
		}
	}
	return float64(far) / math.Exp2(float64(len(d))), true
}

// PairedFloor is the smallest p-value that n pairs can reach in PairedPermutation,
// 2/2ⁿ: 0.25 for 3, below 0.05 from 6 on.
func PairedFloor(n int) float64 { return min(1, math.Exp2(float64(1-n))) }
