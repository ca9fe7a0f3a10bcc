package partial

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// BusyError says that another process is writing what was to be written.
type BusyError struct{ Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is being written by another process", e.Path)
}

// Hint says what to do about it.
func (e *BusyError) Hint() string { return "wait for it, end it, or write elsewhere" }

// Name is what the file or folder called path is called until it is whole.
func Name(path string) string { return path + ".partial" }

// HoldFile opens the unfinished file of path, empty, and locks it until held is closed:
// the same file, since the lock outlives the last write, whose failure shows in f's Close.
func HoldFile(path string) (f, held *os.File, err error) {
	held, err = hold(path, func(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666) })
	if err != nil {
		return nil, nil, err
	}
	f, err = os.OpenFile(Name(path), os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("creating %s: %w", path, err), held.Close())
	}
	return f, held, nil
}

// HoldFolder opens the unfinished folder of path, with what is in it, and locks it until
// it is closed.
func HoldFolder(path string) (*os.File, error) {
	return hold(path, func(name string) (*os.File, error) {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return nil, err
		}
		return os.Open(name)
	})
}

func hold(path string, open func(name string) (*os.File, error)) (*os.File, error) {
	for {
		f, err := open(Name(path))
		if err != nil {
			return nil, fmt.Errorf("creating %s: %w", path, err)
		}
		if err := Lock(f); err != nil {
			return nil, errors.Join(&BusyError{path}, f.Close())
		}
		// Who had it before may have renamed or removed it since it was opened here.
		if named(f, Name(path)) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("creating %s: %w", path, err)
		}
	}
}

// named reports whether f is what the name stands for.
func named(f *os.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(opened, there)
}
