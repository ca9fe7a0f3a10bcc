package interop_test

import (
	"encoding/json"
	"io"
	"testing"

	"bgbench/pkg/interop"
)

// fuzz holds what must be true of any file: it is read or refused, and what is read is
// JSON and rows that no reader stumbles over.
func fuzz(f *testing.F, format interop.Format) {
	for name, of := range examples {
		if of == format {
			f.Add(read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := interop.Import(data, "f", format)
		if err != nil {
			return
		}
		if err := in.Document.WriteJSON(io.Discard); err != nil {
			t.Fatal(err)
		}
		if len(in.Document.Runs) == 0 {
			t.Fatal("no run and no error")
		}
		for _, f := range interop.ExportFormats {
			files, _, err := interop.Export(t.Context(), in.Document, f)
			if err != nil {
				continue // a run without counts has no report
			}
			for _, file := range files {
				if err := file.Write(io.Discard); err != nil {
					t.Fatalf("%s: %v", f, err)
				}
			}
		}
		for i, q := range in.Rows {
			if q.Status == "" {
				t.Fatalf("row %d has no status", i)
			}
			if gaps := len(q.ChunkGapS); gaps > 0 && len(q.ChunkTokens) != gaps+1 {
				t.Fatalf("row %d has %d gaps and %d chunks", i, gaps, len(q.ChunkTokens))
			}
			if _, err := json.Marshal(q); err != nil { // finds what is not finite, and years that are none
				t.Fatalf("row %d: %v", i, err)
			}
		}
	})
}

func FuzzGuidellmJSON(f *testing.F)  { fuzz(f, interop.GuidellmJSON) }
func FuzzGuidellmCSV(f *testing.F)   { fuzz(f, interop.GuidellmCSV) }
func FuzzInferencePerf(f *testing.F) { fuzz(f, interop.InferencePerf) }
func FuzzPerRequest(f *testing.F)    { fuzz(f, interop.InferencePerfPerRequest) }
func FuzzVLLMBench(f *testing.F)     { fuzz(f, interop.VLLMBench) }
func FuzzAIPerfJSON(f *testing.F)    { fuzz(f, interop.AIPerfJSON) }
func FuzzAIPerfJSONL(f *testing.F)   { fuzz(f, interop.AIPerfJSONL) }

// FuzzAuto reads anything.
func FuzzAuto(f *testing.F) {
	for name := range examples {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if in, err := interop.Import(data, "f", interop.Auto); err == nil && len(in.Document.Runs) == 0 {
			t.Fatal("no run and no error")
		}
	})
}
