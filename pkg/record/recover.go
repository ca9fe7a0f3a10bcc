package record

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"bgbench/pkg/partial"
)

// Finish turns the finished stream in the file partial into the Parquet file to and
// removes partial. It fails on a stream without its end mark. A file that is Parquet
// already is only checked and renamed.
func Finish[T Row](partial, to string) error {
	in, err := ReadFile[T](partial)
	if err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	if in.groups != nil {
		return os.Rename(partial, to)
	}
	if _, err := transcode[T](partial, to, false); err != nil {
		return err
	}
	return os.Remove(partial)
}

// Recover writes the whole batches of a stream that was cut off to the Parquet file
// to and returns how many rows there were. It leaves the stream alone, and refuses one
// that is still being written.
func Recover[T Row](from, to string) (rows int64, err error) {
	held, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer held.Close()
	if err := partial.Lock(held); err != nil {
		return 0, &partial.BusyError{Path: from}
	}
	return transcode[T](from, to, true)
}

// transcode writes a temporary file beside to and renames it.
func transcode[T Row](partial, to string, cutOff bool) (int64, error) {
	in, err := ReadFile[T](partial)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	batches := in.Batches()
	if cutOff {
		batches = upToCut(batches)
	}
	temporary := to + ".tmp"
	out, err := os.Create(temporary)
	if err != nil {
		return 0, fmt.Errorf("writing %s (its rows are in %s): %w", to, partial, err)
	}
	defer os.Remove(temporary) // fails harmlessly after the rename
	defer out.Close()
	rows, err := writeParquet(out, in.Meta, sorted(filepath.Dir(to), batches))
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = os.Rename(temporary, to)
	}
	if err != nil {
		return 0, fmt.Errorf("writing %s (its rows are in %s): %w", to, partial, err)
	}
	return rows, nil
}

// upToCut ends the batches where the stream was cut off.
func upToCut[T Row](batches iter.Seq2[[]T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for rows, err := range batches {
			if errors.Is(err, ErrTruncated) || !yield(rows, err) {
				return
			}
		}
	}
}
