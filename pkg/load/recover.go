package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/record"
)

// Recovered is a file that was made from a .partial one.
type Recovered struct {
	Path  string
	Rows  int64
	Whole bool // it was there already, and was left as it is
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
// .partial file that path names. A file that is there already is left as it is.
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
		whole := errors.Is(err, fs.ErrExist)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil && !whole {
			return found, err
		}
		found = append(found, Recovered{to, rows, whole})
	}
	if only == "" && len(found) > 0 {
		if err := recoverMetadata(dir); err != nil {
			return found, err
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: found nothing to recover, expected requests.parquet.partial, jobs.parquet.partial or metrics.parquet.partial", path)
	}
	return found, nil
}

// recoverFile fails with fs.ErrExist where the file is there.
func recoverFile(from func(partial, to string) (int64, error), to string) (int64, error) {
	partial := record.Partial(to)
	if _, err := os.Stat(partial); err != nil {
		return 0, err
	}
	if _, err := os.Stat(to); err == nil {
		return 0, fs.ErrExist
	}
	return from(partial, to)
}

// recoverMetadata makes the metadata that a killed run wrote at its start those of
// the cell: interrupted, and over at its last row.
func recoverMetadata(dir string) error {
	path := filepath.Join(dir, MetadataFile)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	text, err := os.ReadFile(record.Partial(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // killed before schedule time 0
	}
	if err != nil {
		return err
	}
	var meta record.Metadata
	if err := jsontext.Decode(record.Partial(path), text, &meta); err != nil {
		return err
	}
	if meta.EndedAt, err = lastDone(filepath.Join(dir, RequestsFile)); err != nil {
		return err
	}
	if meta.EndedAt.IsZero() {
		meta.EndedAt = meta.ScheduleStartedAt
	}
	meta.Interrupted = true
	return writeMetadata(path, meta)
}

// lastDone is when the last request of a file was done, zero for none.
func lastDone(path string) (last time.Time, err error) {
	rows, err := record.ReadFile[record.Request](path)
	if err != nil {
		return last, err
	}
	defer rows.Close()
	for row, err := range rows.All() {
		if err != nil {
			return last, err
		}
		if row.DoneAt != nil && row.DoneAt.After(last) {
			last = *row.DoneAt
		}
	}
	return last, nil
}
