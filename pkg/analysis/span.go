package analysis

import (
	"cmp"
	"slices"
)

// span is a stretch of time, in seconds of schedule time.
type span struct{ from, to float64 }

func (s span) length() float64 { return s.to - s.from }

// spans are sorted and do not touch.
type spans []span

// unite makes spans of stretches that may overlap and stand in any order.
func unite(all []span) spans {
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var out spans
	for _, s := range all {
		switch {
		case s.length() <= 0:
		case len(out) > 0 && s.from <= out[len(out)-1].to:
			last := &out[len(out)-1]
			last.to = max(last.to, s.to)
		default:
			out = append(out, s)
		}
	}
	return out
}

// gaps is what s leaves uncovered of whole.
func (s spans) gaps(whole span) spans {
	var out spans
	at := whole.from
	for _, covered := range s {
		if gap := (span{at, min(covered.from, whole.to)}); gap.length() > 0 {
			out = append(out, gap)
		}
		at = max(at, covered.to)
	}
	if gap := (span{at, whole.to}); gap.length() > 0 {
		out = append(out, gap)
	}
	return out
}

// without is what of s lies outside other.
func (s spans) without(other spans) spans {
	var out spans
	for _, one := range s {
		out = append(out, other.gaps(one)...)
	}
	return out
}

// within is how many seconds of whole lie in s.
func (s spans) within(whole span) float64 {
	var sum float64
	for _, one := range s {
		sum += max(0, min(one.to, whole.to)-max(one.from, whole.from))
	}
	return sum
}
