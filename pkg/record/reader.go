package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// Reader reads the rows of a file or a stream.
type Reader[T Row] struct {
	name   string // of the file, for errors
	meta   map[string]string
	schema *schema // with the columns that are read
	// groups are those of a Parquet file, nil for a stream.
	groups *groupReader[T]
	// next returns the next rows, which the caller owns; io.EOF at the end.
	next  func() ([]T, error)
	close func() error
}

// ReadFile opens a Parquet file, an Arrow IPC stream in a file, or the .partial of a
// writer.
func ReadFile[T Row](path string) (*Reader[T], error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := open[T](f, path, bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close = f.Close
	return r, nil
}

// NewReader reads from r, which holds an Arrow IPC stream or a Parquet file (which
// is read into memory first). If r is a *bufio.Reader, an Arrow stream is read
// exactly to its end, so that the next one can be read from the same r.
func NewReader[T Row](r io.Reader) (*Reader[T], error) {
	buffered, ok := r.(*bufio.Reader)
	if !ok {
		buffered = bufio.NewReaderSize(r, 1<<16)
	}
	return open[T](nil, "stream", buffered)
}

// open looks at the first bytes of r, which reads f where there is one.
func open[T Row](f *os.File, name string, r *bufio.Reader) (*Reader[T], error) {
	expected := fmt.Sprintf("expected %s rows as Parquet or Arrow IPC stream", schemaOf[T]().name)
	magic, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	out := &Reader[T]{name: name, schema: schemaOf[T](), close: func() error { return nil }}
	switch {
	case len(magic) < 4:
		return nil, fmt.Errorf("reading %s: found %d bytes, %s", name, len(magic), expected)
	case bytes.Equal(magic, continuation):
		err = out.openStream(r)
	case bytes.Equal(magic, parquetMagic) && f != nil:
		err = out.openParquetFile(f)
	case bytes.Equal(magic, parquetMagic):
		err = out.openParquetStream(r)
	case bytes.Equal(magic, sampleLogMagic):
		err = out.openSampleLog(r)
	case string(magic) == "ARRO":
		return nil, fmt.Errorf("reading %s: found an Arrow IPC file, %s", name, expected)
	default:
		return nil, fmt.Errorf("reading %s: it begins with %q, %s", name, magic, expected)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return out, nil
}

// Meta returns the metadata of the file or stream, SchemaKey included. Those of the
// unfinished file of samples are complete at its end.
func (r *Reader[T]) Meta() map[string]string { return r.meta }

// Only makes All leave out the rows whose string column, which must not be nullable,
// has a value that is not wanted. Of a Parquet file they are not even read.
func (r *Reader[T]) Only(column string, wanted func(string) bool) {
	if r.groups != nil {
		r.groups.only = &only{column, wanted}
		return
	}
	offset := schemaOf[T]().column(column).offset
	next := r.next
	r.next = func() ([]T, error) {
		rows, err := next()
		kept := rows[:0]
		texts := fieldsOf(rows, offset)
		for i := range rows {
			if wanted(*at[string](texts, i)) {
				kept = append(kept, rows[i])
			}
		}
		return kept, err
	}
}

// Columns says which columns are needed. What a row has of the others is not said: of a
// Parquet file they are not even read (BenchmarkReadColumns). A file that lacks any
// column of the schema is refused all the same.
func (r *Reader[T]) Columns(names ...string) {
	r.schema = schemaOf[T]().with(names)
	if r.groups != nil {
		r.groups.schema = r.schema
	}
}

// Reuse makes the rows of a batch, and what their pointers and lists point to, good until
// the next batch is asked for only. Texts are good for ever.
func (r *Reader[T]) Reuse() {
	if r.groups != nil {
		r.groups.again = true
	}
}

// All yields the rows in order. An error ends the sequence; the rows before it are
// good. All can be used once.
func (r *Reader[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for rows, err := range r.Batches() {
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// Batches yields the rows of All some at a time.
func (r *Reader[T]) Batches() iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for count := 0; ; {
			rows, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("reading %s after %d rows: %w", r.name, count, err))
				return
			}
			count += len(rows)
			if !yield(rows, nil) {
				return
			}
		}
	}
}

// Close closes the file. A reader of NewReader leaves its r open.
func (r *Reader[T]) Close() error { return r.close() }
