package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bgbench/pkg/jsontext"
	"bgbench/pkg/partial"
	"bgbench/pkg/record"
)

// Files of a cell that bg-load writes.
const (
	RequestsFile = "requests.parquet"
	JobsFile     = "jobs.parquet"
	MetadataFile = "run-metadata.json"
)

// clockVirtual is the clock of metadata whose run was on the virtual clock.
const clockVirtual = "virtual"

// Cell is the folder of one (arm, trial). It counts as finished when it holds
// run-metadata.json of a run that was not interrupted.
type Cell struct {
	dir      string
	force    bool
	lock     *os.File // held from Begin to Finish or Abandon
	requests *record.Writer[record.Request]
	jobs     *record.Writer[record.Job]
}

// OccupiedError says that a folder holds something that must not be overwritten.
type OccupiedError struct {
	Dir   string
	Found string
	// Same says that it is the cell that was to be written.
	Same bool
}

func (e *OccupiedError) Error() string { return fmt.Sprintf("%s holds %s", e.Dir, e.Found) }

// Hint implements cli.Hinter.
func (e *OccupiedError) Hint() string {
	if e.Same {
		return "--force measures it again"
	}
	return "give every cell a folder of its own"
}

// CreateCell prepares dir for the run of a cell. A finished cell is only
// overwritten with force, one of another experiment, arm or trial never.
func CreateCell(dir string, id Identity, force bool) (*Cell, error) {
	if k := placedTrial(dir, id.Arm); k != 0 && k != id.Trial {
		return nil, fmt.Errorf("%s is the folder of trial %d, the inputs are of trial %d", dir, k, id.Trial)
	}
	path := filepath.Join(dir, MetadataFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("cell: %w", err)
	default:
		var found record.Metadata
		if err := jsontext.Decode(path, text, &found); err != nil {
			return nil, err
		}
		same := found.Experiment == id.Experiment && found.Arm == id.Arm && found.Trial == id.Trial
		if !same || !force && !found.Interrupted {
			return nil, &OccupiedError{dir, fmt.Sprintf("trial %d of arm %s of experiment %s, run at %s",
				found.Trial, found.Arm, found.Experiment, found.RunStartedAt.Format("2006-01-02 15:04:05")), same}
		}
	}
	return &Cell{dir: dir, force: force}, nil
}

// placedTrial is the trial that a folder of an experiment is for, ARM/tK or ARM/tK.partial;
// 0 for any other folder.
func placedTrial(dir, arm string) int {
	name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(dir), ".partial"), "t")
	k, err := strconv.Atoi(name)
	if !ok || err != nil || filepath.Base(filepath.Dir(dir)) != arm {
		return 0
	}
	return k
}

// BusyError says that another process writes into a folder: two runs in one would leave the
// rows of one and the metadata of the other.
type BusyError struct{ Dir string }

func (e *BusyError) Error() string { return fmt.Sprintf("%s is being written by another run", e.Dir) }

// Hint implements cli.Hinter.
func (e *BusyError) Hint() string {
	return "wait for it, end it, or give this cell a folder of its own"
}

// Begin implements Output. The metadata of an earlier run goes first: from here the
// cell is unfinished. What that run measured before it was cut is kept, as NAME.cut.
func (c *Cell) Begin(meta record.Metadata) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return fmt.Errorf("creating cell: %w", err)
	}
	var err error
	if c.lock, err = os.Open(c.dir); err != nil {
		return fmt.Errorf("creating cell: %w", err)
	}
	if err := partial.Lock(c.lock); err != nil {
		return errors.Join(fmt.Errorf("creating cell: %w", &BusyError{c.dir}), c.lock.Close())
	}
	if err := c.create(meta); err != nil {
		return errors.Join(err, c.lock.Close())
	}
	return nil
}

// create makes the files of a folder that is ours.
func (c *Cell) create(meta record.Metadata) error {
	createRequests, createJobs := record.Create[record.Request], record.Create[record.Job]
	clear := func(path string) error {
		_, err := keepCut(path, path)
		return err
	}
	if c.force {
		clear = os.Remove
	}
	if meta.Clock == clockVirtual { // the same run can be had again
		clear = os.Remove
		createRequests, createJobs = record.CreateWhole[record.Request], record.CreateWhole[record.Job]
	}
	for _, name := range []string{MetadataFile, RequestsFile, JobsFile} {
		path := filepath.Join(c.dir, name)
		for _, old := range []string{path, partial.Name(path)} {
			if err := clear(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("clearing what an earlier run left: %w", err)
			}
		}
	}
	about := fileMeta(meta)
	var err error
	if c.requests, err = createRequests(filepath.Join(c.dir, RequestsFile), about); err != nil {
		return err
	}
	if c.jobs, err = createJobs(filepath.Join(c.dir, JobsFile), about); err != nil {
		return errors.Join(err, c.requests.Abandon())
	}
	return nil
}

// fileMeta is what a file of rows says about itself.
func fileMeta(meta record.Metadata) map[string]string {
	return map[string]string{
		"bg.experiment": meta.Experiment,
		"bg.arm":        meta.Arm,
		"bg.trial":      fmt.Sprint(meta.Trial),
		"bg.seed":       fmt.Sprint(meta.Seed),
	}
}

// WriteRequests implements Output.
func (c *Cell) WriteRequests(rows ...record.Request) error { return c.requests.Write(rows...) }

// WriteJobs implements Output.
func (c *Cell) WriteJobs(rows ...record.Job) error { return c.jobs.Write(rows...) }

// Started implements Output: until the end comes the metadata says that it has not.
func (c *Cell) Started(meta record.Metadata) error {
	meta.Interrupted = true
	return writeMetadata(record.Partial(filepath.Join(c.dir, MetadataFile)), meta)
}

// Finish implements Output: the metadata comes last and says that all is there.
func (c *Cell) Finish(meta record.Metadata) error {
	defer c.lock.Close()
	if err := errors.Join(c.requests.Close(), c.jobs.Close()); err != nil {
		return err
	}
	path := filepath.Join(c.dir, MetadataFile)
	if err := writeMetadata(record.Partial(path), meta); err != nil {
		return err
	}
	return os.Rename(record.Partial(path), path)
}

func writeMetadata(path string, meta record.Metadata) error {
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Abandon implements Output: the rows so far stay as .partial files.
func (c *Cell) Abandon() error {
	return errors.Join(c.requests.Abandon(), c.jobs.Abandon(), c.lock.Close())
}
