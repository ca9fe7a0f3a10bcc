package record

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Rounds are samples that were taken of all series at once, round after round. They
// keep 8 bytes a sample and never look at what the series are (BenchmarkRounds). The
// zero Rounds are none.
type Rounds struct{ layouts []layout }

// layout is some rounds of the same series.
type layout struct {
	place  map[seriesKey]int // in shapes
	shapes []Sample
	at     []int64     // microseconds, of each round
	blocks [][]float64 // the values of blockRounds rounds each, so that no memory is copied
}

const blockRounds = 128

// Begin says what the series of the next rounds are: samples whose times and values
// mean nothing.
func (r *Rounds) Begin(series []Sample) {
	l := layout{shapes: slices.Clone(series), place: make(map[seriesKey]int, len(series))}
	for i := range series {
		l.shapes[i].At, l.shapes[i].Value = time.Time{}, 0
		l.place[seriesKey{series[i].Metric, series[i].SeriesID}] = i
	}
	r.layouts = append(r.layouts, l)
}

// Add adds a round, which must not lie before another one. take appends a value for
// each series, in their order.
func (r *Rounds) Add(at time.Time, take func(values []float64) []float64) {
	l := &r.layouts[len(r.layouts)-1]
	if len(l.at)%blockRounds == 0 {
		l.blocks = append(l.blocks, make([]float64, 0, blockRounds*len(l.shapes)))
	}
	l.at = append(l.at, at.UnixMicro())
	block := &l.blocks[len(l.blocks)-1]
	before := len(*block)
	*block = take(*block)
	if n := len(*block) - before; n != len(l.shapes) {
		panic(fmt.Sprintf("record: a round has %d values for %d series", n, len(l.shapes)))
	}
}

// WriteParquet writes the samples as a Parquet file, sorted by metric, series and time.
func (r *Rounds) WriteParquet(w io.Writer) error {
	all := make(map[seriesKey]bool)
	for _, l := range r.layouts {
		for key := range l.place {
			all[key] = true
		}
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b seriesKey) int {
		return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.id, b.id))
	})
	out := newFileWriter(w, sampleSchema)
	var values []float64
	for _, key := range keys {
		for _, l := range r.layouts {
			i, ok := l.place[key]
			if !ok {
				continue
			}
			values = values[:0]
			for _, block := range l.blocks {
				for at := i; at < len(block); at += len(l.shapes) {
					values = append(values, block[at])
				}
			}
			if err := out.addSeries(&l.shapes[l.place[key]], l.at, values); err != nil {
				return err
			}
		}
	}
	return out.close(nil)
}

// addSeries adds the samples of one series.
func (f *fileWriter) addSeries(shape *Sample, at []int64, values []float64) error {
	one := []Sample{*shape}
	for len(at) > 0 {
		n := min(len(at), rowGroupRows-f.inGroup)
		for _, c := range f.columns {
			switch c.name {
			case "at":
				putAll(c, at[:n])
			case "value":
				putAll(c, values[:n])
			default:
				c.put(c, fieldsOf(one, c.offset), n)
			}
		}
		f.inGroup += n
		if f.inGroup >= rowGroupRows {
			f.endGroup()
		}
		at, values = at[n:], values[n:]
	}
	return f.err
}

// putAll puts the values of rows into a column that writes them as they are.
func putAll[V int64 | float64](c *columnWriter, values []V) {
	for len(values) > 0 {
		n := min(len(values), max(1, (pageBytes-len(c.plain)+7)/8))
		c.plain = appendLittleEndian(c.plain, values[:n])
		c.rowsEnd(n)
		values = values[n:]
	}
}
