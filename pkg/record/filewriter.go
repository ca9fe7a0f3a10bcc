package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// fileWriter writes a Parquet file, a column of a row group after the other.
type fileWriter struct {
	w       io.Writer
	offset  int64 // bytes written
	err     error // the first failure
	schema  *schema
	file    format.FileMetaData
	columns []*columnWriter

	inGroup, elements int // rows and list elements of the row group

	// Of the columns of each row group that is written.
	indexes [][]format.ColumnIndex
	offsets [][]format.OffsetIndex
}

// emptyFile is what parquet-go says of a file of a schema without rows.
var emptyFile = sync.OnceValue(func() map[*schema]*parquet.File {
	files := make(map[*schema]*parquet.File)
	for _, s := range []*schema{requestSchema, jobSchema, sampleSchema} {
		var content bytes.Buffer
		f, err := (*parquet.File)(nil), parquet.NewWriter(&content, s.parquet).Close()
		if err == nil {
			f, err = parquet.OpenFile(bytes.NewReader(content.Bytes()), int64(content.Len()))
		}
		if err != nil {
			panic(fmt.Sprintf("record: schema %s: %v", s.name, err)) // as any test would show
		}
		files[s] = f
	}
	return files
})

func newFileWriter(w io.Writer, s *schema) *fileWriter {
	empty := emptyFile()[s]
	f := &fileWriter{w: w, schema: s, file: *empty.Metadata()}
	f.file.KeyValueMetadata = nil
	// One page at a time: the file is made beside a program that measures. The
	// fastest level compresses what samples and gaps are made of as well as others do.
	// The encoder takes twice its window in memory, which need not be larger than a page.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(pageBytes))
	if err != nil {
		panic(err) // the options are right or wrong for ever
	}
	for i, path := range s.parquet.Columns() {
		leaf, _ := empty.Schema().Lookup(path...)
		f.columns = append(f.columns, &columnWriter{column: s.columns[i], leaf: leaf, path: path, zstd: z})
		f.columns[i].begin()
	}
	f.write([]byte(parquetMagic))
	return f
}

func (f *fileWriter) write(b []byte) {
	if f.err != nil {
		return
	}
	var n int
	n, f.err = f.w.Write(b)
	f.offset += int64(n)
}

// rows is how many rows were added.
func (f *fileWriter) rows() int64 { return f.file.NumRows + int64(f.inGroup) }

// addRows adds rows, each so many times.
func addRows[T Row](f *fileWriter, rows []T, times int) error {
	for len(rows) > 0 {
		n := min(len(rows), max(1, (rowGroupRows-f.inGroup)/times))
		for i := range n {
			if f.elements += elements(&rows[i]); f.elements >= rowGroupElements {
				n = i + 1
				break
			}
		}
		for _, c := range f.columns {
			c.put(c, fieldsOf(rows[:n], c.offset), times)
		}
		f.inGroup += n * times
		if f.inGroup >= rowGroupRows || f.elements >= rowGroupElements {
			f.endGroup()
		}
		rows = rows[n:]
	}
	return f.err
}

// endGroup writes the row group.
func (f *fileWriter) endGroup() {
	if f.inGroup == 0 {
		return
	}
	group := format.RowGroup{NumRows: int64(f.inGroup), FileOffset: f.offset, Ordinal: int16(len(f.file.RowGroups)), SortingColumns: f.schema.sorting()}
	var indexes []format.ColumnIndex
	var offsets []format.OffsetIndex
	for _, c := range f.columns {
		chunk := c.end(f.offset)
		indexes, offsets = append(indexes, c.index), append(offsets, c.offsets)
		f.write(c.dictionary)
		f.write(c.pages)
		group.Columns = append(group.Columns, chunk)
		group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		group.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
	}
	f.file.RowGroups = append(f.file.RowGroups, group)
	f.indexes, f.offsets = append(f.indexes, indexes), append(f.offsets, offsets)
	f.file.NumRows += int64(f.inGroup)
	f.inGroup, f.elements = 0, 0
	for _, c := range f.columns {
		c.begin()
	}
}

// writeIndexes writes the indexes of all pages, those of their values first: parquet-go
// expects either kind in one piece.
func (f *fileWriter) writeIndexes() {
	for i := range f.file.RowGroups {
		for j := range f.file.RowGroups[i].Columns {
			chunk := &f.file.RowGroups[i].Columns[j]
			chunk.ColumnIndexOffset = f.offset
			f.marshal(&f.indexes[i][j])
			chunk.ColumnIndexLength = int32(f.offset - chunk.ColumnIndexOffset)
		}
	}
	for i := range f.file.RowGroups {
		for j := range f.file.RowGroups[i].Columns {
			chunk := &f.file.RowGroups[i].Columns[j]
			chunk.OffsetIndexOffset = f.offset
			f.marshal(&f.offsets[i][j])
			chunk.OffsetIndexLength = int32(f.offset - chunk.OffsetIndexOffset)
		}
	}
}

func (f *fileWriter) marshal(v any) {
	text, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		panic(err) // none of these structures can fail
	}
	f.write(text)
}

// close writes what waits and the footer.
func (f *fileWriter) close(meta map[string]string) error {
	f.endGroup()
	f.writeIndexes()
	all := maps.Clone(meta)
	if all == nil {
		all = make(map[string]string)
	}
	all[SchemaKey] = f.schema.tag()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		f.file.KeyValueMetadata = append(f.file.KeyValueMetadata, format.KeyValue{Key: key, Value: all[key]})
	}
	begin := f.offset
	f.marshal(&f.file)
	f.write(binary.LittleEndian.AppendUint32(nil, uint32(f.offset-begin)))
	f.write([]byte(parquetMagic))
	if f.err != nil {
		return fmt.Errorf("writing %s rows: %w", f.schema.name, f.err)
	}
	return nil
}

// sorting is the order in which the rows of a schema must come, if there is one.
func (s *schema) sorting() []format.SortingColumn {
	if s != sampleSchema {
		return nil
	}
	var out []format.SortingColumn
	for _, name := range []string{"metric", "series_id", "at"} {
		at := slices.IndexFunc(s.columns, func(c column) bool { return c.name == name })
		out = append(out, format.SortingColumn{ColumnIdx: int32(at)})
	}
	return out
}
