package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bgbench/pkg/partial"
)

// WriteFile calls write with a buffered writer on the file called path, which
// appears only when everything was written: the bytes go to path.partial, which
// is renamed at the end and removed on failure. Of two processes that write it at the
// same time the second is refused. The path "-" is stdout. A device or a named pipe is
// written to as it is.
func WriteFile(stdout io.Writer, path string, write func(io.Writer) error) (err error) {
	if path == "-" || path == "" {
		buf := bufio.NewWriterSize(stdout, 1<<16)
		if err := write(buf); err != nil {
			return err
		}
		return buf.Flush()
	}
	switch about, err := os.Stat(path); {
	case err != nil || about.Mode().IsRegular():
	case about.IsDir():
		return Usagef("%s is a folder, expected a file to write", path)
	default:
		return writeInPlace(path, write)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	f, err := partial.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Abandon()) }()
	if err := writeBuffered(f, path, write); err != nil {
		return err
	}
	return f.Commit()
}

// writeInPlace writes to a device or a named pipe: renaming a file onto it would
// replace it.
func writeInPlace(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer f.Close()
	if err := writeBuffered(f, path, write); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// writeBuffered has write fill f, which stands for path.
func writeBuffered(f io.Writer, path string, write func(io.Writer) error) error {
	buf := bufio.NewWriterSize(f, 1<<16)
	if err := write(buf); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// OpenInput opens path for reading; "-" is stdin.
func OpenInput(stdin io.Reader, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(stdin), nil
	}
	return os.Open(path)
}
