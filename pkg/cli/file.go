package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile calls write with a buffered writer on the file called path, which
// appears only when everything was written: the bytes go to path.partial, which
// is renamed at the end and removed on failure. The path "-" is stdout.
func WriteFile(stdout io.Writer, path string, write func(io.Writer) error) error {
	if path == "-" || path == "" {
		buf := bufio.NewWriterSize(stdout, 1<<16)
		if err := write(buf); err != nil {
			return err
		}
		return buf.Flush()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	partial := path + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	defer os.Remove(partial) // fails harmlessly after the rename
	defer f.Close()
	buf := bufio.NewWriterSize(f, 1<<16)
	if err := write(buf); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(partial, path); err != nil {
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
