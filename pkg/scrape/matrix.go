package scrape

import (
	"cmp"
	"math"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"bgbench/pkg/record"
)

// rows makes rows of raw samples, of those from the given instant on.
func (r *ranger) rows(matrix model.Matrix, from model.Time) []record.Sample {
	type exposure struct{ source, family string }
	exposed := make(map[exposure]bool)
	for _, stream := range matrix {
		family, _ := r.split(string(stream.Metric[model.MetricNameLabel]))
		exposed[exposure{r.source(stream.Metric), family}] = true
	}
	var out []record.Sample
	for _, stream := range matrix {
		name := string(stream.Metric[model.MetricNameLabel])
		family, suffix := r.split(name)
		row := r.Base
		row.Source, row.Metric, row.Type = r.source(stream.Metric), name, r.kind(name)
		if row.Canonical = renamed.canonical(family, row.Type == "counter"); exposed[exposure{row.Source, row.Canonical}] {
			row.Canonical = family
		}
		row.Canonical += suffix
		labels := labelsOf(stream.Metric)
		if len(stream.Values) > 0 {
			fill(&row, labels)
		}
		for _, pair := range stream.Values {
			if pair.Timestamp >= from {
				row.At, row.Value = pair.Timestamp.Time().UTC(), float64(pair.Value)
				out = append(out, row)
			}
		}
		for _, pair := range stream.Histograms {
			if pair.Timestamp >= from {
				out = appendSampleHistogram(out, row, labels, pair.Timestamp.Time().UTC(), pair.Histogram)
			}
		}
	}
	return out
}

// derivedRows makes rows of the values of an expression.
func (r *ranger) derivedRows(name string, matrix model.Matrix) []record.Sample {
	var out []record.Sample
	for _, stream := range matrix {
		row := r.Base
		row.Source, row.Metric, row.Canonical, row.Type = r.source(stream.Metric), name, name, "derived"
		fill(&row, labelsOf(stream.Metric))
		for _, pair := range stream.Values {
			row.At, row.Value = pair.Timestamp.Time().UTC(), float64(pair.Value)
			out = append(out, row)
		}
	}
	return out
}

// appendSampleHistogram appends the rows of a native histogram, which are those that a
// scrape of it yields.
func appendSampleHistogram(rows []record.Sample, row record.Sample, labels []label, at time.Time, h *model.SampleHistogram) []record.Sample {
	row.At, row.Type = at, "histogram"
	metric, canonical := row.Metric, row.Canonical
	add := func(suffix string, labels []label, value float64) {
		row.Metric, row.Canonical, row.Value = metric+suffix, canonical+suffix, value
		row.LE = nil
		fill(&row, labels)
		rows = append(rows, row)
	}
	total := 0.0
	for _, b := range h.Buckets {
		total += float64(b.Count)
		if !math.IsInf(float64(b.Upper), 1) {
			add("_bucket", append(labels[:len(labels):len(labels)], label{"le", formatBound(roundBound(float64(b.Upper)))}), total)
		}
	}
	add("_bucket", append(labels[:len(labels):len(labels)], label{"le", "+Inf"}), float64(h.Count))
	add("_sum", labels, float64(h.Sum))
	add("_count", labels, float64(h.Count))
	return rows
}

func labelsOf(metric model.Metric) []label {
	labels := make([]label, 0, len(metric))
	for name, value := range metric {
		if name != model.MetricNameLabel {
			labels = append(labels, label{string(name), string(value)})
		}
	}
	return labels
}

// source is the component that a series belongs to: the one of the stack at its
// instance, else its pod, else its instance, else the server.
func (r *ranger) source(metric model.Metric) string {
	instance := string(metric[model.InstanceLabel])
	return cmp.Or(r.Sources[instance], string(metric["pod"]), instance, string(metric[model.JobLabel]), "prometheus")
}

// split returns the family of a series and what its name has beside that.
func (r *ranger) split(name string) (family, suffix string) {
	if family, suffix := splitEnding(name); suffix != "" {
		switch r.kinds[family] {
		case promv1.MetricTypeHistogram, promv1.MetricTypeGaugeHistogram, promv1.MetricTypeSummary:
			return family, suffix
		}
	}
	return splitUntyped(name)
}

// kind returns the type of a series by what the server knows of its family, else by
// its name.
func (r *ranger) kind(name string) string {
	family, _ := r.split(name)
	kind, ok := r.kinds[family]
	if !ok { // a counter of OpenMetrics is known without its ending
		kind, ok = r.kinds[strings.TrimSuffix(family, "_total")]
	}
	switch {
	case ok && kind != "" && kind != promv1.MetricTypeUnknown:
		return rowType(string(kind), name)
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_bucket"):
		return "histogram"
	}
	return "untyped"
}
