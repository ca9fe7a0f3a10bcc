package partial

import (
	"errors"
	"fmt"
	"os"
)

// File is a file that is being written.
type File struct {
	*os.File
	path string
	held *os.File // nil when it has its name or was given up
}

// Create begins the file called path.
func Create(path string) (*File, error) {
	f, held, err := HoldFile(path)
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: path, held: held}, nil
}

// Commit gives the file its name.
func (f *File) Commit() error {
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", f.path, err)
	}
	if err := os.Rename(Name(f.path), f.path); err != nil {
		return fmt.Errorf("writing %s: %w", f.path, err)
	}
	held := f.held
	f.held = nil
	return held.Close()
}

// Abandon removes what was written; after Commit it does nothing.
func (f *File) Abandon() error {
	if f.held == nil {
		return nil
	}
	closing := f.Close()
	if errors.Is(closing, os.ErrClosed) {
		closing = nil // by a Commit that failed
	}
	held := f.held
	f.held = nil
	return errors.Join(closing, os.Remove(Name(f.path)), held.Close())
}
