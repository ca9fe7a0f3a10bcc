package metric

import (
	"slices"
	"time"
)

// ObserveGaps has histograms, which have the same bounds, observe the gaps between
// instants that follow on from: the seconds from one to the next. A nil is left out.
// The sum of gaps is kept in whole nanoseconds, so that it does not depend on the order
// in which they come.
func ObserveGaps(histograms []*Histogram, from time.Duration, instants []time.Duration) {
	limits := histograms[0].gapLimits()
	for len(instants) > 0 {
		// Most gaps fall into the bucket of the one before.
		bucket, _ := slices.BinarySearch(limits, instants[0]-from)
		low, high := time.Duration(-1<<63), time.Duration(1<<63-1)
		if bucket > 0 {
			low = limits[bucket-1]
		}
		if bucket < len(limits) {
			high = limits[bucket]
		}
		n, start := 0, from
		for n < len(instants) && low < instants[n]-from && instants[n]-from <= high {
			from = instants[n]
			n++
		}
		instants = instants[n:]
		for _, h := range histograms {
			if h != nil {
				h.counts[bucket] += uint64(n)
				h.count += uint64(n)
				h.gaps += from - start
			}
		}
	}
}

// gapLimits are, for each bound, the longest gap that is not above it.
func (h *Histogram) gapLimits() []time.Duration {
	if h.limits == nil && len(h.bounds) > 0 {
		h.limits = make([]time.Duration, len(h.bounds))
		for i, bound := range h.bounds {
			limit := time.Duration(bound * 1e9)
			for limit.Seconds() > bound {
				limit--
			}
			for (limit + 1).Seconds() <= bound {
				limit++
			}
			h.limits[i] = limit
		}
	}
	return h.limits
}

// total is the sum of all observations.
func (h *Histogram) total() float64 { return h.sum + h.gaps.Seconds() }
