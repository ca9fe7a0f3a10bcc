package analysis

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
)

func TestFilesStreamsAndMemoryGiveTheSameSummary(t *testing.T) {
	for _, arm := range []string{analysistest.S0, analysistest.S1, analysistest.S2} {
		cell := analysistest.New(arm, 2)
		cell.Samples = nil // a stream has none
		want := mustSummarize(t, cell)

		dir := t.TempDir()
		if err := cell.Write(dir); err != nil {
			t.Fatal(err)
		}
		fromFiles, err := ReadCell(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var pipe bytes.Buffer
		if err := cell.Stream(&pipe); err != nil {
			t.Fatal(err)
		}
		fromPipe, err := ReadCellStream(context.Background(), &pipe)
		if err != nil {
			t.Fatal(err)
		}
		if fromPipe.Dir != "-" || fromFiles.Dir != dir {
			t.Errorf("folders %q and %q, expected - and %q", fromPipe.Dir, fromFiles.Dir, dir)
		}
		want.Dir, fromFiles.Dir, fromPipe.Dir = "", "", ""
		if diff := cmp.Diff(encode(t, want), encode(t, fromFiles)); diff != "" {
			t.Errorf("%s from files: %s", arm, diff)
		}
		if diff := cmp.Diff(encode(t, want), encode(t, fromPipe)); diff != "" {
			t.Errorf("%s from a pipe: %s", arm, diff)
		}
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	edit := func(name string, change func([]byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   []string
	}{
		{"a missing file", func(t *testing.T, dir string) { remove(t, dir, "jobs.parquet") }, []string{"jobs.parquet", "no such file"}},
		{"a truncated file", edit("requests.parquet", func(b []byte) []byte { return b[:len(b)/2] }), []string{"requests.parquet"}},
		{"a foreign file", edit("jobs.parquet", func([]byte) []byte { return []byte("a,b\n1,2\n") }), []string{"jobs.parquet", `"a,b`}},
		{"rows of another kind", func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, "jobs.parquet"), filepath.Join(dir, "requests.parquet")); err != nil {
				t.Fatal(err)
			}
		}, []string{"requests.parquet"}},
		{"metadata that is no JSON", edit("run-metadata.json", func(b []byte) []byte { return b[:10] }), []string{"run-metadata.json", "unexpected end of JSON"}},
		{"a truncated optional file", edit("metrics.parquet", func(b []byte) []byte { return b[:len(b)/2] }), []string{"metrics.parquet"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := analysistest.New(analysistest.S2, 1).Write(dir); err != nil {
				t.Fatal(err)
			}
			c.change(t, dir)
			_, err := ReadCell(context.Background(), dir)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("found %v, expected it to name %s", err, want)
				}
			}
		})
	}
}

func TestRowsAreNumberedFromOne(t *testing.T) {
	dir := t.TempDir()
	cell := analysistest.New(analysistest.S2, 1)
	*cell.Requests[6].TPOTS = -1
	if err := cell.Write(dir); err != nil {
		t.Fatal(err)
	}
	_, err := ReadCell(context.Background(), dir)
	if want := filepath.Join(dir, "requests.parquet") + ": row 7: tpot_s: found -1, expected 0 or more"; err == nil || err.Error() != want {
		t.Errorf("found %v, expected %s", err, want)
	}
}

func TestStreamsThatWereCutAreRefused(t *testing.T) {
	var pipe bytes.Buffer
	if err := analysistest.New(analysistest.S2, 1).Stream(&pipe); err != nil {
		t.Fatal(err)
	}
	whole := pipe.Bytes()
	for _, size := range []int{0, 3, 100, len(whole) / 2, len(whole) * 9 / 10} {
		if _, err := ReadCellStream(context.Background(), bytes.NewReader(whole[:size])); err == nil || !strings.Contains(err.Error(), "of the stream") {
			t.Errorf("a stream cut after %d of %d bytes gave %v", size, len(whole), err)
		}
	}
}

func TestReadingStopsWhenInterrupted(t *testing.T) {
	dir := t.TempDir()
	if err := analysistest.New(analysistest.S2, 1).Write(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadCell(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected it to be interrupted", err)
	}
}

// long is a cell of 19,500 requests with 50 gaps each.
func long() analysistest.Cell {
	cell := analysistest.New(analysistest.S0, 1)
	random := rand.New(rand.NewPCG(1, 1))
	var requests []record.Request
	for range 50 {
		for _, q := range cell.Requests {
			q.ChunkGapS, q.ChunkTokens = make([]float32, 50), make([]int32, 51)
			for i := range q.ChunkTokens {
				q.ChunkTokens[i] = 1
			}
			for i := range q.ChunkGapS {
				q.ChunkGapS[i] = 0.02 + 0.01*random.Float32()
			}
			requests = append(requests, q)
		}
	}
	cell.Requests = requests
	return cell
}

func BenchmarkCellSummary(b *testing.B) {
	cell := long()
	b.Run("memory", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := summarize(cell); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*len(cell.Requests))/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("parquet", func(b *testing.B) {
		dir := b.TempDir()
		if err := cell.Write(dir); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ReadCell(context.Background(), dir); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*len(cell.Requests))/b.Elapsed().Seconds(), "rows/s")
	})
}
