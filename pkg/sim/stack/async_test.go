package stack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/kernel"
)

// submitJob gives the stack's batch gateway a job of n requests and returns its id.
func submitJob(t *testing.T, s *Stack, n, maxTokens int) string {
	t.Helper()
	var input strings.Builder
	for i := range n {
		fmt.Fprintf(&input, `{"custom_id":"r%03d","method":"POST","url":"/v1/chat/completions","body":{"model":"Qwen/Qwen3-8B","max_tokens":%d,"messages":[{"role":"user","content":"tell number %d"}]}}`+"\n", i, maxTokens, i)
	}
	f, apiErr := s.Gateway().Upload(gateway.DefaultTenant, gateway.Upload{Purpose: "batch", Filename: "job.jsonl", Content: []byte(input.String())})
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	b, apiErr := s.Gateway().CreateBatch(gateway.DefaultTenant, fmt.Appendf(nil,
		`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"2h"}`, f.ID), nil)
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	return b.ID
}

// answersOf reads the texts of a finished job by custom_id.
func answersOf(t *testing.T, s *Stack, id string) map[string]string {
	t.Helper()
	b, apiErr := s.Gateway().Batch(gateway.DefaultTenant, id)
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	if b.Status != openai.BatchCompleted || b.RequestCounts.Failed > 0 {
		t.Fatalf("the job ended %s %+v", b.Status, b.RequestCounts)
	}
	content, apiErr := s.Gateway().Content(gateway.DefaultTenant, *b.OutputFileID)
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	texts := map[string]string{}
	for text := range strings.Lines(content) {
		var line struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Body openai.ChatCompletion `json:"body"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if _, twice := texts[line.CustomID]; twice {
			t.Errorf("%s has two results", line.CustomID)
		}
		texts[line.CustomID] = line.Response.Body.Choices[0].Message.Content
	}
	return texts
}

// metricOf is the sum of a metric over its series.
func metricOf(t *testing.T, s *Stack, source, name string) float64 {
	t.Helper()
	sum := 0.0
	for _, src := range s.Sources() {
		if src.Name != source {
			continue
		}
		for _, f := range src.Registry.Gather() {
			if f.GetName() == name {
				for _, m := range f.Metric {
					sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	return sum
}

// TestABatchThroughTheQueueEndsWithTheSameTextsWhateverIsEvicted runs one job through
// gateway, queue, router and engine while interactive requests evict its requests.
func TestABatchThroughTheQueueEndsWithTheSameTextsWhateverIsEvicted(t *testing.T) {
	const requests, tokens = 60, 400
	run := func(arm string, interactive bool) (map[string]string, *Stack) {
		k := kernel.NewVirtual()
		s := build(t, k, arm, "engine.maxNumSeqs=8", "router.maxConcurrency=8", "engine.maxNumBatchedTokens=2048")
		id := submitJob(t, s, requests, tokens)
		if interactive {
			for i := range 40 {
				k.At(10*time.Second+time.Duration(i)*500*time.Millisecond, func() {
					c := call(fmt.Sprint("i", i))
					c.Objective, c.Stream, c.MaxTokens = "interactive", true, 50
					s.Inference().Submit(c, &answers{})
				})
			}
		}
		k.At(time.Hour, k.Stop)
		if err := k.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return answersOf(t, s, id), s
	}
	want, _ := run("e-none", false)
	if len(want) != requests {
		t.Fatalf("%d results, want %d", len(want), requests)
	}
	for _, arm := range []string{"e-evict", "e-evict-restart"} {
		got, s := run(arm, true)
		if evicted := metricOf(t, s, "router", "llm_d_epp_flow_control_revocations_issued_total"); evicted < 5 {
			t.Fatalf("%s: %v evictions, want some", arm, evicted)
		}
		for id, text := range want {
			if got[id] != text {
				t.Errorf("%s: %s has another text", arm, id)
			}
		}
		redone := map[string]float64{}
		for _, src := range s.Sources() {
			for _, f := range src.Registry.Gather() {
				for _, m := range f.Metric {
					if f.GetName() == "bgbench_async_redone_tokens_total" {
						redone[m.Label[0].GetValue()] = m.GetCounter().GetValue()
					}
				}
			}
		}
		if thrown := redone["output"] > 0; thrown != (arm == "e-evict-restart") || redone["prompt"] == 0 {
			t.Errorf("%s: redone %v", arm, redone)
		}
		if needed := metricOf(t, s, "async", "llm_d_async_async_tokens_total"); needed < requests*tokens {
			t.Errorf("%s: %v tokens needed", arm, needed)
		}
	}
}

func TestTheGateOfS5ClosesWhileTheRoutersQueueIsLong(t *testing.T) {
	k := kernel.NewVirtual()
	s := build(t, k, "s5-async", "router.maxConcurrency=20", "async.concurrency=10")
	submitJob(t, s, 400, 50)
	for i := range 100 {
		k.At(60*time.Second+time.Duration(i)*100*time.Millisecond, func() {
			c := call(fmt.Sprint("i", i))
			c.Objective, c.MaxTokens = "interactive-default", 4000
			s.Inference().Submit(c, &answers{})
		})
	}
	budget := func() float64 { return metricOf(t, s, "async", "llm_d_async_async_dispatch_budget") }
	var states []bool
	for at := 50 * time.Second; at < 10*time.Minute; at += time.Second {
		k.At(at, func() {
			if open := budget() > 0; len(states) == 0 || states[len(states)-1] != open {
				states = append(states, open)
			}
		})
	}
	run(t, k)
	if len(states) < 3 || !states[0] || states[1] {
		t.Errorf("open, as time went on: %v, want it to close and to open again", states)
	}
}

func TestABatchThroughTheQueueIsTheSameOnBothClocks(t *testing.T) {
	answer := func(k *kernel.Kernel) map[string]string {
		s := build(t, k, "e-none", "gateway.pollInterval=10ms", "async.pollInterval=10ms")
		id := submitJob(t, s, 12, 20)
		var watch func()
		watch = func() {
			if b, _ := s.Gateway().Batch(gateway.DefaultTenant, id); openai.Ended(b.Status) {
				k.Stop()
				return
			}
			k.After(5*time.Millisecond, watch)
		}
		k.After(0, watch)
		if err := k.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return answersOf(t, s, id)
	}
	virtual, wall := answer(kernel.NewVirtual()), answer(kernel.NewWall())
	if len(virtual) != 12 || fmt.Sprint(virtual) != fmt.Sprint(wall) {
		t.Errorf("virtual %v\nwall %v", virtual, wall)
	}
}
