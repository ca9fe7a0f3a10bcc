package analysis

import (
	"maps"
	"slices"

	"bgbench/pkg/random"
	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

// Steadiness looks at the mean TTFT of each second of a phase in order of time. It holds the
// warm-up that the profile declares against what MSER-5 would leave out, and replaces
// none: a load of bursts is not steady. Values of neighbouring seconds are alike, so that
// they tell less than their number; the interval of the mean allows for it.
type Steadiness struct {
	Seconds int `json:"seconds"` // of the phase that have requests, warm-up included
	// DeclaredS and MSERS are seconds of the phase, from its first cycle on.
	DeclaredS float64 `json:"declared_warmup_s"`
	MSERS     Value   `json:"mser5_warmup_s"` // warm-up by the rule MSER-5
	// Correlation of neighbouring seconds of the measured cycles, and how many independent
	// ones would tell as much of a mean.
	Correlation Value `json:"autocorrelation"`
	EffectiveN  Value `json:"effective_seconds"` // seconds that are worth as much as independent ones
	// MeanLow and MeanHigh bound the mean TTFT within this trial: circular block
	// bootstrap over the measured seconds.
	MeanLow  Value `json:"ttft_mean_ci_low"`
	MeanHigh Value `json:"ttft_mean_ci_high"` // upper bound of the mean TTFT
}

// second is what began in one second: whole nanoseconds, so that the order of the rows
// leaves no trace in their sum.
type second struct{ ns, n int64 }

func (s second) mean() float64 { return float64(s.ns) / float64(s.n) / 1e9 }

// least is how many seconds an autocorrelation, or the blocks of a bootstrap, need.
const leastSeconds = 20

// resamples of a bootstrap: enough for the ends of a 95 % interval.
const resamples = 2000

// addSecond counts the TTFT of a request that ended ok in the second in which it was due.
func (c *cycleRows) addSecond(q *record.Request) {
	at := q.DueAt
	if at == nil {
		at = q.SentAt
	}
	if at == nil || q.TTFTS == nil {
		return
	}
	if unix := at.Unix(); c.latest == nil || unix != c.latestAt {
		if c.seconds[unix] == nil {
			c.seconds[unix] = &second{}
		}
		c.latest, c.latestAt = c.seconds[unix], unix
	}
	c.latest.ns += int64(*q.TTFTS*1e9 + 0.5)
	c.latest.n++
}

// steadiness of a class in a phase.
func (c *cell) steadiness(key phaseClass) Steadiness {
	var all, measuredOnes []second
	for _, b := range c.bands {
		r := c.rows.cycles[cycleKey{key, int32(b.Cycle), b.Warmup}]
		if b.Phase != key.phase || r == nil {
			continue
		}
		for _, at := range slices.Sorted(maps.Keys(r.seconds)) {
			all = append(all, *r.seconds[at])
			if !b.Warmup {
				measuredOnes = append(measuredOnes, *r.seconds[at])
			}
		}
	}
	s := Steadiness{Seconds: len(all)}
	for _, b := range c.bands {
		if b.Warmup && b.Phase == key.phase {
			s.DeclaredS += b.EndS - b.StartS
		}
	}
	series := means(all)
	if skip, ok := stats.MSER5(series); ok {
		s.MSERS = measured(float64(skip), len(series))
	} else {
		s.MSERS = missing(len(series), "%d seconds are too few, or never settle", len(series))
	}
	series = means(measuredOnes)
	n := len(series)
	if n < leastSeconds {
		few := missing(n, "it needs %d measured seconds with requests, there are %d", leastSeconds, n)
		s.Correlation, s.EffectiveN, s.MeanLow, s.MeanHigh = few, few, few, few
		return s
	}
	if slices.Min(series) == slices.Max(series) {
		same := missing(n, "all seconds are alike")
		s.Correlation, s.EffectiveN = same, same
	} else {
		r := stats.Autocorrelation(series, 1)
		s.Correlation = measured(r, n)
		s.EffectiveN = measured(stats.EffectiveN(n, max(0, r)), n)
	}
	in := stats.Bootstrap[second]{
		Statistic: func(x []second) float64 {
			var sum second
			for _, one := range x {
				sum.ns += one.ns
				sum.n += one.n
			}
			return sum.mean()
		},
		Resamples: resamples,
		Source:    random.Stream(c.meta.Seed, "analysis", "steadiness", key.phase, key.class),
	}.Blocks(measuredOnes, stats.BlockLength(n), level)
	s.MeanLow, s.MeanHigh = measured(in.Low, n), measured(in.High, n)
	return s
}

func means(of []second) []float64 {
	out := make([]float64, len(of))
	for i, s := range of {
		out[i] = s.mean()
	}
	return out
}
