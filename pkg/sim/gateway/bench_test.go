package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// benchInput is a job as profile default has it: lines of 21 kB.
func benchInput(n int) string {
	system := strings.Repeat("lorem ipsum dolor sit amet ", 500)
	user := strings.Repeat("consectetur adipiscing ", 330)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"custom_id":"job-a-%04d","method":"POST","url":"/v1/chat/completions","body":{"model":"Qwen/Qwen3-8B","messages":[{"role":"system","content":"%d %s"},{"role":"user","content":"%s"}],"max_tokens":500,"ignore_eos":true}}`+"\n",
			i, i%32, system, user)
	}
	return b.String()
}

func BenchmarkParseLine(b *testing.B) {
	line := strings.TrimSuffix(benchInput(1), "\n")
	b.Run("scanner", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parseLine(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeLine(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkResult(b *testing.B) {
	call := &sim.Call{ID: "batch_req_1", Model: "m", Prompt: sim.PromptOf(make([]uint32, 3500))}
	end := sim.End{Status: 200, FinishReason: "length", Usage: sim.Usage{PromptTokens: 3500, OutputTokens: 500}}
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = resultOf(call, end, "", 0).append(text[:0], call.ID, "a")
	}
}

// constantBackend answers every call after one latency.
type constantBackend struct {
	k       *kernel.Kernel
	latency time.Duration
}

func (c constantBackend) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	c.k.After(c.latency, func() {
		reply.End(c.k.Now(), sim.End{
			Status: 200, FinishReason: "length",
			Usage: sim.Usage{PromptTokens: call.Prompt.Len(), OutputTokens: call.MaxTokens},
		})
	})
	return func() {}
}

// BenchmarkGateway runs three jobs of 1,000 lines of 21 kB from upload to their
// end; the work of the model servers is not in it.
func BenchmarkGateway(b *testing.B) {
	input := []byte(benchInput(1000))
	cfg := Config{Gateway: spec.Gateway{
		NumWorkers: 3, Concurrency: spec.Concurrency{Global: 200, PerEndpoint: 100},
		PollInterval: spec.Duration(5 * time.Second), RequestTimeout: spec.Duration(5 * time.Minute),
		InitialBackoff: spec.Duration(time.Second), MaxBackoff: spec.Duration(time.Minute),
		Quirks: spec.ObservedQuirks(),
	}}
	b.ReportAllocs()
	for b.Loop() {
		k := kernel.NewVirtual()
		g := New(k, cfg, constantBackend{k, 10 * time.Second})
		for _, window := range []string{"30m", "2h", "24h"} {
			f, apiErr := g.Upload(DefaultTenant, Upload{Purpose: "batch", Filename: "job.jsonl", Content: input})
			if apiErr != nil {
				b.Fatal(apiErr)
			}
			if _, apiErr := g.CreateBatch(DefaultTenant, fmt.Appendf(nil,
				`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":%q}`, f.ID, window), nil); apiErr != nil {
				b.Fatal(apiErr)
			}
		}
		k.At(20*time.Minute, k.Stop)
		if err := k.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		for _, job := range g.batches {
			if job.Status != openai.BatchCompleted || job.RequestCounts.Completed != 1000 {
				b.Fatalf("%s %+v", job.Status, job.RequestCounts)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/3000, "µs/line")
}
