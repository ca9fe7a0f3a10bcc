package report

import (
	"fmt"
	"maps"
	"slices"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
)

// intervals lays the ways to bound a number over trials beside each other.
func intervals(s study) (section, error) {
	one := section{ID: "intervals", Title: "What the trials bound", Nav: "Intervals",
		Lead: "Each way to bound the same number over trials, and why one is missing. The interval on logarithms is what the page goes by; the others take less for granted and need more trials."}
	for _, metric := range []string{analysis.MetricTTFT, analysis.MetricITL} {
		for _, stat := range []string{analysis.StatP95, analysis.StatP50, analysis.StatP99} {
			key := analysis.MetricKey(s.Burst, record.ClassInteractive, metric, stat)
			t := table{Texts: 1, Heads: []string{"Arm", "n", "Median", "Geometric mean", "95\u00a0%, t on logs", "Median, exact", "Bootstrap of trials and rows"}}
			for _, a := range s.Arms {
				e, ok := a.estimated(key)
				if !ok {
					continue
				}
				boot := entry{Text: dash, Title: "for TTFT alone"}
				if b := e.Bootstrap; b != nil {
					boot = bounded(b.Low, b.High, e.Unit, b.Reason)
				}
				exact := bounded(e.MedianLow, e.MedianHigh, e.Unit, "an exact interval of the median needs 6 trials")
				if e.MedianCoverage != nil {
					exact.Title = "covers " + quantity(*e.MedianCoverage, "ratio")
				}
				t.Rows = append(t.Rows, armRow(a.Tag, word(fmt.Sprint(e.TrialsUse)), word(median(e)), numberOr(e.GeoMean, e.Unit, e.Reason),
					bounded(e.Low, e.High, e.Unit, e.Reason), exact, boot))
			}
			if t.Rows == nil {
				continue
			}
			if name := metricName(key); len(one.Tables) == 0 {
				t.Title = name
			} else {
				t.Folded = name
			}
			one.Tables = append(one.Tables, t)
		}
	}
	if t := s.meanIntervals(); t.Rows != nil {
		one.Tables = append(one.Tables, t)
	}
	if one.Tables != nil {
		one.Note = "A dash has its reason as a tooltip."
	}
	return one, nil
}

// bounded writes an interval or a dash with the reason.
func bounded(low, high *float64, unit, reason string) entry {
	if low == nil || high == nil {
		return entry{Text: dash, Title: prose(reason)}
	}
	return word(span(*low, *high, unit))
}

// meanIntervals are those of arithmetic means, of metrics that may be zero.
func (s study) meanIntervals() table {
	t := table{Texts: 2, Folded: "Means of what may be zero", Heads: []string{"Arm", "Metric", "n", "Mean", "95\u00a0% interval", "Method"}}
	for _, a := range s.Arms {
		for _, key := range slices.Sorted(maps.Keys(a.Metrics)) {
			if e := a.Metrics[key]; e.Mean != nil && e.MeanLow != nil && e.MeanHigh != nil {
				t.Rows = append(t.Rows, armRow(a.Tag, word(metricName(key)), word(fmt.Sprint(e.TrialsUse)), word(quantity(*e.Mean, e.Unit)),
					word(span(*e.MeanLow, *e.MeanHigh, e.Unit)), word(label(e.MeanMethod))))
			}
		}
	}
	return t
}
