package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Entry is a file with Content or, with a Path, what is in that file or folder.
type Entry struct {
	Name    string // in the archive, with slashes
	Path    string
	Content []byte
}

// Write writes entries in their order.
func Write(w io.Writer, entries []Entry) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		var err error
		if e.Path == "" {
			err = writeFile(t, e.Name, int64(len(e.Content)), func(w io.Writer) error {
				_, err := w.Write(e.Content)
				return err
			})
		} else {
			err = writePath(t, e)
		}
		if err != nil {
			return fmt.Errorf("packing %s: %w", e.Name, err)
		}
	}
	return t.Close()
}

func writePath(t *tar.Writer, e Entry) error {
	return filepath.WalkDir(e.Path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(e.Path, file)
		if err != nil {
			return err
		}
		return writeFile(t, path.Join(e.Name, filepath.ToSlash(relative)), info.Size(), func(w io.Writer) error {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w, f)
			return err
		})
	})
}

func writeFile(t *tar.Writer, name string, size int64, write func(io.Writer) error) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	return write(t)
}

// Read unpacks an archive into dir. A name that leads out of it is an error.
func Read(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	defer root.Close()
	for t := tar.NewReader(r); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpacking into %s: %w", dir, err)
		}
		if err := readFile(root, header, t); err != nil {
			return fmt.Errorf("unpacking %s into %s: %w", header.Name, dir, err)
		}
	}
}

func readFile(root *os.Root, header *tar.Header, content io.Reader) error {
	if header.Typeflag != tar.TypeReg {
		return fmt.Errorf("found type %q, expected a file", header.Typeflag)
	}
	if err := root.MkdirAll(path.Dir(header.Name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(header.Name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
