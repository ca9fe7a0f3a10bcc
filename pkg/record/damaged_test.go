package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// parquetOf is a small file of rows.
func parquetOf[T Row](t testing.TB) []byte {
	t.Helper()
	var file bytes.Buffer
	_, err := writeParquet(&file, func() map[string]string { return map[string]string{"bg.arm": "s2-ungated"} },
		func(yield func([]T, error) bool) { yield(someRows[T](5), nil) })
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// fuzzParquet gives a reader files of any content. A footer that promises more rows than
// there is memory for must not be believed.
func fuzzParquet[T Row](f *testing.F) {
	file := parquetOf[T](f)
	f.Add(file)
	for _, n := range []int{0, 4, len(file) / 2, len(file) - 8, len(file) - 1} {
		f.Add(file[:n])
	}
	for i := 3; i < len(file); i += len(file) / 7 {
		flipped := bytes.Clone(file)
		flipped[i] ^= 0x81
		f.Add(flipped)
	}
	path := filepath.Join(f.TempDir(), "rows.parquet") // of this process: a target has one at a time
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := ReadFile[T](path)
		if err != nil {
			return
		}
		defer r.Close()
		for _, err := range r.All() {
			if err != nil {
				return
			}
		}
	})
}

func FuzzParquetOfRequests(f *testing.F) { fuzzParquet[Request](f) }
func FuzzParquetOfJobs(f *testing.F)     { fuzzParquet[Job](f) }
func FuzzParquetOfSamples(f *testing.F)  { fuzzParquet[Sample](f) }

func TestAFileThatWasCutAnywhereIsRefused(t *testing.T) {
	t.Run("requests", refusesEveryCut[Request])
	t.Run("jobs", refusesEveryCut[Job])
	t.Run("samples", refusesEveryCut[Sample])
}

func refusesEveryCut[T Row](t *testing.T) {
	file := parquetOf[T](t)
	for n := range file {
		r, err := NewReader[T](bytes.NewReader(file[:n]))
		if err != nil {
			continue
		}
		for _, err = range r.All() {
			if err != nil {
				break
			}
		}
		if err == nil {
			t.Fatalf("the first %d of %d bytes were taken for a whole file", n, len(file))
		}
	}
}
