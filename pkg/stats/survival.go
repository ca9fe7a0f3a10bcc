package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Survival is the share of things that have not happened yet, over time (Kaplan and
// Meier 1958). Things that were given up before they happened, such as requests that
// a run did not wait for, count for as long as they were watched.
type Survival struct {
	steps []survivalStep
	last  float64 // the longest time that was watched
}

// survivalStep is an instant at which something happened.
type survivalStep struct {
	at        float64
	share     float64 // not happened just after
	greenwood float64 // Σ d/(r(r−d)) so far
}

// KaplanMeier takes for each thing the time until it happened or was given up.
// Something given up at the very time at which another happened was watched through
// it. There is at least one thing, and times are 0 or more.
func KaplanMeier(times []float64, happened []bool) Survival {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	s := Survival{last: times[order[len(order)-1]]}
	share, greenwood := 1.0, 0.0
	for from := 0; from < len(order); {
		at := times[order[from]]
		watched, events, to := float64(len(order)-from), 0.0, from
		for ; to < len(order) && times[order[to]] == at; to++ {
			if happened[order[to]] {
				events++
			}
		}
		if events > 0 {
			share *= (watched - events) / watched
			greenwood += events / (watched * (watched - events))
			s.steps = append(s.steps, survivalStep{at, share, greenwood})
		}
		from = to
	}
	return s
}

// At is the share that has not happened by the time t. Beyond the longest time that
// was watched it stays what it was there, which is an upper bound.
func (s Survival) At(t float64) float64 {
	if i := s.before(t); i >= 0 {
		return s.steps[i].share
	}
	return 1
}

// before is the place of the last step at or before t, −1 if there is none.
func (s Survival) before(t float64) int {
	i, found := slices.BinarySearchFunc(s.steps, t, func(step survivalStep, t float64) int {
		return cmp.Compare(step.at, t)
	})
	if found {
		return i
	}
	return i - 1
}

// Interval of At(t) by Greenwood's variance on the scale of log(−log), which keeps it
// inside 0 and 1 (Kalbfleisch and Prentice 1980). It reports false where nothing or
// everything has happened, or t was not watched.
func (s Survival) Interval(t, level float64) (Interval, bool) {
	i := s.before(t)
	if i < 0 || s.steps[i].share == 0 || t > s.last {
		return Interval{}, false
	}
	step := s.steps[i]
	z := distuv.UnitNormal.Quantile(1 - (1-level)/2)
	half := z * math.Sqrt(step.greenwood) / math.Abs(math.Log(step.share))
	return Interval{math.Pow(step.share, math.Exp(half)), math.Pow(step.share, math.Exp(-half))}, true
}

// Quantile is the time by which the share p has happened, the first at which At is at
// most 1−p. It reports false where that was not seen.
func (s Survival) Quantile(p float64) (float64, bool) {
	for _, step := range s.steps {
		if step.share <= 1-p+1e-12 { // 1−p has rounding of its own
			return step.at, true
		}
	}
	return 0, false
}
