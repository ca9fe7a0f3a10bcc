package record

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// writeWith writes rows as another program might: in small pages and row groups, in
// either version of the page format, compressed or not.
func writeWith[T Row](t *testing.T, path string, rows []T, options ...parquet.WriterOption) {
	t.Helper()
	s := schemaOf[T]()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[T](&file, append([]parquet.WriterOption{s.parquet}, options...)...)
	for part := range slices.Chunk(rows, 7) {
		_, err := w.Write(part)
		must(t, err)
	}
	must(t, w.Close())
	must(t, os.WriteFile(path, file.Bytes(), 0o644))
}

var writers = map[string][]parquet.WriterOption{
	"one page a column":               nil,
	"small pages":                     {parquet.PageBufferSize(100)},
	"small pages of version 1":        {parquet.PageBufferSize(100), parquet.DataPageVersion(1)},
	"row groups of 100 rows":          {parquet.PageBufferSize(200), parquet.MaxRowsPerRowGroup(100)},
	"dictionaries that were given up": {parquet.PageBufferSize(200), parquet.DictionaryMaxBytes(16)},
	"dictionaries of everything": {parquet.DefaultEncodingFor(parquet.Int32, &parquet.RLEDictionary), parquet.DefaultEncodingFor(parquet.Float, &parquet.RLEDictionary),
		parquet.DefaultEncodingFor(parquet.Int64, &parquet.RLEDictionary)},
	"compressed": {parquet.Compression(&parquet.Zstd)},
}

func TestFilesOfOtherWritersAreReadWhole(t *testing.T) {
	for name, options := range writers {
		t.Run(name, func(t *testing.T) {
			readsBack(t, someRows[Request](2500), options)
			readsBack(t, someRows[Job](2500), options)
			readsBack(t, someRows[Sample](2500), options)
		})
	}
}

func readsBack[T Row](t *testing.T, rows []T, options []parquet.WriterOption) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.parquet")
	writeWith(t, path, rows, options...)
	r, err := ReadFile[T](path)
	must(t, err)
	defer r.Close()
	if got := collect(t, r.All()); !reflect.DeepEqual(got, rows) {
		t.Errorf("%T rows came back changed", rows[0])
	}
}

func TestOnlyLeavesOutTheRowsThatAreNotWanted(t *testing.T) {
	rows := someRows[Sample](2500)
	random := rand.New(rand.NewPCG(5, 6))
	wanted := func(source string) bool { return source == "a" || source == "" }
	var want []Sample
	for i := range rows {
		// Runs, as in sorted files, and single rows.
		if i%500 > 100 && random.IntN(40) > 0 {
			rows[i].Source = rows[i-1].Source
		}
		if wanted(rows[i].Source) {
			want = append(want, rows[i])
		}
	}
	stream := filepath.Join(t.TempDir(), "stream")
	var batches bytes.Buffer
	w, err := NewStreamWriter[Sample](&batches, nil)
	must(t, err)
	must(t, w.Write(rows...))
	must(t, w.Close())
	must(t, os.WriteFile(stream, batches.Bytes(), 0o644))
	files := map[string]string{"an Arrow stream": stream}
	for name, options := range writers {
		files[name] = filepath.Join(t.TempDir(), "rows.parquet")
		writeWith(t, files[name], rows, options...)
	}
	for name, path := range files {
		t.Run(name, func(t *testing.T) {
			r, err := ReadFile[Sample](path)
			must(t, err)
			defer r.Close()
			r.Only("source", wanted)
			if got := collect(t, r.All()); !reflect.DeepEqual(got, want) {
				t.Errorf("got %d rows, want %d, or other ones", len(got), len(want))
			}
			firsts := map[string]time.Time{}
			for _, s := range rows {
				earlier(firsts, s.Source, s.At)
			}
			if got, err := FirstSamples(path); err != nil || !reflect.DeepEqual(got, firsts) {
				t.Errorf("first samples: got %v, %v, want %v", got, err, firsts)
			}
		})
	}
}

// What a disk or a hand changed in a page must not end the program.
func FuzzDamagedParquet(f *testing.F) {
	var file bytes.Buffer
	_, err := writeParquet(&file, func() map[string]string { return nil }, func(yield func([]Request, error) bool) { yield(someRows[Request](50), nil) })
	if err != nil {
		f.Fatal(err)
	}
	f.Add(10, byte(1), 500, byte(0xff))
	f.Fuzz(func(t *testing.T, i int, a byte, j int, b byte) {
		damaged := bytes.Clone(file.Bytes())
		damaged[uint(i)%uint(len(damaged))] ^= a
		damaged[uint(j)%uint(len(damaged))] ^= b
		r, err := NewReader[Request](bytes.NewReader(damaged))
		if err != nil {
			return
		}
		for range r.All() {
		}
	})
}
