package record

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"
)

// sorted yields the samples by metric, series and time, which lets zstd and the
// statistics of a row group do their work. It keeps 24 bytes a sample: what the
// samples of a series have in common is kept once.
func sorted(batches iter.Seq2[[]Sample, error]) iter.Seq2[[]Sample, error] {
	return func(yield func([]Sample, error) bool) {
		all := make(map[seriesKey]*series)
		for rows, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range rows {
				key := seriesKey{row.Metric, row.SeriesID}
				s := all[key]
				if s == nil {
					s = new(series)
					all[key] = s
				}
				s.add(row)
			}
		}
		keys := slices.SortedFunc(maps.Keys(all), func(a, b seriesKey) int {
			return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.id, b.id))
		})
		for _, key := range keys {
			for rows := range all[key].batches() {
				if !yield(rows, nil) {
					return
				}
			}
		}
	}
}

type seriesKey struct {
	metric string
	id     int64
}

// series is the samples of one series.
type series struct {
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

func (s *series) add(row Sample) {
	p := point{at: row.At.UnixMicro(), value: row.Value}
	row.At, row.Value = time.Time{}, 0
	p.shape = slices.IndexFunc(s.shapes, func(shape Sample) bool { return sameShape(shape, row) })
	if p.shape < 0 {
		p.shape = len(s.shapes)
		s.shapes = append(s.shapes, row)
	}
	s.points = append(s.points, p)
}

func (s *series) batches() iter.Seq[[]Sample] {
	slices.SortStableFunc(s.points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	return func(yield func([]Sample) bool) {
		for points := range slices.Chunk(s.points, batchRows) {
			rows := make([]Sample, len(points))
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
