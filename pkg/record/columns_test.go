package record

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// what is the columns that a test asks for.
var what = []string{"arm", "job", "phase", "custom_id", "warmup", "due_at", "ttft_s", "chunk_gap_s", "chunk_tokens", "output_tokens"}

// shown is what of a row must outlive nothing.
func shown(r Request) string {
	text := func(p *string) string {
		if p == nil {
			return "none"
		}
		return *p
	}
	s := fmt.Sprint(r.Arm, text(r.Job), text(r.Phase), text(r.CustomID), r.Warmup, r.ChunkGapS, r.ChunkTokens)
	if r.DueAt != nil {
		s += r.DueAt.String()
	}
	if r.TTFTS != nil {
		s += fmt.Sprint(*r.TTFTS)
	}
	if r.OutputTokens != nil {
		s += fmt.Sprint(*r.OutputTokens)
	}
	return s
}

func TestSomeColumnsAreReadAsWithAllOthers(t *testing.T) {
	rows := someRows[Request](3000)
	path := filepath.Join(t.TempDir(), "requests.parquet")
	writeFile(t, path, rows)
	file, err := ReadFile[Request](path)
	must(t, err)
	defer file.Close()
	pipe, err := NewReader[Request](bytes.NewReader(stream(t, nil, rows)))
	must(t, err)
	for name, r := range map[string]*Reader[Request]{"Parquet": file, "stream": pipe} {
		t.Run(name, func(t *testing.T) {
			r.Columns(what...)
			r.Reuse()
			at := 0
			for batch, err := range r.Batches() {
				must(t, err)
				for i := range batch {
					if diff := cmp.Diff(shown(rows[at]), shown(batch[i])); diff != "" {
						t.Fatalf("row %d (-want +got):\n%s", at, diff)
					}
					if batch[i].RequestID != "" || batch[i].E2ES != nil {
						t.Fatalf("row %d has columns that were not asked for: %+v", at, batch[i])
					}
					at++
				}
			}
			if at != len(rows) {
				t.Errorf("found %d rows, expected %d", at, len(rows))
			}
		})
	}
}

func TestRowsThatAreNotReusedStay(t *testing.T) {
	rows := someRows[Request](3000)
	path := filepath.Join(t.TempDir(), "requests.parquet")
	writeFile(t, path, rows)
	r, err := ReadFile[Request](path)
	must(t, err)
	defer r.Close()
	var got []Request
	for batch, err := range r.Batches() {
		must(t, err)
		got = append(got, batch...)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// BenchmarkReadColumns is BenchmarkReadRequests/file for a summary.
func BenchmarkReadColumns(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rows.parquet")
	rows := benchRequests(20_000)
	writeFile(b, path, rows)
	b.ReportAllocs()
	for b.Loop() {
		r, err := ReadFile[Request](path)
		must(b, err)
		r.Columns(what...)
		r.Reuse()
		n := 0
		for batch, err := range r.Batches() {
			must(b, err)
			n += len(batch)
		}
		if n != len(rows) {
			b.Fatalf("read %d rows, expected %d", n, len(rows))
		}
		must(b, r.Close())
	}
	perRow(b, len(rows))
}
