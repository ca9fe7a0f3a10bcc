//go:build unix

package load

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bgbench/pkg/record"
)

func TestASecondRunIntoAFolderIsRefusedWhileTheFirstWrites(t *testing.T) {
	dir := t.TempDir()
	first, second := &Cell{dir: dir}, &Cell{dir: dir}
	if err := first.Begin(record.Metadata{}); err != nil {
		t.Fatal(err)
	}
	partial := record.Partial(filepath.Join(dir, RequestsFile))
	before, err := os.Stat(partial)
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if err := second.Begin(record.Metadata{}); !errors.As(err, &busy) || busy.Dir != dir {
		t.Fatalf("got %v, want a folder that is busy", err)
	}
	if after, err := os.Stat(partial); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file of the first run was touched: %v", err)
	}
	if err := first.Abandon(); err != nil {
		t.Fatal(err)
	}
	if err := second.Begin(record.Metadata{}); err != nil {
		t.Fatalf("after the first ended: %v", err)
	}
	if err := second.Abandon(); err != nil {
		t.Fatal(err)
	}
}
