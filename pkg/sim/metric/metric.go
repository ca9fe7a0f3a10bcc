package metric

import (
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Counter only grows.
type Counter struct{ value float64 }

// Add adds v, which must not be negative.
func (c *Counter) Add(v float64) { c.value += v }

// Value returns the count so far.
func (c *Counter) Value() float64 { return c.value }

// Gauge goes up and down.
type Gauge struct{ value float64 }

// Set sets the gauge to v.
func (g *Gauge) Set(v float64) { g.value = v }

// Add adds v, which may be negative.
func (g *Gauge) Add(v float64) { g.value += v }

// Value returns the gauge.
func (g *Gauge) Value() float64 { return g.value }

// Histogram counts observations in buckets with inclusive upper bounds.
type Histogram struct {
	bounds []float64
	counts []uint64 // not cumulative; the last is +Inf
	sum    float64
	count  uint64

	limits []time.Duration // bounds, for ObserveGaps
	gaps   time.Duration   // sum of what it has observed
}

// Observe adds one observation.
func (h *Histogram) Observe(v float64) { h.ObserveN(v, 1) }

// ObserveN adds n observations of the same value.
func (h *Histogram) ObserveN(v float64, n int) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i] += uint64(n)
	h.count += uint64(n)
	h.sum += v * float64(n)
}

// Label is one name and value. Labels are exposed in the order given.
type Label struct{ Name, Value string }

// Registry is the metrics of one component, one /metrics page.
type Registry struct {
	families []*family // sorted by name
	changes  int
	before   []func() // each reading
}

// BeforeReading has fn called whenever someone is about to read the metrics, so that it
// can bring them up to date.
func (r *Registry) BeforeReading(fn func()) { r.before = append(r.before, fn) }

func (r *Registry) refresh() {
	for _, fn := range r.before {
		fn()
	}
}

type family struct {
	name, help string
	kind       dto.MetricType
	series     []*series
}

type series struct {
	labels []Label
	key    string
	metric any // *Counter, *Gauge, *Histogram or func() float64
}

// Reset forgets all metrics, as a restart of the component does.
func (r *Registry) Reset() {
	r.families = nil
	r.changes++
}

// Changes counts how often the set of series has changed.
func (r *Registry) Changes() int {
	r.refresh()
	return r.changes
}

// Counter returns the counter with this name and these labels, made at the first
// call. Asking for one name as two kinds panics.
func (r *Registry) Counter(name, help string, labels ...Label) *Counter {
	return lookup(r, name, help, dto.MetricType_COUNTER, labels, func() *Counter { return new(Counter) })
}

// Gauge is Counter for a gauge.
func (r *Registry) Gauge(name, help string, labels ...Label) *Gauge {
	return lookup(r, name, help, dto.MetricType_GAUGE, labels, func() *Gauge { return new(Gauge) })
}

// GaugeFunc registers a gauge whose value is asked for at each Gather.
func (r *Registry) GaugeFunc(name, help string, value func() float64, labels ...Label) {
	lookup(r, name, help, dto.MetricType_GAUGE, labels, func() func() float64 { return value })
}

// Histogram is Counter for a histogram with these bucket bounds, +Inf left out.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...Label) *Histogram {
	return lookup(r, name, help, dto.MetricType_HISTOGRAM, labels, func() *Histogram {
		return &Histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
	})
}

func lookup[M any](r *Registry, name, help string, kind dto.MetricType, labels []Label, make func() M) M {
	f := r.family(name, help, kind)
	key := labelKey(labels)
	for _, s := range f.series {
		if s.key == key {
			return s.metric.(M)
		}
	}
	m := make()
	r.changes++
	f.series = append(f.series, &series{labels, key, m})
	slices.SortFunc(f.series, func(a, b *series) int { return strings.Compare(a.key, b.key) })
	return m
}

func (r *Registry) family(name, help string, kind dto.MetricType) *family {
	i, found := slices.BinarySearchFunc(r.families, name, func(f *family, name string) int {
		return strings.Compare(f.name, name)
	})
	if found {
		if r.families[i].kind != kind {
			panic("metric: " + name + " is registered as another kind")
		}
		return r.families[i]
	}
	f := &family{name: name, help: help, kind: kind}
	r.families = slices.Insert(r.families, i, f)
	return f
}

func labelKey(labels []Label) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(l.Name)
		b.WriteByte(0)
		b.WriteString(l.Value)
		b.WriteByte(0)
	}
	return b.String()
}

// Gather returns a copy of everything, sorted by name and labels.
func (r *Registry) Gather() []*dto.MetricFamily {
	r.refresh()
	out := make([]*dto.MetricFamily, len(r.families))
	for i, f := range r.families {
		mf := &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: f.kind.Enum()}
		for _, s := range f.series {
			mf.Metric = append(mf.Metric, s.gather())
		}
		out[i] = mf
	}
	return out
}

// AppendValues appends the values that Gather would give, in its order: of a histogram
// its buckets, the one of +Inf included, its sum and its count. Whoever asks every
// second what the series are has to build a thousand times as much.
func (r *Registry) AppendValues(dst []float64) []float64 {
	r.refresh()
	for _, f := range r.families {
		for _, s := range f.series {
			switch v := s.metric.(type) {
			case *Counter:
				dst = append(dst, v.value)
			case *Gauge:
				dst = append(dst, v.value)
			case func() float64:
				dst = append(dst, v())
			case *Histogram:
				dst = v.appendValues(dst)
			}
		}
	}
	return dst
}

func (h *Histogram) appendValues(dst []float64) []float64 {
	var cumulative uint64
	for _, n := range h.counts {
		cumulative += n
		dst = append(dst, float64(cumulative))
	}
	return append(dst, h.total(), float64(h.count))
}

func (s *series) gather() *dto.Metric {
	m := &dto.Metric{Label: make([]*dto.LabelPair, len(s.labels))}
	for i := range s.labels {
		m.Label[i] = &dto.LabelPair{Name: &s.labels[i].Name, Value: &s.labels[i].Value}
	}
	switch v := s.metric.(type) {
	case *Counter:
		m.Counter = &dto.Counter{Value: ptr(v.value)}
	case *Gauge:
		m.Gauge = &dto.Gauge{Value: ptr(v.value)}
	case func() float64:
		m.Gauge = &dto.Gauge{Value: ptr(v())}
	case *Histogram:
		m.Histogram = v.gather()
	}
	return m
}

func (h *Histogram) gather() *dto.Histogram {
	out := &dto.Histogram{SampleCount: ptr(h.count), SampleSum: ptr(h.total())}
	var cumulative uint64
	for i, n := range h.counts {
		cumulative += n
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		out.Bucket = append(out.Bucket, &dto.Bucket{CumulativeCount: ptr(cumulative), UpperBound: ptr(bound)})
	}
	return out
}

func ptr[T any](v T) *T { return &v }
