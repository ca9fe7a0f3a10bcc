//go:build unix

package partial

import (
	"errors"
	"os"
	"syscall"
)

// Lock keeps other processes from locking f, a file or a folder, until it is closed, which
// the end of the process does, too. It fails with ErrLocked where another one was first. A
// file system without locks grants all.
func Lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return nil
}
