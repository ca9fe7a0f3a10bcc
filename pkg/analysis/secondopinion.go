package analysis

import (
	"fmt"
	"math"
	"slices"

	"bgbench/pkg/random"
	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

const (
	// opinionTrials: with fewer there are too few ways to draw them.
	opinionTrials = 5
	// opinionRows bounds how many rows of a trial are resampled. Of more of them as many are
	// taken at equal distances in rank, which keeps the distribution and makes the interval
	// a little wider than all of them would.
	opinionRows = 1000

	methodHierarchical = "hierarchical bootstrap"
)

// keepOpinion keeps what a second opinion on the TTFT in the burst is formed of.
func (s *slot) keepOpinion(c *cell) {
	key := phaseClass{BurstPhase(c.meta.Profile.Interactive), record.ClassInteractive}
	if p := c.rows.phases[key]; p != nil {
		s.ttft = thin(p.ttft.sorted(), opinionRows)
	}
}

// thin takes limit of sorted values at equal distances in rank.
func thin(sorted rising, limit int) []float64 {
	n := sorted.len()
	out := make([]float64, min(n, limit))
	for i := range out {
		if n <= limit {
			out[i] = sorted.at(i)
		} else {
			out[i] = stats.QuantileAt(n, (float64(i)+0.5)/float64(limit), sorted.at)
		}
	}
	return out
}

// secondOpinions adds the interval of a hierarchical bootstrap to the percentiles of the
// interactive TTFT in the burst: of all rows together, whose trials and then whose rows
// are drawn again. The interval on the logs of the trials' own percentiles takes them to
// vary by a factor; this one takes nothing for granted, and needs more trials.
func (r *Results) secondOpinions(slots []*slot) {
	burst := BurstPhase(r.Experiment.Profile.Interactive)
	for _, a := range r.Arms {
		var trials [][]float64
		for _, s := range slots {
			if s.arm.Name == a.Name && s.result != nil && s.result.Valid && len(s.ttft) > 0 {
				trials = append(trials, s.ttft)
			}
		}
		ranked := newRankedTrials(trials)
		for _, q := range []struct {
			stat string
			p    float64
		}{{StatP50, 0.5}, {StatP95, 0.95}, {StatP99, 0.99}} {
			key := MetricKey(burst, record.ClassInteractive, MetricTTFT, q.stat)
			e, ok := a.Metrics[key]
			if !ok {
				continue
			}
			o := &SecondOpinion{}
			switch {
			case e.TrialsUse < len(trials):
				o.Reason = "not every trial has rows enough for the percentile"
			case len(trials) < opinionTrials:
				o.Reason = fmt.Sprintf("it needs %d trials, there %s", opinionTrials, areSo(len(trials)))
			default:
				in := ranked.interval(q.p, r.Experiment.Profile.Seed, a.Name, q.stat)
				o.Low, o.High, o.Method = finite(in.Low), finite(in.High), methodHierarchical
			}
			e.Bootstrap = o
			a.Metrics[key] = e
		}
	}
}

// rankedTrials are the rows of trials as places in their common order, so that a quantile
// of a resample is found by counting.
type rankedTrials struct {
	sorted []float64
	trials [][]int
}

func newRankedTrials(trials [][]float64) rankedTrials {
	r := rankedTrials{sorted: slices.Concat(trials...)}
	slices.Sort(r.sorted)
	for _, rows := range trials {
		places := make([]int, len(rows))
		for i, x := range rows {
			places[i], _ = slices.BinarySearch(r.sorted, x)
		}
		r.trials = append(r.trials, places)
	}
	return r
}

func (r rankedTrials) interval(p float64, seed int64, arm, stat string) stats.Interval {
	counts := make([]int, len(r.sorted))
	return stats.Bootstrap[int]{
		Statistic: func(places []int) float64 {
			clear(counts)
			for _, at := range places {
				counts[at]++
			}
			return r.quantile(counts, len(places), p)
		},
		Resamples: resamples,
		Source:    random.Stream(seed, "analysis", "second opinion", arm, stat),
	}.Hierarchical(r.trials, level)
}

// quantile of type 7 of n values of which counts says how often each place was drawn.
func (r rankedTrials) quantile(counts []int, n int, p float64) float64 {
	h := float64(n-1) * p
	low := int(math.Floor(h))
	seen := 0
	for at, k := range counts {
		if seen += k; seen <= low {
			continue
		}
		x := r.sorted[at]
		if seen > low+1 || float64(low) == h {
			return x
		}
		next := at + 1
		for counts[next] == 0 {
			next++
		}
		return x + (h-float64(low))*(r.sorted[next]-x)
	}
	return math.NaN()
}
