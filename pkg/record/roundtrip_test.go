package record

import (
	"bytes"
	order "cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Batches of 7 and more are where parquet-go gets the nulls of value fields wrong
// (parquet-go/parquet-go#154).
var batchSizes = []int{1, 7, 64, 8192}

func TestRowsAndNullsSurviveParquet(t *testing.T) {
	roundTrip[Request](t, throughParquet[Request])
	roundTrip[Job](t, throughParquet[Job])
	roundTrip[Sample](t, throughParquet[Sample])
}

func TestRowsAndNullsSurviveArrow(t *testing.T) {
	roundTrip[Request](t, throughArrow[Request])
	roundTrip[Job](t, throughArrow[Job])
	roundTrip[Sample](t, throughArrow[Sample])
}

func roundTrip[T Row](t *testing.T, through func(t *testing.T, rows []T, batch int) []T) {
	for _, batch := range batchSizes {
		t.Run(fmt.Sprintf("%s in batches of %d", schemaOf[T]().name, batch), func(t *testing.T) {
			want := someRows[T](max(450, batch+1))
			got := through(t, want, batch)
			if wantNulls, gotNulls := nulls(want), nulls(got); !cmp.Equal(wantNulls, gotNulls) {
				t.Errorf("nulls by column (-want +got):\n%s", cmp.Diff(wantNulls, gotNulls))
			}
			if samples, ok := any(want).([]Sample); ok {
				slices.SortStableFunc(samples, bySeries)
			}
			// DeepEqual first: it is many times faster than Diff.
			if !reflect.DeepEqual(want, got) {
				t.Errorf("rows (-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

func nulls[T Row](rows []T) map[string]int {
	counts := make(map[string]int)
	for i := range rows {
		row := reflect.ValueOf(rows[i])
		for _, c := range schemaOf[T]().columns {
			if c.nullable && row.Field(c.field).IsNil() {
				counts[c.name]++
			}
		}
	}
	return counts
}

func throughParquet[T Row](t *testing.T, rows []T, batch int) []T {
	path := filepath.Join(t.TempDir(), "rows.parquet")
	w, err := Create[T](path, nil)
	must(t, err)
	for part := range slices.Chunk(rows, batch) {
		must(t, w.Write(part...))
		w.mu.Lock()
		must(t, w.stream.Flush())
		w.mu.Unlock()
	}
	must(t, w.Close())
	return readAll[T](t, path)
}

func throughArrow[T Row](t *testing.T, rows []T, batch int) []T {
	var pipe bytes.Buffer
	w, err := NewStreamWriter[T](&pipe, nil)
	must(t, err)
	for part := range slices.Chunk(rows, batch) {
		must(t, w.Write(part...))
		must(t, w.Flush())
	}
	must(t, w.Close())
	r, err := NewReader[T](&pipe)
	must(t, err)
	out := collect(t, r.All())
	if samples, ok := any(out).([]Sample); ok {
		slices.SortStableFunc(samples, bySeries)
	}
	return out
}

func bySeries(a, b Sample) int {
	return order.Or(order.Compare(a.Metric, b.Metric), order.Compare(a.SeriesID, b.SeriesID), a.At.Compare(b.At))
}

func TestNaNAndInfinitySurvive(t *testing.T) {
	rows := []Sample{{Metric: "m", Value: math.NaN()}, {Metric: "n", Value: math.Inf(1)}, {Metric: "o", Value: math.Inf(-1)}}
	for _, through := range []func(*testing.T, []Sample, int) []Sample{throughParquet[Sample], throughArrow[Sample]} {
		got := through(t, rows, 3)
		if len(got) != 3 || !math.IsNaN(got[0].Value) || !math.IsInf(got[1].Value, 1) || !math.IsInf(got[2].Value, -1) {
			t.Errorf("found %v", got)
		}
	}
}

func TestRowsOfOneBatchDoNotShareLists(t *testing.T) {
	rows := []Request{{ChunkGapS: []float32{1}}, {ChunkGapS: []float32{2}}}
	got := throughArrow(t, rows, 2)
	_ = append(got[0].ChunkGapS, 9)
	if got[1].ChunkGapS[0] != 2 {
		t.Error("appending to the list of one row changed that of the next")
	}
}
