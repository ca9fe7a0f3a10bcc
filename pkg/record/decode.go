package record

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
)

// openStream reads the schema of an Arrow IPC stream and prepares to read its rows.
func (r *Reader[T]) openStream(from io.Reader) error {
	stream, err := ipc.NewReaderFromMessageReader(messages{from}, ipc.WithAllocator(&bounded{}))
	if err != nil {
		return err
	}
	s := schemaOf[T]()
	r.meta = stream.Schema().Metadata().ToMap()
	tag, ok := r.meta[SchemaKey]
	if err := s.checkTag(tag, ok); err != nil {
		return err
	}
	positions, err := s.positions(stream.Schema())
	if err != nil {
		return err
	}
	r.next = func() ([]T, error) {
		batch, err := stream.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil && !errors.Is(err, ErrTruncated):
			return nil, fmt.Errorf("%w: %v", ErrTruncated, err) // Arrow could not make sense of a batch
		case err != nil:
			return nil, err
		}
		return decode[T](r.schema, positions, batch)
	}
	return nil
}

// positions returns where in found the column of each field is. Columns that s does not
// know are no error: a newer writer may have them.
func (s *schema) positions(found *arrow.Schema) ([]int, error) {
	out := make([]int, len(s.columns))
	for _, c := range s.columns {
		at := found.FieldIndices(c.name)
		if len(at) != 1 {
			return nil, fmt.Errorf("found %d columns named %s, expected one of type %s (schema %s)", len(at), c.name, c.arrow, s.tag())
		}
		if t := found.Field(at[0]).Type; !sameType(t, c.arrow) {
			return nil, fmt.Errorf("column %s: found type %s, expected %s (schema %s)", c.name, t, c.arrow, s.tag())
		}
		out[c.field] = at[0]
	}
	return out, nil
}

// sameType lets the elements of a list have any name and be nullable by type, as
// they are from most writers.
func sameType(found, want arrow.DataType) bool {
	f, ok := found.(*arrow.ListType)
	w, ok2 := want.(*arrow.ListType)
	if ok && ok2 {
		return arrow.TypeEqual(f.Elem(), w.Elem())
	}
	return arrow.TypeEqual(found, want)
}

// decode makes the rows of a batch. Arrow does not check what it read, so a damaged
// batch shows as a panic of an index.
func decode[T Row](s *schema, positions []int, batch arrow.Record) (rows []T, err error) {
	defer func() {
		if p := recover(); p != nil {
			rows, err = nil, fmt.Errorf("%w: damaged batch: %v", ErrTruncated, p)
		}
	}()
	rows = make([]T, batch.NumRows())
	for _, c := range s.columns {
		column := batch.Column(positions[c.field])
		if err := checkNulls(c, column); err != nil {
			return nil, err
		}
		if column.Len() != len(rows) {
			return nil, fmt.Errorf("%w: damaged batch: column %s: found %d values for %d rows", ErrTruncated, c.name, column.Len(), len(rows))
		}
		c.read(column, fieldsOf(rows, c.offset), c.few)
	}
	return rows, nil
}

func checkNulls(c column, found arrow.Array) error {
	nulls := found.NullN()
	if c.nullable {
		nulls = 0
	}
	if list, ok := found.(*array.List); ok {
		nulls += list.ListValues().NullN()
	}
	if nulls > 0 {
		return fmt.Errorf("column %s: found %d nulls, expected none", c.name, nulls)
	}
	return nil
}
