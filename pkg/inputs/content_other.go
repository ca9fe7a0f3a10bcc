//go:build !unix

package inputs

import "os"

// readContent returns the content of a file, which must not be written to.
func readContent(path string) ([]byte, error) { return os.ReadFile(path) }
