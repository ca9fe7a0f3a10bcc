package record

import (
	"bytes"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// A record batch is written when it has so many rows or list elements, so that
// neither a writer nor a reader needs much memory.
const (
	batchRows     = 8192
	batchElements = 1 << 20
)

// StreamWriter writes rows as an Arrow IPC stream. It is not safe for concurrent
// use. What the fields of a row point to must not change after Write.
type StreamWriter[T Row] struct {
	w       io.Writer
	builder *array.RecordBuilder
	ipc     *ipc.Writer
	batch   bytes.Buffer // encoded, not yet in w

	pending  []T
	elements int
	err      error // the first failure; nothing is written after it
}

// NewStreamWriter writes the head of a stream with the given metadata to w and
// returns a writer for its rows. Each batch, and the head, is one call of w.Write.
func NewStreamWriter[T Row](w io.Writer, meta map[string]string) (*StreamWriter[T], error) {
	s := schemaOf[T]()
	tagged := arrow.NewSchema(s.arrow.Fields(), s.metadata(meta))
	sw := &StreamWriter[T]{w: w, builder: array.NewRecordBuilder(memory.NewGoAllocator(), tagged)}
	// Not compressed: a stream lives as long as a pipe or a run. With LZ4 inside the
	// IPC writer of arrow v17 the race detector loses track of the call stack after
	// some thousand batches and reports races on what a mutex guards.
	sw.ipc = ipc.NewWriter(&sw.batch, ipc.WithSchema(tagged))
	// The writer sends the schema with the first batch, so an empty one makes the
	// stream readable from the start.
	if err := sw.flush(); err != nil {
		return nil, err
	}
	return sw, nil
}

// Write appends rows. Full batches go out at once, the rest waits for Flush or Close.
func (sw *StreamWriter[T]) Write(rows ...T) error {
	for i := range rows {
		sw.pending = append(sw.pending, rows[i])
		sw.elements += elements(&rows[i])
		if len(sw.pending) >= batchRows || sw.elements >= batchElements {
			if err := sw.flush(); err != nil {
				return err
			}
		}
	}
	return sw.err
}

// Flush writes the rows that wait.
func (sw *StreamWriter[T]) Flush() error {
	if len(sw.pending) == 0 || sw.err != nil {
		return sw.err
	}
	return sw.flush()
}

// Close writes what waits and the end of the stream. It does not close the
// underlying writer, which may carry another stream.
func (sw *StreamWriter[T]) Close() error {
	if err := sw.Flush(); err != nil {
		return err
	}
	if err := sw.ipc.Close(); err != nil {
		return sw.fail(err)
	}
	return sw.send()
}

func (sw *StreamWriter[T]) flush() error {
	encode(sw.builder, sw.pending)
	batch := sw.builder.NewRecord()
	defer batch.Release()
	if err := sw.ipc.Write(batch); err != nil {
		return sw.fail(err)
	}
	clear(sw.pending) // what the rows point to may go
	sw.pending, sw.elements = sw.pending[:0], 0
	return sw.send()
}

func (sw *StreamWriter[T]) send() error {
	_, err := sw.w.Write(sw.batch.Bytes())
	sw.batch.Reset()
	if err != nil {
		return sw.fail(err)
	}
	return nil
}

func (sw *StreamWriter[T]) fail(err error) error {
	sw.err = fmt.Errorf("writing %s rows: %w", schemaOf[T]().name, err)
	return sw.err
}

// metadata returns the caller's metadata with the schema's own.
func (s *schema) metadata(meta map[string]string) *arrow.Metadata {
	all := map[string]string{SchemaKey: s.tag()}
	for key, value := range meta {
		all[key] = value
	}
	m := arrow.MetadataFrom(all)
	return &m
}

// encode appends rows to b, a column at a time.
func encode[T Row](b *array.RecordBuilder, rows []T) {
	for _, c := range schemaOf[T]().columns {
		into := b.Field(c.field)
		into.Reserve(len(rows))
		c.write(into, fieldsOf(rows, c.offset))
	}
}

// elements counts the list elements of a row.
func elements[T Row](row *T) int {
	if r, ok := any(row).(*Request); ok {
		return len(r.ChunkGapS) + len(r.ChunkTokens)
	}
	return 0
}
