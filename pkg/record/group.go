package record

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// groupReader reads the rows of a Parquet file, row group by row group, some rows of
// all columns at a time.
type groupReader[T Row] struct {
	schema *schema
	file   *parquet.File
	only   *only
	again  bool // the rows of the last batch, and their memory, may be used again

	groups  []parquet.RowGroup // those that follow the current one
	columns []*pageReader      // of the current one
	ranges  []rowRange         // of the current one, not read

	rows   []T     // of the last batch
	memory []spare // of its columns
}

// rowRange is the rows of a row group from one up to another.
type rowRange struct{ from, to int64 }

// only selects rows by a string column without nulls.
type only struct {
	column string
	wanted func(string) bool
}

// guard turns a panic into an error: parquet-go does not check all of what it read, so
// a damaged file may show as one.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged file: %v", p)
	}
}

// next returns some rows.
func (g *groupReader[T]) next() (rows []T, err error) {
	defer guard(&err)
	for len(g.ranges) == 0 {
		if err := g.closeGroup(); err != nil {
			return nil, err
		}
		if len(g.groups) == 0 {
			return nil, io.EOF
		}
		if err := g.openGroup(); err != nil {
			return nil, err
		}
	}
	of := &g.ranges[0]
	rows = g.batch(of.to - of.from)
	for i, c := range g.schema.columns {
		if err := g.fill(i, c, of.from, rows); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	if of.from += int64(len(rows)); of.from == of.to {
		g.ranges = g.ranges[1:]
	}
	return rows, nil
}

// batch returns at most so many rows of zero values.
func (g *groupReader[T]) batch(most int64) []T {
	if !g.again {
		return make([]T, min(readRows, most))
	}
	n := int(min(reuseRows, most))
	if cap(g.rows) < n {
		g.rows = make([]T, n)
	}
	g.rows = g.rows[:n]
	clear(g.rows)
	return g.rows
}

func (g *groupReader[T]) fill(i int, c column, from int64, rows []T) error {
	r := g.columns[i]
	if r.row != from {
		if err := r.seek(from); err != nil {
			return err
		}
	}
	return c.fill(r, fieldsOf(rows, c.offset))
}

func (g *groupReader[T]) openGroup() error {
	group := g.groups[0]
	g.groups = g.groups[1:]
	g.ranges = []rowRange{{0, group.NumRows()}}
	if g.only != nil {
		var err error
		if g.ranges, err = g.only.in(g.reader(group, g.only.column), group.NumRows()); err != nil {
			return fmt.Errorf("column %s: %w", g.only.column, err)
		}
	}
	if len(g.ranges) == 0 || group.NumRows() == 0 {
		g.ranges = nil
		return nil
	}
	if g.memory == nil {
		g.memory = make([]spare, len(g.schema.columns))
	}
	g.columns = g.columns[:0]
	for i, c := range g.schema.columns {
		r := g.reader(group, c.name)
		if g.again {
			r.spare = &g.memory[i]
		}
		g.columns = append(g.columns, r)
	}
	return nil
}

func (g *groupReader[T]) closeGroup() error {
	var all error
	for _, r := range g.columns {
		all = errors.Join(all, r.close())
	}
	g.columns = g.columns[:0]
	return all
}

// reader reads a column of the schema.
func (g *groupReader[T]) reader(group parquet.RowGroup, name string) *pageReader {
	return newPageReader(g.chunk(group, name), g.leaf(name))
}

func (g *groupReader[T]) chunk(group parquet.RowGroup, name string) parquet.ColumnChunk {
	return group.ColumnChunks()[g.leaf(name).ColumnIndex]
}

// leaf is a column of the schema, which checkParquet has found in the file.
func (g *groupReader[T]) leaf(name string) parquet.LeafColumn {
	for _, path := range g.schema.parquet.Columns() {
		if path[0] == name {
			leaf, _ := g.file.Schema().Lookup(path...)
			return leaf
		}
	}
	panic("record: schema " + g.schema.name + " has no column " + name)
}

// in returns the rows of a group that are wanted. r reads the column.
func (o *only) in(r *pageReader, rows int64) ([]rowRange, error) {
	defer r.close()
	var ranges []rowRange
	wanted, last, known := false, "", false
	for row := int64(0); row < rows; {
		n, err := r.some(int(rows - row))
		if err != nil {
			return nil, err
		}
		text := words(r)
		for end := row + int64(n); row < end; {
			place, run := r.takeRun(int(end - row))
			if word := text(place); !known || word != last {
				wanted, last, known = o.wanted(word), word, true
			}
			if at := len(ranges) - 1; wanted && at >= 0 && ranges[at].to == row {
				ranges[at].to += int64(run)
			} else if wanted {
				ranges = append(ranges, rowRange{row, row + int64(run)})
			}
			row += int64(run)
		}
	}
	return ranges, nil
}
