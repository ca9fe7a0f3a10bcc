//go:build !unix

package load

import "os"

// lockFolder grants all where there is no lock of folders.
func lockFolder(dir string) (*os.File, error) { return os.Open(dir) }
