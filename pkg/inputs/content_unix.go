//go:build unix

package inputs

import (
	"os"
	"syscall"
)

// readContent returns the content of a file, which must not be written to. It maps
// the file instead of copying it: the inputs of a trial are more than 100 MB, which
// each cell reads anew (BenchmarkOpen). The mapping lasts as long as the process,
// for what is made of it points into it. A folder of inputs is never changed once it
// has its name (Folder.Commit), so that the pages stay what they are.
func readContent(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return os.ReadFile(path)
	}
	content, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil { // a file system without mappings
		return os.ReadFile(path)
	}
	return content, nil
}
