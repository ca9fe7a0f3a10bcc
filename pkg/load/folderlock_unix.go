//go:build unix

package load

import (
	"errors"
	"os"
	"syscall"
)

// lockFolder keeps other processes from writing into dir until the file is closed, which the
// end of the process does, too. A file system without locks grants all.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(&BusyError{dir}, f.Close())
	}
	return f, nil
}
