package analysis

import (
	"math"
	"slices"
)

// Infrastructure is one metric of the servers in one phase, from the raw samples.
type Infrastructure struct {
	Metric string `json:"metric"` // canonical name, with the priority where it has one
	Unit   string `json:"unit"`   // of the values
	Phase  string `json:"phase"`  // all for the measured bands of all phases
	// Of says what was done with several series: their sum, or their mean.
	Of     string `json:"of"`
	Series int    `json:"series"` // how many were put together

	// Of a gauge: over time, each value until the next sample.
	Mean Value `json:"mean"`
	Min  Value `json:"min"` // of a gauge
	Max  Value `json:"max"` // of a gauge
	// Of a counter: by how much it rose, and that per second.
	Rise Value `json:"rise"`
	PerS Value `json:"rise_per_s"` // rise of a counter a second
}

// Ways to make one series of several.
const (
	ofSum  = "sum"
	ofMean = "mean"
)

const (
	metricPreemptions = "vllm:num_preemptions_total"
	unitTokens        = "tokens"
	unitRequests      = "requests"
)

// infraMetrics are those that are summarized, in order.
var infraMetrics = []struct {
	name, unit string
	of         string // for gauges; a counter is always a sum
	counter    bool
	byPriority bool
}{
	{name: metricRunning, unit: unitRequests, of: ofSum},
	{name: metricWaiting, unit: unitRequests, of: ofSum},
	{name: metricKVUsage, unit: "ratio", of: ofMean},
	{name: metricPreemptions, unit: UnitCount, counter: true},
	{name: metricGenerated, unit: unitTokens, counter: true},
	{name: metricPrompt, unit: unitTokens, counter: true},
	{name: metricSaturation, unit: "ratio", of: ofSum},
	{name: metricQueueSize, unit: unitRequests, of: ofSum, byPriority: true},
	{name: metricRouterRequests, unit: unitRequests, of: ofSum, byPriority: true},
	{name: metricRouterTokens, unit: unitTokens, of: ofSum},
	{name: metricEvictions, unit: UnitCount, counter: true},
	{name: metricAIMDLimit, unit: unitRequests, of: ofSum},
	{name: metricAIMDDecreases, unit: UnitCount, counter: true},
	{name: metricAIMDIncreases, unit: UnitCount, counter: true},
	{name: metricProcessor, unit: unitRequests, of: ofSum},
	{name: metricBudget, unit: "ratio", of: ofMean},
	{name: metricAsync, unit: unitRequests, of: ofSum},
	{name: metricAsyncRetries, unit: UnitCount, counter: true},
}

// infrastructure lists, by metric, then phase, what the cell has samples of.
func (c *cell) infrastructure() []Infrastructure {
	out := []Infrastructure{}
	if c.start.IsZero() {
		return out
	}
	phases := append(phaseNames(c.meta.Profile.Interactive), PhaseAll)
	for _, m := range infraMetrics {
		tracks := c.tracks(m.name)
		groups := []string{""}
		if m.byPriority {
			groups = valuesOf(tracks, "priority")
			slices.SortFunc(groups, func(a, b string) int { return byNumber(b, a) })
		}
		for _, group := range groups {
			name, of := m.name, tracks
			if group != "" {
				name, of = m.name+"{priority="+group+"}", with(tracks, "priority", group)
			}
			if len(of) == 0 {
				continue
			}
			var gauge track
			if !m.counter {
				gauge = gaugeOf(of, m.of)
			}
			for _, phase := range phases {
				i := Infrastructure{Metric: name, Unit: m.unit, Phase: phase, Of: m.of, Series: len(of)}
				if m.counter {
					i.Of = ofSum
					i.count(of, c.spansOf(phase))
				} else {
					i.gauge(gauge, c.spansOf(phase))
				}
				out = append(out, i)
			}
		}
	}
	return out
}

func (i *Infrastructure) count(tracks []track, in []span) {
	none := missing(0, "it is a counter")
	i.Mean, i.Min, i.Max = none, none, none
	sum, length := 0.0, 0.0
	for _, s := range in {
		sum += rises(tracks, s)
		length += s.length()
	}
	i.Rise, i.PerS = measured(sum, len(tracks)), perSecond(sum, length, len(tracks))
}

// gaugeOf makes one track of several: their sum, or their mean.
func gaugeOf(tracks []track, of string) track {
	sum := total(tracks)
	if of == ofMean {
		for k := range sum.values {
			sum.values[k] /= float64(len(tracks))
		}
	}
	return sum
}

func (i *Infrastructure) gauge(of track, in []span) {
	none := missing(0, "it is a gauge")
	i.Rise, i.PerS = none, none
	low, high := math.Inf(1), math.Inf(-1)
	area, length, n := 0.0, 0.0, 0
	for _, s := range in {
		steps := of.steps(s)
		if len(steps) == 0 {
			continue
		}
		a, b := extremes(steps)
		low, high = min(low, a), max(high, b)
		n += len(steps)
		if m, ok := mean(steps, s.to); ok {
			area += m * (s.to - steps[0].at)
			length += s.to - steps[0].at
		}
	}
	if n == 0 {
		unseen := missing(0, "it was not sampled in the phase")
		i.Mean, i.Min, i.Max = unseen, unseen, unseen
		return
	}
	i.Min, i.Max = measured(low, n), measured(high, n)
	i.Mean = missing(n, "the samples span no time")
	if length > 0 {
		i.Mean = measured(area/length, n)
	}
}
