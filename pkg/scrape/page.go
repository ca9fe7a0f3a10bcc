package scrape

import (
	"math"
	"slices"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"

	"bgbench/pkg/record"
)

// Page turns the metric families of one source, a /metrics page, into rows. It
// remembers the series it has seen, which makes the next round many times cheaper.
// It is not safe for concurrent use.
type Page struct {
	source string
	base   record.Sample
	seen   map[string]*series
	key    []byte  // scratch
	points []point // scratch
}

// NewPage returns a page of source. Its rows take all other columns from base, so
// far as no label of a series says otherwise.
func NewPage(source string, base record.Sample) *Page {
	base.Source = source
	return &Page{source: source, base: base, seen: make(map[string]*series)}
}

// Append appends the rows of one round, taken at the given instant, to rows. A
// histogram yields _bucket, _sum and _count rows, a summary its quantiles, _sum and
// _count.
//
// An exporter may expose a quantity under its old and its new name. Then only the
// new one has the canonical name, so that no query over canonical counts twice.
func (p *Page) Append(rows []record.Sample, families []*dto.MetricFamily, at time.Time) []record.Sample {
	exposed := make(map[string]bool, len(families))
	for _, f := range families {
		exposed[f.GetName()] = true
	}
	for _, f := range families {
		name := f.GetName()
		canonical := renamed.canonical(name, f.GetType() == dto.MetricType_COUNTER)
		if exposed[canonical] {
			canonical = name
		}
		for _, m := range f.Metric {
			p.points = appendPoints(p.points[:0], f.GetType(), m)
			s := p.series(name, m)
			if !s.fits(f.GetType(), canonical, p.points) {
				s.shape(p, f, m, canonical)
			}
			for i, point := range p.points {
				row := s.rows[i]
				row.At, row.Value = at, point.value
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Up returns the two rows that Prometheus adds to each scrape of a target.
func (p *Page) Up(rows []record.Sample, at time.Time, up bool, took time.Duration) []record.Sample {
	value := 0.0
	if up {
		value = 1
	}
	return p.Append(rows, []*dto.MetricFamily{gauge("up", value), gauge("scrape_duration_seconds", took.Seconds())}, at)
}

func gauge(name string, value float64) *dto.MetricFamily {
	return &dto.MetricFamily{
		Name: &name, Type: dto.MetricType_GAUGE.Enum(),
		Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: &value}}},
	}
}

// series returns what is known of the series of a metric, found by its name and its
// labels in the order in which they were exposed.
func (p *Page) series(name string, m *dto.Metric) *series {
	p.key = append(append(p.key[:0], name...), 0)
	for _, l := range m.Label {
		p.key = append(append(p.key, l.GetName()...), 0)
		p.key = append(append(p.key, l.GetValue()...), 0)
	}
	s := p.seen[string(p.key)]
	if s == nil {
		s = new(series)
		p.seen[string(p.key)] = s
	}
	return s
}

// point is one value of a metric.
type point struct {
	suffix string // of the metric's name
	label  string // le, quantile or empty
	bound  float64
	value  float64
}

func appendPoints(to []point, kind dto.MetricType, m *dto.Metric) []point {
	switch kind {
	case dto.MetricType_COUNTER:
		return append(to, point{value: m.GetCounter().GetValue()})
	case dto.MetricType_GAUGE:
		return append(to, point{value: m.GetGauge().GetValue()})
	case dto.MetricType_SUMMARY:
		s := m.GetSummary()
		for _, q := range s.GetQuantile() {
			to = append(to, point{label: "quantile", bound: q.GetQuantile(), value: q.GetValue()})
		}
		return append(to, point{suffix: "_sum", value: s.GetSampleSum()}, point{suffix: "_count", value: float64(s.GetSampleCount())})
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		return appendHistogram(to, m.GetHistogram())
	default:
		return append(to, point{value: m.GetUntyped().GetValue()})
	}
}

// appendHistogram adds the +Inf bucket where it is missing, as it is in protobuf
// from client_golang.
func appendHistogram(to []point, h *dto.Histogram) []point {
	count := float64(h.GetSampleCount())
	if count == 0 {
		count = h.GetSampleCountFloat()
	}
	begin, infinite := len(to), false
	for _, b := range h.GetBucket() {
		cumulative := float64(b.GetCumulativeCount())
		if cumulative == 0 {
			cumulative = b.GetCumulativeCountFloat()
		}
		to = append(to, point{"_bucket", "le", b.GetUpperBound(), cumulative})
		infinite = math.IsInf(b.GetUpperBound(), 1)
	}
	to = appendNative(to, begin, h)
	if !infinite {
		to = append(to, point{"_bucket", "le", math.Inf(1), count})
	}
	return append(to, point{suffix: "_sum", value: h.GetSampleSum()}, point{suffix: "_count", value: count})
}

// series holds the rows of a metric without time and value.
type series struct {
	kind      dto.MetricType
	canonical string
	points    []point // their values mean nothing
	rows      []record.Sample
}

func (s *series) fits(kind dto.MetricType, canonical string, points []point) bool {
	return s.rows != nil && s.kind == kind && s.canonical == canonical &&
		slices.EqualFunc(s.points, points, func(a, b point) bool { return a.suffix == b.suffix && a.bound == b.bound })
}

// shape makes the rows of a metric.
func (s *series) shape(p *Page, f *dto.MetricFamily, m *dto.Metric, canonical string) {
	*s = series{kind: f.GetType(), canonical: canonical, points: slices.Clone(p.points)}
	for _, point := range p.points {
		labels := make([]label, 0, len(m.Label)+1)
		for _, l := range m.Label {
			labels = append(labels, label{l.GetName(), l.GetValue()})
		}
		if point.label != "" {
			labels = append(labels, label{point.label, formatBound(point.bound)})
		}
		row := p.base
		row.Metric, row.Canonical, row.Type = f.GetName()+point.suffix, canonical+point.suffix, typeName(s.kind)
		fill(&row, labels)
		s.rows = append(s.rows, row)
	}
}

func formatBound(bound float64) string { return strconv.FormatFloat(bound, 'g', -1, 64) }

func typeName(kind dto.MetricType) string {
	switch kind {
	case dto.MetricType_COUNTER:
		return "counter"
	case dto.MetricType_GAUGE:
		return "gauge"
	case dto.MetricType_SUMMARY:
		return "summary"
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		return "histogram"
	}
	return "untyped"
}
