package record

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func TestFinishTakesAParquetFileAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	rows := benchSamples(3)
	var set SampleSet
	set.Add(rows...)
	var file bytes.Buffer
	must(t, writeSet(&file, &set))
	must(t, os.WriteFile(Partial(path), file.Bytes(), 0o644))
	must(t, Finish[Sample](Partial(path), path))
	got, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, file.Bytes()) {
		t.Error("the file is not the one that was there")
	}
	if _, err := os.Stat(Partial(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the partial: found %v, want that it is gone", err)
	}
	must(t, os.WriteFile(Partial(path), file.Bytes()[:file.Len()-9], 0o644))
	if err := Finish[Sample](Partial(path), path); err == nil {
		t.Error("a Parquet file that was cut off was taken")
	}
}

func writeSet(w io.Writer, set *SampleSet) error {
	_, err := writeParquet(w, func() map[string]string { return nil }, set.batches())
	return err
}

func TestSampleSetSortsBySeriesAndTime(t *testing.T) {
	rows := benchSamples(4)
	for name, order := range map[string]func(){
		"samples round by round":           func() {},
		"samples that come backwards":      func() { slices.Reverse(rows) },
		"samples without any order at all": func() { rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] }) },
	} {
		t.Run(name, func(t *testing.T) {
			order()
			want := slices.Clone(rows)
			slices.SortFunc(want, func(a, b Sample) int {
				return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.SeriesID, b.SeriesID), a.At.Compare(b.At))
			})
			var set SampleSet
			set.Add(rows...)
			var got []Sample
			for batch := range set.batches() {
				got = append(got, batch...)
			}
			if !reflect.DeepEqual(got, want) {
				t.Error("the samples came back in another order, or changed")
			}
		})
	}
}
