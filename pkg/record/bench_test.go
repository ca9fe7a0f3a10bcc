package record

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"
)

// benchRequests are rows as a run makes them: streams of 50 gaps.
func benchRequests(n int) []Request {
	rows := make([]Request, n)
	at := time.UnixMicro(1_790_000_000_000_000).UTC()
	text := func(s string) *string { return &s }
	for i := range rows {
		due := at.Add(time.Duration(i) * time.Millisecond)
		seconds, tokens, cycle, ok := float64(i)/1000, int64(50+i%7), int32(i%4), int32(200)
		r := &rows[i]
		*r = Request{
			Experiment: "batch-gateway", Arm: "s3-admission-aimd", Trial: 1, Seed: 42,
			Class: ClassInteractive, Phase: text("burst"), Cycle: &cycle, RequestID: fmt.Sprintf("t1-%08d", i), Attempt: 1,
			DueAt: &due, SentAt: &due, HeadersAt: &due, FirstChunkAt: &due, FirstTokenAt: &due, LastTokenAt: &due, DoneAt: &due,
			LatenessS: &seconds, TTFTS: &seconds, TTFTFromDueS: &seconds, E2ES: &seconds, E2EFromDueS: &seconds, TPOTS: &seconds,
			ChunkGapS: make([]float32, 50), ChunkTokens: make([]int32, 51),
			PromptTokens: &tokens, OutputTokens: &tokens, RequestedOutputTokens: &tokens, TokenSource: text(TokensFromUsage),
			Status: StatusOK, HTTPStatus: &ok, FinishReason: text("length"),
			Endpoint: text("vllm-0"), BytesSent: &tokens, BytesReceived: &tokens,
		}
		for g := range r.ChunkGapS {
			r.ChunkGapS[g] = 0.02 + float32((i*31+g*17)%1000)/1e5
			r.ChunkTokens[g] = 1
		}
	}
	return rows
}

// benchSamples are n ticks of some 1,000 series.
func benchSamples(n int) []Sample {
	at := time.UnixMicro(1_790_000_000_000_000).UTC()
	model, engine := "Qwen/Qwen3-8B", "0"
	var rows []Sample
	for tick := range n {
		for series := range 1000 {
			le := fmt.Sprint(series % 20)
			metric := fmt.Sprintf("vllm:metric_%d_seconds_bucket", series/20)
			rows = append(rows, Sample{
				Experiment: "batch-gateway", Arm: "s3-admission-aimd", Trial: 1, Source: "vllm-0",
				At: at.Add(time.Duration(tick) * time.Second), Metric: metric, Canonical: metric, Value: float64(tick * series), Type: "histogram",
				ModelName: &model, LE: &le, Engine: &engine,
				Labels:   fmt.Sprintf(`{"engine":"0","le":"%d","model_name":"Qwen/Qwen3-8B"}`, series%20),
				SeriesID: int64(series) * 0x9E3779B97F4A7C,
			})
		}
	}
	return rows
}

func BenchmarkWriteRequests(b *testing.B) { benchmarkWrite(b, benchRequests(20_000)) }
func BenchmarkWriteSamples(b *testing.B)  { benchmarkWrite(b, benchSamples(50)) }
func BenchmarkReadRequests(b *testing.B)  { benchmarkRead(b, benchRequests(20_000)) }
func BenchmarkReadSamples(b *testing.B)   { benchmarkRead(b, benchSamples(50)) }

func BenchmarkSampleSet(b *testing.B) {
	rows := benchSamples(50)
	b.ReportAllocs()
	for b.Loop() {
		var set SampleSet
		set.Add(rows...)
		n := 0
		for batch := range set.batches() {
			n += len(batch)
		}
		if n != len(rows) {
			b.Fatalf("%d samples went in, %d came out", len(rows), n)
		}
	}
	perRow(b, len(rows))
}

// benchmarkWrite measures what a run pays for (stream) and the whole way to the
// Parquet file (file).
func benchmarkWrite[T Row](b *testing.B, rows []T) {
	b.Run("stream", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w, err := NewStreamWriter[T](io.Discard, nil)
			must(b, err)
			must(b, w.Write(rows...))
			must(b, w.Close())
		}
		perRow(b, len(rows))
	})
	b.Run("file", func(b *testing.B) {
		b.ReportAllocs()
		path := filepath.Join(b.TempDir(), "rows.parquet")
		for b.Loop() {
			w, err := Create[T](path, nil)
			must(b, err)
			must(b, w.Write(rows...))
			must(b, w.Close())
		}
		perRow(b, len(rows))
	})
}

func benchmarkRead[T Row](b *testing.B, rows []T) {
	b.Run("stream", func(b *testing.B) {
		var pipe bytes.Buffer
		w, err := NewStreamWriter[T](&pipe, nil)
		must(b, err)
		must(b, w.Write(rows...))
		must(b, w.Close())
		b.ReportAllocs()
		for b.Loop() {
			r, err := NewReader[T](bytes.NewReader(pipe.Bytes()))
			must(b, err)
			drain(b, r, len(rows))
		}
		perRow(b, len(rows))
	})
	b.Run("file", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "rows.parquet")
		w, err := Create[T](path, nil)
		must(b, err)
		must(b, w.Write(rows...))
		must(b, w.Close())
		b.ReportAllocs()
		for b.Loop() {
			r, err := ReadFile[T](path)
			must(b, err)
			drain(b, r, len(rows))
			must(b, r.Close())
		}
		perRow(b, len(rows))
	})
}

func drain[T Row](b *testing.B, r *Reader[T], want int) {
	n := 0
	for _, err := range r.All() {
		must(b, err)
		n++
	}
	if n != want {
		b.Fatalf("read %d rows, expected %d", n, want)
	}
}

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}
