package record

import (
	"errors"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func inBatches(rows []Sample, of int, last error) iter.Seq2[[]Sample, error] {
	return func(yield func([]Sample, error) bool) {
		for part := range slices.Chunk(rows, of) {
			if !yield(part, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

func TestSamplesThatDoNotFitAreSortedAsIfTheyDid(t *testing.T) {
	rows := benchSamples(6)
	for i := range rows {
		if i > 4000 {
			rows[i].Type = "gauge"
		}
	}
	mixed := slices.Clone(rows)
	rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	for name, rows := range map[string][]Sample{"in the order of time": rows, "without any order": mixed} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			sortAll := func(limit int) []Sample {
				var out []Sample
				for batch, err := range sortSamples(dir, limit, inBatches(rows, 130, nil)) {
					must(t, err)
					out = append(out, batch...)
				}
				return out
			}
			want := sortAll(len(rows))
			for _, limit := range []int{1, 999, 2500} {
				if got := sortAll(limit); !reflect.DeepEqual(got, want) {
					t.Errorf("with at most %d in memory: another order, or other rows", limit)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left %v behind", left)
			}
		})
	}
}

func TestSortingFailsAsItsRowsDo(t *testing.T) {
	broken := errors.New("broken")
	for _, limit := range []int{100, 1e6} {
		var last error
		for _, err := range sortSamples(t.TempDir(), limit, inBatches(benchSamples(1), 90, broken)) {
			last = err
		}
		if !errors.Is(last, broken) {
			t.Errorf("limit %d: found %v", limit, last)
		}
	}
	var last error
	for _, err := range sortSamples(filepath.Join(t.TempDir(), "none"), 100, inBatches(benchSamples(1), 90, nil)) {
		last = err
	}
	wantError(t, last, "sorting samples: ")
}
