package router

import "math"

const (
	staticLimitType = "static-usage-limit-policy"
	holdbackType    = "priority-holdback-policy"
	softCeilingType = "soft-reflective-ceiling-policy"
)

// limitPolicy gives each band a ceiling: its requests are dispatched while the
// saturation of the pool is below it. Priorities come highest first.
type limitPolicy interface {
	// ceilings fills into, one each. cycle counts the dispatch cycles in which the
	// policy alternated; the policy says whether this one counts.
	ceilings(saturation float64, priorities []int, cycle int64, into []float64) (alternated bool)
}

// staticLimit is one ceiling for all.
type staticLimit float64

func (l staticLimit) ceilings(_ float64, _ []int, _ int64, into []float64) bool {
	for i := range into {
		into[i] = float64(l)
	}
	return false
}

const (
	domainRank  = "rank"
	domainValue = "value"
)

// holdback spreads ceilings from high, for the highest band there is, to low: in
// equal steps by rank, or in proportion to the priorities' values.
type holdback struct {
	byValue   bool
	low, high float64
}

// The floating-point expressions are the real policy's, because they decide: with
// two bands and low 0.3 the lower ceiling is 0.30000000000000004, so that 4 of 10
// run, not 3.
func (h holdback) ceilings(_ float64, priorities []int, _ int64, into []float64) bool {
	n := len(priorities)
	if n == 1 {
		into[0] = h.high
		return false
	}
	spread := h.high - h.low
	for i, p := range priorities {
		if !h.byValue {
			into[i] = h.high - float64(i)*spread/float64(n-1)
			continue
		}
		lowest, highest := float64(priorities[n-1]), float64(priorities[0])
		r := (float64(p) - lowest) / (highest - lowest)
		into[i] = h.low + r*spread
	}
	return false
}

// softCeiling lowers a band's ceiling as saturation rises. Past it the band opens
// once in a number of cycles that grows with saturation.
type softCeiling struct{}

func (softCeiling) ceilings(saturation float64, priorities []int, cycle int64, into []float64) bool {
	n := len(priorities)
	into[0] = 1
	if n == 1 {
		return false
	}
	alternates := saturation >= 1-saturation && saturation < 1
	open := false
	if alternates {
		period := int64(math.Max(1, math.Round(saturation/(1-saturation+1e-9))))
		open = (cycle+1)%period == 0
	}
	for i := 1; i < n; i++ {
		ceiling := 1 - float64(i)*saturation/float64(n-1)
		into[i] = 0
		if saturation < ceiling || saturation < 1 && open {
			into[i] = 1
		}
	}
	return alternates
}
