package record

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestFileAppearsWhenItIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells", "s2", "jobs.parquet")
	w, err := Create[Job](path, map[string]string{"bg.run": "{}"})
	must(t, err)
	want := someRows[Job](10)
	must(t, w.Write(want[:4]...))
	must(t, w.Write(want[4:]...))
	if exists(path) || !exists(path+".partial") {
		t.Errorf("before Close: file %t, partial %t", exists(path), exists(path+".partial"))
	}
	must(t, w.Close())
	if !exists(path) || exists(path+".partial") || exists(path+".tmp") {
		t.Errorf("after Close: file %t, partial %t, temporary %t", exists(path), exists(path+".partial"), exists(path+".tmp"))
	}
	if diff := cmp.Diff(want, readAll[Job](t, path)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	must(t, w.Close()) // again does nothing
	must(t, w.Abandon())
	if err := w.Write(want...); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: found %v, expected %v", err, os.ErrClosed)
	}
}

func TestFileWithoutRowsIsReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	writeFile[Job](t, path, nil)
	if rows := readAll[Job](t, path); len(rows) != 0 {
		t.Errorf("found %d rows", len(rows))
	}
}

func TestRowsAreInThePartialFileAfterASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	var seconds [][]byte // the partial file after each second
	synctest.Test(t, func(t *testing.T) {
		w, err := Create[Job](path, map[string]string{"bg.run": "{}"})
		must(t, err)
		defer w.Abandon()
		for i := range 3 {
			must(t, w.Write(Job{Job: "A", Total: int64(i)}))
			time.Sleep(time.Second) // of the bubble's clock
			synctest.Wait()
			bytes, err := os.ReadFile(Partial(path))
			must(t, err)
			seconds = append(seconds, bytes)
		}
	})
	// Outside the bubble: the Parquet writer's compressors are shared by all tests.
	killed, recovered := path+".killed", path+".recovered"
	for i, bytes := range seconds {
		must(t, os.WriteFile(killed, bytes, 0o644))
		rows, err := Recover[Job](killed, recovered)
		must(t, err)
		if rows != int64(i+1) {
			t.Errorf("after %d s: found %d rows, expected %d", i+1, rows, i+1)
		}
	}
	got := readAll[Job](t, recovered)
	if len(got) != 3 || got[2].Total != 2 {
		t.Errorf("found %v", got)
	}
	r, err := ReadFile[Job](recovered)
	must(t, err)
	defer r.Close()
	if r.Meta()["bg.run"] != "{}" {
		t.Errorf("found metadata %v", r.Meta())
	}
	if !exists(killed) {
		t.Error("Recover removed the partial file")
	}
}

func TestAbandonKeepsThePartialFile(t *testing.T) {
	for name, create := range map[string]func(string, map[string]string) (*Writer[Job], error){
		"rows that come once":            Create[Job],
		"rows that could come once more": CreateWhole[Job],
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.parquet")
			w, err := create(path, nil)
			must(t, err)
			must(t, w.Write(someRows[Job](7)...))
			must(t, w.Abandon())
			must(t, w.Close()) // does nothing now
			if exists(path) {
				t.Error("Abandon made the file")
			}
			if _, err := Recover[Job](Partial(path), path); err != nil || len(readAll[Job](t, path)) != 7 {
				t.Errorf("found error %v and %d rows, expected 7", err, len(readAll[Job](t, path)))
			}
		})
	}
}

func TestAWholeFileAppearsWhenItIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.parquet")
	w, err := CreateWhole[Request](path, map[string]string{"bg.run": "{}"})
	must(t, err)
	rows := someRows[Request](5000)
	for part := range slices.Chunk(rows, 300) {
		must(t, w.Write(part...))
	}
	if exists(path) || !exists(Partial(path)) {
		t.Errorf("before Close: file %t, partial %t", exists(path), exists(Partial(path)))
	}
	must(t, w.Close())
	if exists(Partial(path)) || !reflect.DeepEqual(readAll[Request](t, path), rows) {
		t.Error("the partial is there, or rows came back changed")
	}
}

func TestFinishRefusesAStreamThatWasCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	must(t, os.WriteFile(Partial(path), headOf(t), 0o644))
	err := Finish[Job](Partial(path), path)
	if !errors.Is(err, ErrTruncated) || exists(path) || exists(path+".tmp") || !exists(Partial(path)) {
		t.Errorf("found error %v, file %t, temporary %t, partial %t", err, exists(path), exists(path+".tmp"), exists(Partial(path)))
	}
	wantError(t, err, "writing "+path+" (its rows are in "+path+".partial): ", "cut off before its end")
}

func TestWriterTakesRowsFromManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	w, err := Create[Job](path, nil)
	must(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 2000 {
				if err := w.Write(Job{Total: int64(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	must(t, w.Close())
	if rows := readAll[Job](t, path); len(rows) != 16_000 {
		t.Errorf("found %d rows, expected 16000", len(rows))
	}
}

// limitFileSize makes writes beyond size fail, as those to a full disk do.
func limitFileSize(t *testing.T, size uint64) (lift func()) {
	t.Helper()
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	signal.Ignore(syscall.SIGXFSZ)
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: before.Max}))
	lift = sync.OnceFunc(func() {
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
		signal.Reset(syscall.SIGXFSZ)
	})
	t.Cleanup(lift)
	return lift
}

func TestFullDiskIsReportedAndWholeBatchesStayReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	w, err := Create[Job](path, nil)
	must(t, err)
	rows := someRows[Job](2 * batchRows)
	must(t, w.Write(rows[:batchRows]...)) // a whole batch
	info, err := os.Stat(Partial(path))
	must(t, err)
	lift := limitFileSize(t, uint64(info.Size())+10_000)
	err = w.Write(rows[batchRows:]...)
	lift()
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("Write: found %v, expected %v", err, syscall.EFBIG)
	}
	wantError(t, err, "writing bg_job rows: write "+Partial(path)+": ")
	if err := w.Close(); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("Close: found %v, expected the same error", err)
	}
	if after, _ := os.Stat(Partial(path)); after.Size() != info.Size() {
		t.Errorf("the partial file has %d bytes, expected the %d of its whole batch", after.Size(), info.Size())
	}
	n, err := Recover[Job](Partial(path), path)
	if err != nil || n != batchRows {
		t.Errorf("found %d rows and error %v, expected %d", n, err, batchRows)
	}
}

func TestDiskThatIsFullWhenTheFileIsMadeKeepsThePartialFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.parquet")
	w, err := Create[Request](path, nil)
	must(t, err)
	must(t, w.Write(goldenRequest()))
	must(t, w.Abandon()) // what is left to do is what Close does at its end
	lift := limitFileSize(t, 500)
	_, err = Recover[Request](Partial(path), path)
	lift()
	if !errors.Is(err, syscall.EFBIG) || exists(path) || exists(path+".tmp") || !exists(Partial(path)) {
		t.Errorf("found error %v, file %t, temporary %t, partial %t", err, exists(path), exists(path+".tmp"), exists(Partial(path)))
	}
	wantError(t, err, "writing "+path+" (its rows are in "+Partial(path)+"): ")
}

func TestFolderThatCannotBeMadeIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	_, err := Create[Job](filepath.Join(file, "jobs.parquet"), nil)
	wantError(t, err, "creating "+filepath.Join(file, "jobs.parquet")+": ", "not a directory")
}

func TestSamplesAreSortedAndTheFileSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	samples := benchSamples(4)
	other := samples[0]
	other.Type = "gauge" // an exporter that changed its mind
	other.At = samples[0].At.Add(1500 * time.Millisecond)
	writeFile(t, path, append(slices.Clone(samples), other))
	got := readAll[Sample](t, path)
	if len(got) != len(samples)+1 || !slices.IsSortedFunc(got, bySeries) {
		t.Errorf("found %d rows, sorted %t", len(got), slices.IsSortedFunc(got, bySeries))
	}
	if got[2].Type != "gauge" || got[1].Type != "histogram" || got[3].Type != "histogram" {
		t.Errorf("the row of another type is not in its place: %s %s %s", got[1].Type, got[2].Type, got[3].Type)
	}
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	file, err := parquet.OpenFile(f, info.Size())
	must(t, err)
	var columns []string
	for _, c := range file.RowGroups()[0].SortingColumns() {
		columns = append(columns, c.Path()[0])
	}
	if want := []string{"metric", "series_id", "at"}; !slices.Equal(columns, want) {
		t.Errorf("found sorting columns %v, expected %v", columns, want)
	}
}

func TestRowGroupsAreBoundedByListElements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.parquet")
	long := Request{ChunkGapS: make([]float32, 1<<20), ChunkTokens: make([]int32, 1<<20)}
	rows := make([]Request, 9)
	for i := range rows {
		rows[i] = long
	}
	writeFile(t, path, rows)
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	file, err := parquet.OpenFile(f, info.Size())
	must(t, err)
	if groups := file.RowGroups(); len(groups) != 2 || groups[0].NumRows() != 8 {
		t.Errorf("found %d row groups, the first of %d rows", len(groups), groups[0].NumRows())
	}
}
