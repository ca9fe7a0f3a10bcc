package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bgbench/pkg/partial"
)

// flushEvery is how old a row gets before it is in the file.
const flushEvery = time.Second

// Writer writes a file of rows that appears when it is whole. Until then the rows
// are in NAME.partial, an Arrow IPC stream or a log of samples, at most a second
// behind, so that a killed run loses no more. It is safe for concurrent use; what the fields of a row
// point to must not change after Write.
type Writer[T Row] struct {
	path string
	stop func() // ends the flushing goroutine

	mu     sync.Mutex
	file   *os.File // nil when closed or abandoned
	held   *os.File // the same file, locked until it has its name or is given up
	stream rowWriter[T]
}

// rowWriter writes the unfinished file.
type rowWriter[T Row] interface {
	Write(rows ...T) error
	Flush() error
	Close() error // ends the rows, not the file
}

// wholeRows writes a Parquet file, which can be read when it is closed.
type wholeRows[T Row] struct {
	out  *fileWriter
	meta map[string]string
}

func (r *wholeRows[T]) Write(rows ...T) error { return addRows(r.out, rows, 1) }
func (r *wholeRows[T]) Flush() error          { return r.out.err }
func (r *wholeRows[T]) Close() error          { return r.out.close(r.meta) }

func newRowWriter[T Row](w io.Writer, meta map[string]string) (rowWriter[T], error) {
	if schemaOf[T]() != sampleSchema {
		return NewStreamWriter[T](w, meta)
	}
	log, err := newSampleLog(w, meta)
	if err != nil {
		return nil, err
	}
	return any(log).(rowWriter[T]), nil
}

// Create makes NAME.partial for the Parquet file called path, and the folders above
// it. An older NAME.partial is lost, unless another process still writes it: then this
// one is refused.
func Create[T Row](path string, meta map[string]string) (*Writer[T], error) {
	w, err := create(path, func(f *os.File) (rowWriter[T], error) { return newRowWriter[T](&tail{file: f}, meta) })
	if err != nil {
		return nil, err
	}
	stopped, done := make(chan struct{}), make(chan struct{})
	w.stop = sync.OnceFunc(func() { close(stopped); <-done })
	go func() {
		defer close(done)
		w.flushUntil(stopped)
	}()
	return w, nil
}

// CreateWhole is Create for rows that can be made again: NAME.partial is the Parquet
// file itself, which is half the work, and nothing can be read of it if the program is
// killed.
func CreateWhole[T Row](path string, meta map[string]string) (*Writer[T], error) {
	w, err := create(path, func(f *os.File) (rowWriter[T], error) {
		return &wholeRows[T]{newFileWriter(f, schemaOf[T]()), meta}, nil
	})
	if err != nil {
		return nil, err
	}
	w.stop = func() {}
	return w, nil
}

func create[T Row](path string, rows func(*os.File) (rowWriter[T], error)) (*Writer[T], error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, err)
	}
	f, held, err := partial.HoldFile(path)
	if err != nil {
		return nil, err
	}
	w := &Writer[T]{path: path, file: f, held: held}
	if w.stream, err = rows(f); err != nil {
		return nil, errors.Join(fmt.Errorf("creating %s: %w", path, err), f.Close(), os.Remove(Partial(path)), held.Close())
	}
	return w, nil
}

// Partial is the name under which the rows of the file called path are kept until
// it is whole.
func Partial(path string) string { return partial.Name(path) }

func (w *Writer[T]) flushUntil(stopped <-chan struct{}) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-stopped:
			return
		case <-tick.C:
			w.mu.Lock()
			_ = w.stream.Flush() // the stream keeps its error for Write and Close
			w.mu.Unlock()
		}
	}
}

// Write appends rows. It fails if these or any earlier rows could not be written,
// and then writes no more.
func (w *Writer[T]) Write(rows ...T) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return fmt.Errorf("writing %s: %w", w.path, os.ErrClosed)
	}
	return w.stream.Write(rows...)
}

// SetMeta adds metadata to the unfinished file of samples.
func SetMeta(w *Writer[Sample], key, value string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return fmt.Errorf("writing %s: %w", w.path, os.ErrClosed)
	}
	log, ok := w.stream.(*sampleLog)
	if !ok {
		return fmt.Errorf("writing %s: found metadata for rows that are not logged", w.path)
	}
	log.setMeta(key, value)
	return nil
}

// Close turns NAME.partial into the Parquet file and removes it. If that fails,
// NAME.partial stays. After Abandon, Close does nothing.
func (w *Writer[T]) Close() error {
	closed, err := w.end(rowWriter[T].Close)
	if closed {
		return err
	}
	if err == nil {
		err = Finish[T](Partial(w.path), w.path)
	}
	return errors.Join(err, w.held.Close())
}

// Abandon writes what waits and keeps NAME.partial, from which Recover makes a
// Parquet file. After Close, Abandon does nothing.
func (w *Writer[T]) Abandon() error {
	closed, err := w.end(func(rows rowWriter[T]) error {
		if whole, ok := rows.(*wholeRows[T]); ok {
			return whole.Close()
		}
		return rows.Flush()
	})
	if closed {
		return err
	}
	return errors.Join(err, w.held.Close())
}

// end closes the file after a last act of the stream, and says whether it was
// closed already.
func (w *Writer[T]) end(last func(rowWriter[T]) error) (closed bool, err error) {
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return true, nil
	}
	err = last(w.stream)
	if closing := w.file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("writing %s: %w", Partial(w.path), closing)
	}
	w.file, w.stream = nil, nil // what it knows of the rows may go
	return false, err
}

// tail appends to a file and takes a write that failed half-way back, so that the
// file ends with a whole batch.
type tail struct {
	file *os.File
	size int64
}

func (t *tail) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	if err != nil {
		if cutting := t.file.Truncate(t.size); cutting != nil {
			return n, fmt.Errorf("%w (and cutting it back to its last whole batch: %v)", err, cutting)
		}
		return n, err
	}
	t.size += int64(n)
	return n, nil
}
