package scrape

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
)

// Convert reads a file of samples, OpenMetrics text or rows, and writes the file called
// path: rows become text and text becomes rows, or either becomes a wide file. Of a
// wide file, metrics are the names that it is to have; base has the columns of rows
// that the text does not name.
func Convert(in *os.File, name string, base record.Sample, path string, stdout io.Writer, wide bool, metrics []string) error {
	isRows, err := hasRows(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if !isRows && !wide {
		return ImportFile(in, name, base, path)
	}
	rows, done, err := rowsOf(in, name, base, isRows, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer done()
	return cli.WriteFile(stdout, path, func(w io.Writer) error {
		if !wide {
			return Export(w, record.SortSamples(filepath.Dir(path), rows.All()))
		}
		_, err := record.WriteWide(w, rows.All(), metrics...)
		if errors.Is(err, record.ErrTooWide) {
			err = cli.WithHint(err, "name those that matter with --metric")
		}
		return err
	})
}

// hasRows looks at the beginning of a file: Parquet, Arrow and the log of samples begin
// as no text does.
func hasRows(in io.ReadSeeker) (bool, error) {
	var head [4]byte
	n, err := io.ReadFull(in, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	_, err = in.Seek(0, io.SeekStart)
	begin := string(head[:n])
	return begin == "PAR1" || begin == "BGS1" || begin == "\xff\xff\xff\xff", err
}

// rowsOf opens rows, those of a text by way of a file in dir that is gone when done is
// called.
func rowsOf(in *os.File, name string, base record.Sample, isRows bool, dir string) (rows *record.Reader[record.Sample], done func(), err error) {
	if isRows {
		rows, err = record.ReadFile[record.Sample](name)
		if err != nil {
			return nil, nil, err
		}
		return rows, func() { rows.Close() }, nil
	}
	folder, err := os.MkdirTemp(dir, ".convert-*")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(folder) }
	long := filepath.Join(folder, "long.parquet")
	if err := ImportFile(in, name, base, long); err != nil {
		remove()
		return nil, nil, err
	}
	if rows, err = record.ReadFile[record.Sample](long); err != nil {
		remove()
		return nil, nil, err
	}
	return rows, func() { rows.Close(); remove() }, nil
}
