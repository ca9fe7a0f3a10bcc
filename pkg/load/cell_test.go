package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/record"
)

var testID = Identity{Experiment: "unit", Arm: "arm", Trial: 1, Seed: 7}

func testMeta() record.Metadata {
	return record.Metadata{SchemaVersion: 1, Experiment: "unit", Arm: "arm", Trial: 1, Seed: 7, Stack: json.RawMessage(`{"a":1}`)}
}

func testRow(i int) record.Request {
	row := testID.blank()
	row.Class, row.RequestID, row.Attempt, row.Status = record.ClassInteractive, fmt.Sprintf("r%d", i), 1, record.StatusOK
	return row
}

// writeCell writes a cell with n requests and one row of a job.
func writeCell(t *testing.T, out Output, n int, meta record.Metadata) error {
	t.Helper()
	if err := out.Begin(meta); err != nil {
		return err
	}
	rec := NewRecorder(out)
	for i := range n {
		rec.Request(testRow(i))
	}
	rec.Job(record.Job{Experiment: "unit", Arm: "arm", Trial: 1, Job: "A", ObservedAt: time.Unix(1000, 0), Status: "completed"})
	if err := rec.Close(); err != nil {
		return err
	}
	return out.Finish(meta)
}

// requestIDs reads the ids of a stream or file of requests.
func requestIDs(t *testing.T, r *record.Reader[record.Request], err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var ids []string
	for row, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, row.RequestID)
	}
	return ids
}

func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestACellHoldsRowsInTheOrderInWhichTheyWereWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cells", "arm", "t1")
	cell, err := CreateCell(dir, testID, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeCell(t, cell, 3*recorderBatch, testMeta()); err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, dir), "jobs.parquet requests.parquet run-metadata.json"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
	r, err := record.ReadFile[record.Request](filepath.Join(dir, RequestsFile))
	ids := requestIDs(t, r, err)
	if len(ids) != 3*recorderBatch {
		t.Fatalf("found %d rows, expected %d", len(ids), 3*recorderBatch)
	}
	for i, id := range ids {
		if id != fmt.Sprintf("r%d", i) {
			t.Fatalf("row %d is %s", i, id)
		}
	}
	var meta record.Metadata
	text, err := os.ReadFile(filepath.Join(dir, MetadataFile))
	if err != nil || json.Unmarshal(text, &meta) != nil || meta.Experiment != "unit" {
		t.Errorf("metadata %s: %v", text, err)
	}
}

func TestAFinishedCellIsNotOverwrittenByAccident(t *testing.T) {
	other := testID
	other.Arm = "other"
	interrupted := testMeta()
	interrupted.Interrupted = true
	for _, c := range []struct {
		name  string
		found record.Metadata
		id    Identity
		force bool
		want  string // "" where the cell may be written
	}{
		{"the same cell", testMeta(), testID, false, "--force measures it again"},
		{"the same cell with force", testMeta(), testID, true, ""},
		{"the same cell, which was interrupted", interrupted, testID, false, ""},
		{"another arm", testMeta(), other, false, "give every cell a folder of its own"},
		{"another arm with force", testMeta(), other, true, "give every cell a folder of its own"},
		{"another arm that was interrupted", interrupted, other, false, "give every cell a folder of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cell, err := CreateCell(dir, testID, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := writeCell(t, cell, 1, c.found); err != nil {
				t.Fatal(err)
			}
			_, err = CreateCell(dir, c.id, c.force)
			var occupied *OccupiedError
			switch {
			case c.want == "" && err != nil:
				t.Errorf("found error %v, expected none", err)
			case c.want != "" && !errors.As(err, &occupied):
				t.Errorf("found error %v, expected that the folder is occupied", err)
			case c.want != "" && occupied.Hint() != c.want:
				t.Errorf("found hint %q, expected %q", occupied.Hint(), c.want)
			}
			if got, want := files(t, dir), "jobs.parquet requests.parquet run-metadata.json"; got != want {
				t.Errorf("asking changed the folder: found %s, expected %s", got, want)
			}
		})
	}
}

func TestARunThatBeginsAgainIsUnfinished(t *testing.T) {
	dir := t.TempDir()
	cell, err := CreateCell(dir, testID, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeCell(t, cell, 1, testMeta()); err != nil {
		t.Fatal(err)
	}
	again, err := CreateCell(dir, testID, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Begin(testMeta()); err != nil {
		t.Fatal(err)
	}
	if err := again.WriteRequests(testRow(0), testRow(1)); err != nil {
		t.Fatal(err)
	}
	if err := again.Abandon(); err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, dir), "jobs.parquet.partial requests.parquet.partial"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}

	found, err := Recover(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(found), fmt.Sprint([]Recovered{{Path: filepath.Join(dir, RequestsFile), Rows: 2}, {Path: filepath.Join(dir, JobsFile)}}); got != want {
		t.Errorf("recovered %s, expected %s", got, want)
	}
	if found, err := Recover(dir); err != nil || len(found) != 2 || !found[0].Whole || !found[1].Whole {
		t.Errorf("found %v and error %v, expected that both are there already", found, err)
	}
}

func TestWhatARunMeasuredBeforeItWasCutIsKept(t *testing.T) {
	virtual := testMeta()
	virtual.Clock = clockVirtual
	for name, c := range map[string]struct {
		again     record.Metadata
		force     bool
		recovered bool
		want      string
	}{
		"by the next run":                   {testMeta(), false, false, "jobs.parquet.partial jobs.parquet.partial.cut requests.parquet.partial requests.parquet.partial.cut"},
		"recovered, by the next run":        {testMeta(), false, true, "jobs.parquet.cut jobs.parquet.partial jobs.parquet.partial.cut requests.parquet.cut requests.parquet.partial requests.parquet.partial.cut"},
		"not with force":                    {testMeta(), true, true, "jobs.parquet.partial requests.parquet.partial"},
		"not where the same run can be had": {virtual, false, false, "jobs.parquet.partial requests.parquet.partial"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			killed := &Cell{dir: dir}
			if err := killed.Begin(testMeta()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(killed.WriteRequests(testRow(0)), killed.Abandon()); err != nil {
				t.Fatal(err)
			}
			if c.recovered {
				if _, err := Recover(dir); err != nil {
					t.Fatal(err)
				}
			}
			again, err := CreateCell(dir, testID, c.force)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Begin(c.again); err != nil {
				t.Fatal(err)
			}
			if got := files(t, dir); got != c.want {
				t.Errorf("found %s, expected %s", got, c.want)
			}
			if err := again.Abandon(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestASecondCutCostsNotTheFirst(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		cell, err := CreateCell(dir, testID, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := cell.Begin(testMeta()); err != nil {
			t.Fatal(err)
		}
		if err := cell.Abandon(); err != nil {
			t.Fatal(err)
		}
	}
	want := "jobs.parquet.partial jobs.parquet.partial.cut jobs.parquet.partial.cut2 " +
		"requests.parquet.partial requests.parquet.partial.cut requests.parquet.partial.cut2"
	if got := files(t, dir); got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}

func TestOneFileIsRecoveredAlone(t *testing.T) {
	dir := t.TempDir()
	cell := &Cell{dir: dir}
	if err := cell.Begin(testMeta()); err != nil {
		t.Fatal(err)
	}
	if err := cell.Abandon(); err != nil {
		t.Fatal(err)
	}
	found, err := Recover(filepath.Join(dir, "jobs.parquet.partial"))
	if err != nil || len(found) != 1 || found[0].Path != filepath.Join(dir, JobsFile) {
		t.Errorf("found %v and error %v, expected the jobs alone", found, err)
	}
	if _, err := Recover(t.TempDir()); err == nil || !strings.Contains(err.Error(), "found nothing to recover") {
		t.Errorf("an empty folder: found error %v", err)
	}
}

func TestAPipeCarriesBothStreamsAndTheMetadata(t *testing.T) {
	var pipe bytes.Buffer
	meta := testMeta()
	if err := writeCell(t, NewPipe(&pipe), 3, meta); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(&pipe)
	r, err := record.NewReader[record.Request](in)
	if ids := requestIDs(t, r, err); strings.Join(ids, " ") != "r0 r1 r2" {
		t.Errorf("found requests %v", ids)
	}
	jobs, err := record.NewReader[record.Job](in)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for job, err := range jobs.All() {
		if err != nil || job.Job != "A" {
			t.Errorf("job %+v: %v", job, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("found %d rows of jobs, expected 1", n)
	}
	var found record.Metadata
	if err := json.Unmarshal([]byte(jobs.Meta()[RunKey]), &found); err != nil || found.Experiment != "unit" || string(found.Stack) != `{"a":1}` {
		t.Errorf("metadata %+v: %v", found, err)
	}
	if in.Buffered() != 0 || pipe.Len() != 0 {
		t.Errorf("%d bytes follow the second stream", in.Buffered()+pipe.Len())
	}
}

// fullDisk is an output whose writes fail after the first.
type fullDisk struct {
	Output
	written int
}

func (d *fullDisk) WriteRequests(rows ...record.Request) error {
	if d.written++; d.written > 1 {
		return errors.New("no space left on device")
	}
	return nil
}

func TestARecorderTellsTheFirstFailureAndNeverBlocks(t *testing.T) {
	disk := &fullDisk{}
	rec := NewRecorder(disk)
	for i := range 4 * recorderDepth {
		rec.Request(testRow(i))
	}
	if err := rec.Close(); err == nil || err.Error() != "no space left on device" {
		t.Errorf("found error %v, expected that there is no space left", err)
	}
	if disk.written != 2 {
		t.Errorf("found %d writes, expected none after the one that failed", disk.written)
	}
}

func BenchmarkRecorder(b *testing.B) {
	cell := &Cell{dir: b.TempDir()}
	if err := cell.Begin(testMeta()); err != nil {
		b.Fatal(err)
	}
	rec := NewRecorder(cell)
	row := testRow(0)
	row.ChunkGapS, row.ChunkTokens = make([]float32, 499), make([]int32, 500)
	b.ReportAllocs()
	for b.Loop() {
		rec.Request(row)
	}
	if err := rec.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	if err := cell.Abandon(); err != nil {
		b.Fatal(err)
	}
}
