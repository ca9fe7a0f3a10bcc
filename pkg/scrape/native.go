package scrape

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// appendNative appends the populated buckets of a native histogram as cumulative ones
// among those from begin on. They say the same: a bound that is missing has the count of
// the next lower one. Where an exporter has classic buckets too, both count the same
// observations.
func appendNative(to []point, begin int, h *dto.Histogram) []point {
	if h.Schema == nil {
		return to
	}
	total := 0.0
	add := func(bound, count float64) {
		total += count
		to = append(to, point{"_bucket", "le", bound, total})
	}
	for _, b := range slices.Backward(nativeBuckets(h.GetNegativeSpan(), h.GetNegativeDelta(), h.GetNegativeCount())) {
		add(-nativeUpper(b.index-1, h.GetSchema()), b.count)
	}
	if zero := cmp.Or(float64(h.GetZeroCount()), h.GetZeroCountFloat()); zero > 0 {
		add(roundBound(h.GetZeroThreshold()), zero)
	}
	for _, b := range nativeBuckets(h.GetPositiveSpan(), h.GetPositiveDelta(), h.GetPositiveCount()) {
		add(nativeUpper(b.index, h.GetSchema()), b.count)
	}
	slices.SortStableFunc(to[begin:], func(a, b point) int { return cmp.Compare(a.bound, b.bound) })
	both := slices.CompactFunc(to[begin:], func(a, b point) bool { return a.bound == b.bound })
	return to[:begin+len(both)]
}

// nativeBucket holds the observations up to base^index, above base^(index-1).
type nativeBucket struct {
	index int
	count float64
}

// nativeBuckets unfolds spans: a gap, then so many buckets, again and again. Counts of
// integers come as the difference to the bucket before.
func nativeBuckets(spans []*dto.BucketSpan, deltas []int64, counts []float64) []nativeBucket {
	var out []nativeBucket
	index, i, last := 0, 0, int64(0)
	for _, span := range spans {
		index += int(span.GetOffset())
		for range span.GetLength() {
			b := nativeBucket{index: index}
			switch {
			case i < len(deltas):
				last += deltas[i]
				b.count = float64(last)
			case i < len(counts):
				b.count = counts[i]
			default:
				return out // a page that is broken
			}
			if b.count > 0 {
				out = append(out, b)
			}
			i, index = i+1, index+1
		}
	}
	return out
}

// nativeUpper is base^index with base = 2^(2^-schema).
func nativeUpper(index int, schema int32) float64 {
	return roundBound(math.Exp2(float64(index) * math.Exp2(-float64(schema))))
}

// roundBound keeps 12 digits, which hold the bounds of the finest schema apart (they
// grow by 0.27 %) and hide in which way a library computes them.
func roundBound(bound float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(bound, 'g', 12, 64), 64)
	if err != nil {
		return bound // infinite
	}
	return rounded
}
