package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"bgbench/pkg/cli"
	"bgbench/pkg/partial"
)

// workFolder is where a cell is made: beside its folder, which appears only when it is
// whole. pipelines/cell.sh does the same for the cells of other targets.
type workFolder struct {
	cell string // the folder that it will be
	path string
	cut  string   // where what an earlier run left is now; empty when it left nothing
	pid  *os.File // to be closed when the cell is whole or given up
}

// pidFile says who writes to the folder, and is locked as long as that process lives.
const pidFile = "pid"

// beginWorkFolder begins the folder of a cell. What an earlier run left that was cut is
// kept beside it as tK.cut.
func beginWorkFolder(cell string) (workFolder, error) {
	w := workFolder{cell: cell, path: cell + ".partial"}
	if err := os.MkdirAll(filepath.Dir(cell), 0o755); err != nil {
		return w, fmt.Errorf("creating cell: %w", err)
	}
	err := os.Mkdir(w.path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if err := w.setAside(); err != nil {
			return w, err
		}
		err = os.Mkdir(w.path, 0o755)
	}
	if err != nil {
		return w, fmt.Errorf("creating cell: %w", err)
	}
	if w.pid, err = os.Create(filepath.Join(w.path, pidFile)); err != nil {
		return w, fmt.Errorf("creating cell: %w", err)
	}
	_, err = fmt.Fprintln(w.pid, os.Getpid())
	if err := errors.Join(err, partial.Lock(w.pid)); err != nil {
		return w, errors.Join(fmt.Errorf("creating cell: %w", err), w.pid.Close())
	}
	return w, nil
}

// setAside renames the folder, unless another process still writes to it.
func (w *workFolder) setAside() error {
	if pid, err := os.Open(filepath.Join(w.path, pidFile)); err == nil {
		defer pid.Close()
		if partial.Lock(pid) != nil {
			number, err := io.ReadAll(pid)
			busy := fmt.Errorf("%s is being written by process %s", w.path, bytes.TrimSpace(number))
			return cli.WithHint(errors.Join(busy, err), "wait for it, or end it")
		}
	}
	var err error
	w.cut, err = keepCut(w.path, w.cell)
	return err
}

// keepCut renames path, which a run that was cut left, to a name that is free: that of
// what it was to be with .cut behind it, and a number from the second on.
func keepCut(path, whole string) (cut string, err error) {
	cut = whole + ".cut"
	for n := 2; ; n++ {
		if _, err := os.Lstat(cut); errors.Is(err, fs.ErrNotExist) {
			break
		}
		cut = whole + ".cut" + strconv.Itoa(n)
	}
	if err := os.Rename(path, cut); err != nil {
		return "", fmt.Errorf("keeping what an earlier run measured: %w", err)
	}
	return cut, nil
}

// finish gives the folder its name. What stands there, an older cell or what somebody
// put there, is kept as what was cut is: older is where.
func (w workFolder) finish() (older string, err error) {
	if _, err := os.Lstat(w.cell); err == nil {
		if older, err = keepCut(w.cell, w.cell); err != nil {
			return "", err
		}
	}
	if err := errors.Join(os.Remove(w.pid.Name()), os.Rename(w.path, w.cell)); err != nil {
		return older, fmt.Errorf("finishing cell: %w", err)
	}
	return older, nil
}
