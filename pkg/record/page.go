package record

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// pageReader reads one column of a row group of a Parquet file. The rows of
// parquet-go come value by value through reflection, which takes ten times as long
// (BenchmarkReadRequests, BenchmarkReadSamples).
type pageReader struct {
	pages parquet.Pages
	there byte // the definition level of a value that is there
	row   int64

	page   parquet.Page    // the current one, nil before the first
	data   encoding.Values // of the values that are there
	levels []byte          // definition levels; none where every value is there
	starts []byte          // repetition levels, 0 where a row begins; lists only
	size   int             // levels in the page
	level  int             // of them read
	value  int             // values read
	places []int32         // of the values in the dictionary; nil where there is none

	dictionary parquet.Dictionary
	known      []string // of dictionary
	texts      []string // of the page where it has none

	spare *spare // nil where every batch has memory of its own
}

// spare is memory for what the fields of a column point to, a slice of it. A batch uses
// that of the one before it.
type spare struct{ slice any }

// room returns an empty slice for so many values, which the caller gives to keep when it
// has grown.
func room[V any](r *pageReader, n int) []V {
	if r.spare == nil {
		return make([]V, 0, n)
	}
	old, _ := r.spare.slice.([]V)
	if cap(old) < n {
		old = make([]V, 0, n)
		r.spare.slice = old
	}
	return old[:0]
}

func keep[V any](r *pageReader, grown []V) {
	if r.spare != nil {
		r.spare.slice = grown
	}
}

func newPageReader(chunk parquet.ColumnChunk, leaf parquet.LeafColumn) *pageReader {
	return &pageReader{pages: chunk.Pages(), there: byte(leaf.MaxDefinitionLevel)}
}

func (r *pageReader) close() error {
	parquet.Release(r.page)
	return r.pages.Close()
}

// next reads the next page that is not empty.
func (r *pageReader) next() error {
	parquet.Release(r.page)
	r.page = nil
	for {
		page, err := r.pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF // the caller knows that there are more rows
		}
		if err != nil {
			return err
		}
		if page.NumValues() == 0 {
			parquet.Release(page)
			continue
		}
		r.page, r.data = page, page.Data()
		r.levels, r.starts = page.DefinitionLevels(), page.RepetitionLevels()
		r.size, r.level, r.value = int(page.NumValues()), 0, 0
		r.places, r.texts = nil, nil
		if page.Dictionary() != nil {
			r.places = r.data.Int32()
		}
		return nil
	}
}

// seek goes to a row, which must not lie before the current one. The columns that
// it is used on are flat and not boolean.
func (r *pageReader) seek(row int64) error {
	skip := int(row - r.row)
	r.row = row
	if r.page == nil || skip > r.size-r.level {
		parquet.Release(r.page)
		r.page, r.size, r.level = nil, 0, 0
		return r.pages.SeekToRow(row)
	}
	r.value += r.present(skip)
	r.level += skip
	return nil
}

// present counts the values that are there among the next n levels.
func (r *pageReader) present(n int) int {
	if len(r.levels) == 0 {
		return n
	}
	return bytes.Count(r.levels[r.level:r.level+n], []byte{r.there})
}

// some returns how many of n levels the current page has, at least one.
func (r *pageReader) some(n int) (int, error) {
	if r.level == r.size {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	return min(n, r.size-r.level), nil
}

// take moves over one level and returns the place of its value, -1 where it is null.
func (r *pageReader) take() int {
	r.level++
	if len(r.levels) > 0 && r.levels[r.level-1] != r.there {
		return -1
	}
	r.value++
	return r.value - 1
}

// takeRun is take for as many of the next n levels as are found to be alike at once.
func (r *pageReader) takeRun(n int) (place, run int) {
	null := len(r.levels) > 0 && r.levels[r.level] != r.there
	if r.places == nil && !null {
		return r.take(), 1
	}
	if len(r.levels) > 0 {
		n = alike(r.levels[r.level : r.level+n])
	}
	if !null {
		n = alike(r.places[r.value : r.value+n])
		r.value += n
	}
	r.level += n
	if null {
		return -1, n
	}
	return r.value - n, n
}

// alike is how many values at the beginning are equal.
func alike[V comparable](values []V) int {
	for i, v := range values {
		if v != values[0] {
			return i
		}
	}
	return len(values)
}

// values returns what the place of a value in the current page stands for.
type values[V any] func(r *pageReader) func(place int) V

func fixed[V any](slice func(*encoding.Values) []V) values[V] {
	return func(r *pageReader) func(int) V {
		if r.page.Dictionary() == nil {
			data := slice(&r.data)
			return func(i int) V { return data[i] }
		}
		all := r.page.Dictionary().Page().Data()
		data, places := slice(&all), r.data.Int32()
		return func(i int) V { return data[places[i]] }
	}
}

func booleans(r *pageReader) func(int) bool {
	bits := r.data.Boolean()
	return func(i int) bool { return bits[i/8]>>(i%8)&1 != 0 }
}

// words makes one string of equal ones in a dictionary, and one piece of memory for
// those of a page without.
func words(r *pageReader) func(int) string {
	d := r.page.Dictionary()
	if d == nil {
		if r.texts == nil {
			r.texts = wordsOf(r.data)
		}
		return func(i int) string { return r.texts[i] }
	}
	if d != r.dictionary {
		r.dictionary, r.known = d, wordsOf(d.Page().Data())
	}
	places := r.data.Int32()
	return func(i int) string { return r.known[places[i]] }
}

func wordsOf(v encoding.Values) []string {
	data, ends := v.ByteArray()
	if len(ends) == 0 {
		return nil
	}
	first := ends[0]
	text := string(data[first:ends[len(ends)-1]])
	words := make([]string, len(ends)-1)
	for i := range words {
		words[i] = text[ends[i]-first : ends[i+1]-first]
	}
	return words
}

func instants(r *pageReader) func(int) time.Time {
	micros := fixed((*encoding.Values).Int64)(r)
	return func(i int) time.Time { return time.UnixMicro(micros(i)).UTC() }
}

// filler fills a field of each of some rows with the next values of a column.
type filler func(r *pageReader, to fields) error

func fillValues[V any](of values[V]) filler {
	return func(r *pageReader, to fields) error {
		r.row += int64(to.n)
		for i := 0; i < to.n; {
			n, err := r.some(to.n - i)
			if err != nil {
				return err
			}
			value := of(r)
			for end := i + n; i < end; {
				place, run := r.takeRun(end - i)
				if place >= 0 {
					for v := value(place); run > 0; run-- {
						*at[V](to, i) = v
						i++
					}
				}
				i += run
			}
		}
		return nil
	}
}

// fillPointers makes the values of a column in one piece.
func fillPointers[V any](of values[V]) filler {
	return func(r *pageReader, to fields) error {
		r.row += int64(to.n)
		made := room[V](r, to.n)
		for i := 0; i < to.n; {
			n, err := r.some(to.n - i)
			if err != nil {
				return err
			}
			value := of(r)
			for end := i + n; i < end; {
				place, run := r.takeRun(end - i)
				if place >= 0 {
					made = append(made, value(place))
					for v := &made[len(made)-1]; run > 0; run-- {
						*at[*V](to, i) = v
						i++
					}
				}
				i += run
			}
		}
		return nil
	}
}

// fillLists cuts the lists out of one piece of memory. An empty list is nil.
func fillLists[V any](slice func(*encoding.Values) []V) filler {
	return func(r *pageReader, to fields) error {
		r.row += int64(to.n)
		var all []V
		if r.spare != nil {
			all = room[V](r, likelyElements*to.n)
		}
		ends := make([]int, 0, to.n)
		for row := 0; ; {
			if r.level == r.size {
				err := r.next()
				if row == to.n && errors.Is(err, io.ErrUnexpectedEOF) {
					break // that was the last page
				}
				if err != nil {
					return err
				}
			}
			// The row that ended a page may go on in the next one in files of other writers.
			if r.starts[r.level] == 0 {
				if row == to.n {
					break
				}
				row++
				ends = append(ends, len(all))
			} else if row == 0 {
				return errors.New("a page begins in the middle of a row")
			}
			if all == nil {
				all = make([]V, 0, min(r.size-r.level, likelyElements*to.n))
			}
			n := r.restOfRow()
			there := r.present(n)
			if len(all)+there > cap(all) {
				// Growing by a quarter, as append does, copied each list four times.
				all = slices.Grow(all, max(there, cap(all)))
			}
			if r.page.Dictionary() == nil {
				all = append(all, slice(&r.data)[r.value:r.value+there]...)
			} else {
				element := fixed(slice)(r)
				for i := range there {
					all = append(all, element(r.value+i))
				}
			}
			r.level, r.value = r.level+n, r.value+there
			ends[row-1] = len(all)
		}
		keep(r, all)
		start := 0
		for i, end := range ends {
			if start < end {
				*at[[]V](to, i) = all[start:end:end]
			}
			start = end
		}
		return nil
	}
}

// likelyElements is how many elements a list has that is not among the longest.
const likelyElements = 256

// restOfRow is the number of levels in the page up to the next row.
func (r *pageReader) restOfRow() int {
	if n := bytes.IndexByte(r.starts[r.level+1:r.size], 0); n >= 0 {
		return n + 1
	}
	return r.size - r.level
}
