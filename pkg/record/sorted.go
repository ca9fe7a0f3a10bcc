package record

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"
)

// sorted yields samples by metric, series and time, which lets zstd and the
// statistics of a row group do their work, and other rows as they come. What memory
// should not hold waits in a file in dir.
func sorted[T Row](dir string, batches iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	samples, ok := any(batches).(iter.Seq2[[]Sample, error])
	if !ok {
		return batches
	}
	return any(sortSamples(dir, spillPoints, samples)).(iter.Seq2[[]T, error])
}

// SampleSet collects samples and gives them back sorted by metric, series and time.
// It keeps 24 bytes a sample: what the samples of a series have in common is kept
// once. The zero SampleSet is empty.
type SampleSet struct {
	series map[seriesKey]*series
	last   *series // that Add added to
}

type seriesKey struct {
	metric string
	id     int64
}

// Add adds samples. What their fields point to must not change afterwards.
func (set *SampleSet) Add(rows ...Sample) {
	for i := range rows {
		s := set.of(seriesKey{rows[i].Metric, rows[i].SeriesID})
		s.add(&rows[i])
		set.last = s
	}
}

// of returns the series of key. Samples come round after round in the same order or
// series after series, so it looks first where the last one leads
// (BenchmarkSampleSet).
func (set *SampleSet) of(key seriesKey) *series {
	last := set.last
	if last != nil {
		if last.key == key {
			return last
		}
		if next := last.next; next != nil && next.key == key {
			return next
		}
	}
	s := set.series[key]
	if s == nil {
		if set.series == nil {
			set.series = make(map[seriesKey]*series)
		}
		s = &series{key: key}
		set.series[key] = s
	}
	if last != nil {
		last.next = s
	}
	return s
}

// batches yields the samples in order, without an error. The rows are good until the
// next ones are asked for.
func (set *SampleSet) batches() iter.Seq2[[]Sample, error] {
	return func(yield func([]Sample, error) bool) {
		keys := set.keys()
		var buffer []Sample // new ones for each series took longer than all the rest (BenchmarkSampleSet)
		for _, key := range keys {
			for rows := range set.series[key].batches(&buffer) {
				if !yield(rows, nil) {
					return
				}
			}
		}
	}
}

// keys returns the series in order.
func (set *SampleSet) keys() []seriesKey {
	return slices.SortedFunc(maps.Keys(set.series), func(a, b seriesKey) int {
		return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.id, b.id))
	})
}

// series is the samples of one series.
type series struct {
	key  seriesKey
	next *series // the one that got a sample after this one the last time
	// shapes are the samples without time and value. There is one, unless an
	// exporter changed its mind about a type.
	shapes []Sample
	points []point
}

type point struct {
	at    int64 // microseconds
	value float64
	shape int
}

func (s *series) add(row *Sample) {
	p := point{at: row.At.UnixMicro(), value: row.Value}
	shape := *row
	shape.At, shape.Value = time.Time{}, 0
	p.shape = slices.IndexFunc(s.shapes, func(known Sample) bool { return known == shape || sameShape(known, shape) })
	if p.shape < 0 {
		p.shape = len(s.shapes)
		s.shapes = append(s.shapes, shape)
	} else {
		// The next sample likely points to the strings of this one, which makes the
		// comparison short.
		s.shapes[p.shape] = shape
	}
	s.points = append(s.points, p)
}

func (s *series) batches(buffer *[]Sample) iter.Seq[[]Sample] {
	s.sort()
	return func(yield func([]Sample) bool) {
		for points := range slices.Chunk(s.points, batchRows) {
			rows := slices.Grow((*buffer)[:0], len(points))[:len(points)]
			*buffer = rows
			for i, p := range points {
				rows[i] = s.shapes[p.shape]
				rows[i].At, rows[i].Value = time.UnixMicro(p.at).UTC(), p.value
			}
			if !yield(rows) {
				return
			}
		}
	}
}

// sameShape compares what pointers point to.
func sameShape(a, b Sample) bool {
	pa, pb := a.promoted(), b.promoted()
	for i := range pa {
		if !sameText(*pa[i], *pb[i]) {
			return false
		}
		*pa[i], *pb[i] = nil, nil
	}
	return a == b
}

func sameText(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// promoted returns the label columns.
func (s *Sample) promoted() [8]**string {
	return [...]**string{&s.Pod, &s.Instance, &s.Job, &s.ModelName, &s.Endpoint, &s.Priority, &s.LE, &s.Engine}
}
