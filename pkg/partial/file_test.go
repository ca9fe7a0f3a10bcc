//go:build unix

package partial

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestASecondWriterIsRefusedAndTouchesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	first, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.WriteString("one"); err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := Create(path); !errors.As(err, &busy) || busy.Path != path {
		t.Fatalf("found %v, want that the file is being written", err)
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "one" {
		t.Errorf("found %q, %v", got, err)
	}
	if err := first.Abandon(); err != nil {
		t.Errorf("abandoned after it was whole: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestWhatAKilledWriterLeftIsWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(Name(path), []byte("left, and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != "new" {
		t.Errorf("found %q, %v", got, err)
	}
}

// The process that waits to lock a file has it open already when the one before renames it.
func TestALockOnAFileThatWasRenamedIsNotTakenForTheNewOne(t *testing.T) {
	for name, end := range map[string]func(*File) error{
		"the one before gave it its name":   (*File).Commit,
		"the one before gave up and erased": (*File).Abandon,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "results.json")
			first, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			opens := 0
			f, err := hold(path, func(name string) (*os.File, error) {
				f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
				if opens++; opens == 1 {
					err = errors.Join(err, end(first))
				}
				return f, err
			})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if opens != 2 || !named(f, Name(path)) {
				t.Errorf("opened %d times, want twice: what was locked first has no such name now", opens)
			}
		})
	}
}
