package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bgbench/pkg/record"
)

// Recovered is a file that was made from a .partial one.
type Recovered struct {
	Path string
	Rows int64
}

// recoveries are the files of a cell that hold rows, with what makes each readable.
var recoveries = []struct {
	name string
	from func(partial, to string) (int64, error)
}{
	{RequestsFile, record.Recover[record.Request]},
	{JobsFile, record.Recover[record.Job]},
	{"metrics.parquet", record.Recover[record.Sample]},
}

// Recover makes the .partial files in the folder of a cell readable, or the one
// .partial file that path names. A file that is whole already is left as it is.
func Recover(path string) ([]Recovered, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, only := path, ""
	if !about.IsDir() {
		dir, only = filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".partial")
	}
	var found []Recovered
	for _, r := range recoveries {
		if only != "" && only != r.name {
			continue
		}
		to := filepath.Join(dir, r.name)
		rows, err := recoverFile(r.from, to)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return found, err
		}
		found = append(found, Recovered{to, rows})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: found nothing to recover, expected requests.parquet.partial, jobs.parquet.partial or metrics.parquet.partial", path)
	}
	return found, nil
}

func recoverFile(from func(partial, to string) (int64, error), to string) (int64, error) {
	partial := record.Partial(to)
	if _, err := os.Stat(partial); err != nil {
		return 0, err
	}
	if _, err := os.Stat(to); err == nil {
		return 0, fmt.Errorf("%s: is there already and would be overwritten by the rows of %s", to, partial)
	}
	return from(partial, to)
}
