package record

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

var parquetMagic = []byte("PAR1")

// A row group is written when it has so many rows or list elements, which bounds
// what a writer holds in memory.
const (
	rowGroupRows     = 1 << 20
	rowGroupElements = 1 << 24
)

// readRows is how many rows are read from Parquet at once, and reuseRows how many are
// where they take the place of those before: so many that a core's cache holds them.
const (
	readRows  = 1024
	reuseRows = 256
)

func (r *Reader[T]) openParquetStream(from io.Reader) error {
	all, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return r.openParquet(bytes.NewReader(all), int64(len(all)))
}

func (r *Reader[T]) openParquetFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return r.openParquet(f, info.Size())
}

func (r *Reader[T]) openParquet(from io.ReaderAt, size int64) (err error) {
	defer guard(&err)
	f, err := parquet.OpenFile(from, size, parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("it begins like Parquet, but its footer cannot be read (is it whole?): %w", err)
	}
	r.meta = make(map[string]string)
	for _, kv := range f.Metadata().KeyValueMetadata {
		r.meta[kv.Key] = kv.Value
	}
	s := schemaOf[T]()
	tag, ok := r.meta[SchemaKey]
	if err := s.checkTag(tag, ok); err != nil {
		return err
	}
	if err := s.checkParquet(f); err != nil {
		return err
	}
	r.groups = &groupReader[T]{schema: s, file: f, groups: f.RowGroups()}
	r.next = r.groups.next
	return nil
}

// checkParquet compares the columns of a file with those of s. parquet-go itself
// would read a missing column as zeros.
func (s *schema) checkParquet(f *parquet.File) error {
	for _, path := range s.parquet.Columns() {
		want, _ := s.parquet.Lookup(path...)
		found, ok := f.Schema().Lookup(path...)
		if !ok {
			return fmt.Errorf("found no column %s, expected one of type %s (schema %s)", path[0], want.Node.Type(), s.tag())
		}
		if !sameParquetType(found.Node, want.Node) || found.MaxRepetitionLevel != want.MaxRepetitionLevel {
			return fmt.Errorf("column %s: found type %s, expected %s (schema %s)", path[0], found.Node.Type(), want.Node.Type(), s.tag())
		}
		if nulls := nullsBeyond(f, found, want); nulls > 0 {
			return fmt.Errorf("column %s: found %d nulls, expected none", path[0], nulls)
		}
	}
	return nil
}

// sameParquetType ignores annotations that other writers leave out, except that of
// a timestamp, without which the unit is unknown.
func sameParquetType(found, want parquet.Node) bool {
	if !found.Leaf() || found.Type().Kind() != want.Type().Kind() {
		return false
	}
	if logical := want.Type().LogicalType(); logical != nil {
		if _, ok := logical.Value.(*format.TimestampType); ok {
			return found.Type().String() == want.Type().String()
		}
	}
	return true
}

// nullsBeyond counts the nulls of a column that is optional in the file and
// required in the schema, as other writers make all columns optional. parquet-go
// would read them as zeros. A null list is read as an empty one.
func nullsBeyond(f *parquet.File, found, want parquet.LeafColumn) int64 {
	if found.MaxDefinitionLevel == want.MaxDefinitionLevel || want.MaxRepetitionLevel > 0 {
		return 0
	}
	var nulls int64
	for _, group := range f.Metadata().RowGroups {
		nulls += group.Columns[found.ColumnIndex].MetaData.Statistics.NullCount
	}
	return nulls
}

// writeParquet writes rows as a Parquet file and returns how many there were.
// Samples must come sorted. It asks for the metadata when it has all rows.
func writeParquet[T Row](w io.Writer, meta func() map[string]string, batches iter.Seq2[[]T, error]) (int64, error) {
	out := newFileWriter(w, schemaOf[T]())
	for rows, err := range batches {
		if err != nil {
			return out.rows(), err
		}
		if err := addRows(out, rows, 1); err != nil {
			return out.rows(), err
		}
	}
	return out.rows(), out.close(meta())
}
