package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// FirstSamples returns when each source of a file of samples was sampled first. It
// reads two columns of a Parquet file and none of its rows.
func FirstSamples(path string) (map[string]time.Time, error) {
	r, err := ReadFile[Sample](path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	firsts := make(map[string]time.Time)
	if r.groups == nil {
		for s, err := range r.All() {
			if err != nil {
				return nil, err
			}
			earlier(firsts, s.Source, s.At)
		}
		return firsts, nil
	}
	for _, group := range r.groups.groups {
		if err := r.groups.firsts(group, firsts); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return firsts, nil
}

func earlier(firsts map[string]time.Time, source string, at time.Time) {
	if first, ok := firsts[source]; !ok || at.Before(first) {
		firsts[source] = at
	}
}

// firsts reads the times of a page only where they may be earlier than those that are known
// of its sources, by its lowest time in the index. Each source is asked for all its metrics
// at once and rows are sorted by metric, so that it is mostly the first page alone.
func (g *groupReader[T]) firsts(group parquet.RowGroup, firsts map[string]time.Time) (err error) {
	defer guard(&err)
	sources, instants := g.reader(group, "source"), g.reader(group, "at")
	defer func() { err = errors.Join(err, sources.close(), instants.close()) }()
	for _, page := range g.lowest(group, "at") {
		runs, err := sources.runs(int(page.to - page.from))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(runs, func(r textRun) bool {
			first, ok := firsts[r.text]
			return !ok || page.low < first.UnixMicro()
		}) {
			continue
		}
		if err := instants.seek(page.from); err != nil {
			return err
		}
		for _, r := range runs {
			first, err := instants.least(r.n)
			if err != nil {
				return err
			}
			earlier(firsts, r.text, time.UnixMicro(first).UTC())
		}
		instants.row = page.to
	}
	return nil
}

// lowRange is rows of which no number is below low.
type lowRange struct {
	rowRange
	low int64
}

// lowest lists the pages of a column of numbers; a file without an index is one range of
// which nothing is known.
func (g *groupReader[T]) lowest(group parquet.RowGroup, column string) []lowRange {
	rows := group.NumRows()
	chunk := g.chunk(group, column)
	values, err := chunk.ColumnIndex()
	places, noPlaces := chunk.OffsetIndex()
	if err != nil || noPlaces != nil {
		return []lowRange{{rowRange{0, rows}, math.MinInt64}}
	}
	out := make([]lowRange, places.NumPages())
	for i := range out {
		out[i] = lowRange{rowRange{places.FirstRowIndex(i), rows}, values.MinValue(i).Int64()}
		if i > 0 {
			out[i-1].to = out[i].from
		}
	}
	return out
}

// textRun is a text that stands in so many rows.
type textRun struct {
	text string
	n    int
}

// runs reads the texts of the next n rows.
func (r *pageReader) runs(n int) ([]textRun, error) {
	var out []textRun
	for n > 0 {
		some, err := r.some(n)
		if err != nil {
			return nil, err
		}
		text := words(r)
		for n -= some; some > 0; {
			place, run := r.takeRun(some)
			out = append(out, textRun{text(place), run})
			some -= run
		}
	}
	return out, nil
}

// least reads the next n numbers and returns the lowest.
func (r *pageReader) least(n int) (int64, error) {
	low := int64(math.MaxInt64)
	for n > 0 {
		some, err := r.some(n)
		if err != nil {
			return 0, err
		}
		number := fixed((*encoding.Values).Int64)(r)
		for range some {
			low = min(low, number(r.take()))
		}
		n -= some
	}
	return low, nil
}
