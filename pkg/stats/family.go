package stats

import (
	"cmp"
	"slices"
)

// Holm adjusts the p-values of a family so that the chance of any false positive
// stays at the level that they are compared with (Holm 1979): sorted,
// p'_(i) = max over j ≤ i of min(1, (m−j+1)·p_(j)). The order of p is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	var highest float64
	for rank, i := range order {
		highest = max(highest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = highest
	}
	return adjusted
}
