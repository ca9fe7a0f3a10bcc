package analysis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// Files of a cell.
const (
	requestsFile = "requests.parquet"
	jobsFile     = "jobs.parquet"
	metricsFile  = "metrics.parquet"
	metadataFile = "run-metadata.json"
)

// runKey is the key of the schema metadata under which a stream of rows carries
// run-metadata.json.
const runKey = "bg.run"

// ReadCell summarizes the cell in a folder: requests.parquet, jobs.parquet,
// run-metadata.json and, where there is one, metrics.parquet. The first three may lie in
// folders of shards, which are put together.
func ReadCell(ctx context.Context, dir string) (CellResult, error) {
	c, err := readCell(ctx, dir)
	if err != nil {
		return CellResult{}, err
	}
	return finish(c, dir, dir)
}

func readCell(ctx context.Context, dir string) (*cell, error) {
	r := newRows()
	shards, err := readShards(dir)
	if err != nil {
		return nil, err
	}
	var metadata []byte
	if shards == nil {
		metadata, err = readWhole(ctx, dir, r)
	} else {
		metadata, err = readSharded(ctx, shards, r)
	}
	if err != nil {
		return nil, err
	}
	if err := readSamples(ctx, dir, r); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c, err := newCell(r, metadata)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	c.shards = shards
	c.disturbed.list, c.disturbed.watched, err = record.ReadDisturbances(filepath.Join(dir, record.DisturbancesFile))
	return c, err
}

// readWhole reads the rows of a cell that one load generator played, and returns its
// metadata.
func readWhole(ctx context.Context, dir string, r *rows) ([]byte, error) {
	metadata, missing := os.ReadFile(filepath.Join(dir, metadataFile))
	// What is wrong with it is told later; here it spares keeping the answers.
	var with struct {
		Profile struct {
			SLO *spec.SLO `json:"slo"`
		} `json:"profile"`
	}
	if missing == nil && json.Unmarshal(metadata, &with) == nil {
		r.declare(with.Profile.SLO)
	}
	if err := readRequests(ctx, dir, r.addRequest); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, whole(dir, metadataFile, missing)
	}
	return metadata, readJobs(ctx, dir, r)
}

// ReadCellStream summarizes the cell that comes as an Arrow IPC stream of requests
// and one of jobs, the second of which carries run-metadata.json.
func ReadCellStream(ctx context.Context, from io.Reader) (CellResult, error) {
	in := bufio.NewReaderSize(from, 1<<16)
	r := newRows()
	requests, err := record.NewReader[record.Request](in)
	if err != nil {
		return CellResult{}, fmt.Errorf("requests of the stream: %w", err)
	}
	if err := each(ctx, requests.Batches(), r.addRequest); err != nil {
		return CellResult{}, fmt.Errorf("requests of the stream: %w", err)
	}
	jobs, err := record.NewReader[record.Job](in)
	if err != nil {
		return CellResult{}, fmt.Errorf("jobs of the stream: %w", err)
	}
	if err := each(ctx, jobs.Batches(), r.addJob); err != nil {
		return CellResult{}, fmt.Errorf("jobs of the stream: %w", err)
	}
	metadata, ok := jobs.Meta()[runKey]
	if !ok {
		return CellResult{}, fmt.Errorf("jobs of the stream: the schema has no metadata %q, expected run-metadata.json under it", runKey)
	}
	c, err := newCell(r, []byte(metadata))
	if err != nil {
		return CellResult{}, fmt.Errorf("stream: %w", err)
	}
	return finish(c, "stream", "-")
}

func finish(c *cell, name, dir string) (CellResult, error) {
	result, err := c.result(dir)
	if err != nil {
		return CellResult{}, fmt.Errorf("%s: %w", name, err)
	}
	return result, nil
}

// requestColumns are those that something is computed from.
var requestColumns = []string{
	"experiment", "arm", "trial", "class", "job", "phase", "cycle", "warmup", "crosses_phase", "custom_id", "attempt",
	"due_at", "sent_at", "done_at", "lateness_s", "ttft_s", "ttft_from_due_s", "e2e_s", "e2e_from_due_s", "tpot_s",
	"chunk_gap_s", "chunk_tokens", "prompt_tokens", "cached_tokens", "output_tokens",
	"requested_prompt_tokens", "requested_output_tokens", "token_source", "status", "http_status", "error", "output_sha256",
}

// readRequests gives every request of a cell to take, which may keep texts and numbers
// only.
func readRequests(ctx context.Context, dir string, take func(*record.Request) error) error {
	path := filepath.Join(dir, requestsFile)
	reader, err := record.ReadFile[record.Request](path)
	if err != nil {
		return whole(dir, requestsFile, err)
	}
	defer reader.Close()
	reader.Columns(requestColumns...)
	reader.Reuse()
	if err := each(ctx, reader.Batches(), take); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func readJobs(ctx context.Context, dir string, r *rows) error {
	path := filepath.Join(dir, jobsFile)
	reader, err := record.ReadFile[record.Job](path)
	if err != nil {
		return whole(dir, jobsFile, err)
	}
	defer reader.Close()
	if err := each(ctx, reader.Batches(), r.addJob); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readSamples reads the samples of the metrics that are looked at, which are a few
// of some hundred, and of the others when their source was first asked.
func readSamples(ctx context.Context, dir string, r *rows) error {
	path := filepath.Join(dir, metricsFile)
	reader, err := record.ReadFile[record.Sample](path)
	if err != nil {
		return whole(dir, metricsFile, err)
	}
	defer reader.Close()
	if r.scraped, err = record.FirstSamples(path); err != nil {
		return err
	}
	reader.Only("canonical", keepsMetric)
	reader.Columns(sampleColumns...)
	reader.Reuse()
	for samples, err := range reader.Batches() {
		if err == nil {
			err = r.addSamples(samples)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return ctx.Err()
}

var sampleColumns = []string{"experiment", "arm", "trial", "source", "at", "metric", "canonical", "value", "labels"}

// each numbers the rows from 1 and stops at the first error.
func each[T record.Row](ctx context.Context, batches iter.Seq2[[]T, error], take func(*T) error) error {
	n := 0
	for rows, err := range batches {
		if err != nil {
			return err
		}
		for i := range rows {
			n++
			if err := take(&rows[i]); err != nil {
				return fmt.Errorf("row %d: %w", n, err)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return ctx.Err()
}

// UnfinishedError says that a cell has a file that its run did not finish.
type UnfinishedError struct{ File string }

func (e UnfinishedError) Error() string {
	return fmt.Sprintf("%s: not there, only %s is: the run did not finish", e.File, record.Partial(filepath.Base(e.File)))
}

// Hint implements the hint line of the command.
func (e UnfinishedError) Hint() string { return "bg-load recover makes a file of it" }

// whole explains why a file of a cell cannot be opened.
func whole(dir, name string, err error) error {
	path := filepath.Join(dir, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, statErr := os.Stat(record.Partial(path)); statErr == nil {
		return UnfinishedError{path}
	}
	return fmt.Errorf("cell %s: %w", dir, err)
}
