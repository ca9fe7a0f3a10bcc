package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/async"
	"bgbench/pkg/sim/gateway/scripted"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// queueRig is a gateway in dispatch async before an async processor and a scripted
// backend.
type queueRig struct {
	*testing.T
	k       *kernel.Kernel
	g       *Gateway
	queue   *async.Processor
	backend *scripted.Backend
}

func newQueueRig(t *testing.T, change func(*spec.Async)) *queueRig {
	k := kernel.NewVirtual()
	r := &queueRig{T: t, k: k, backend: scripted.New(k, 100*time.Millisecond)}
	settings := spec.Async{
		Concurrency: 64, PollInterval: spec.Duration(time.Second), BatchSize: 100,
		RequestTimeout: spec.Duration(time.Minute), Gate: spec.Gate{Type: spec.GateConstant},
	}
	if change != nil {
		change(&settings)
	}
	r.queue = async.New(k, async.Config{Async: settings, Objective: "batch", Seed: 1}, r.backend)
	cfg := Config{Seed: 1, Async: r.queue, ModelGateways: []ModelGateway{{Model: "m1"}}}
	cfg.NumWorkers, cfg.PollInterval, cfg.InferenceObjective = 5, spec.Duration(300*time.Millisecond), "batch"
	cfg.Concurrency.Global, cfg.Concurrency.PerEndpoint = 2, 1 // both without effect
	cfg.Quirks = spec.ObservedQuirks()
	r.g = New(k, cfg, nil)
	return r
}

// queueLine is an input line whose user message is script.
func queueLine(id, model, script string) string {
	text, err := json.Marshal(map[string]any{
		"custom_id": id, "method": "POST", "url": chatPath,
		"body": map[string]any{"model": model, "messages": []openai.Message{{Role: "user", Content: "id=" + id + ";" + script}}},
	})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func (r *queueRig) create(window string, lines ...string) string {
	r.Helper()
	input := strings.Join(lines, "")
	r.backend.Read(input)
	f, apiErr := r.g.Upload(DefaultTenant, Upload{Purpose: "batch", Filename: "input.jsonl", Content: []byte(input)})
	if apiErr != nil {
		r.Fatal(apiErr)
	}
	b, apiErr := r.g.CreateBatch(DefaultTenant, fmt.Appendf(nil,
		`{"input_file_id":%q,"endpoint":%q,"completion_window":%q}`, f.ID, chatPath, window), nil)
	if apiErr != nil {
		r.Fatal(apiErr)
	}
	return b.ID
}

func (r *queueRig) run(until time.Duration) {
	r.Helper()
	r.k.At(until, r.k.Stop)
	if err := r.k.Run(r.Context()); err != nil {
		r.Fatal(err)
	}
}

func (r *queueRig) batch(id string) openai.Batch {
	r.Helper()
	b, apiErr := r.g.Batch(DefaultTenant, id)
	if apiErr != nil {
		r.Fatal(apiErr)
	}
	return b
}

// lines are the results of a file by custom_id: a status, or the code of an error.
func (r *queueRig) lines(file *string) map[string]string {
	r.Helper()
	all := map[string]string{}
	if file == nil {
		return all
	}
	content, apiErr := r.g.Content(DefaultTenant, *file)
	if apiErr != nil {
		r.Fatal(apiErr)
	}
	for text := range strings.Lines(content) {
		var line openai.BatchOutput
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			r.Fatal(err)
		}
		if _, twice := all[line.CustomID]; twice {
			r.Errorf("%s has two results", line.CustomID)
		}
		if line.Error != nil {
			all[line.CustomID] = line.Error.Code + ": " + line.Error.Message
		} else {
			all[line.CustomID] = fmt.Sprint(line.Response.StatusCode)
		}
	}
	return all
}

func equal(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestEveryLineGoesToTheQueueAndItsResultToTheFileThatUpstreamChooses(t *testing.T) {
	r := newQueueRig(t, nil)
	id := r.create("1h",
		queueLine("good", "m1", "plan=200"),
		queueLine("shed", "m1", "plan=429,200"),
		queueLine("bad", "m1", "plan=400"),
		queueLine("refused", "m1", "plan=refused"),
		queueLine("other", "m2", "plan=200"),
	)
	r.run(time.Minute)
	b := r.batch(id)
	if b.Status != openai.BatchCompleted || b.RequestCounts != (openai.RequestCounts{Total: 5, Completed: 2, Failed: 3}) {
		t.Errorf("ended %s %+v", b.Status, b.RequestCounts)
	}
	equal(t, "output file", r.lines(b.OutputFileID), map[string]string{"good": "200", "shed": "200", "bad": "400"})
	errors := r.lines(b.ErrorFileID)
	if !strings.HasPrefix(errors["refused"], "INFERENCE_ERROR: Failed to send request to inference: ") {
		t.Errorf("refused: %q", errors["refused"])
	}
	if errors["other"] != `model_not_found: model "m2" is not configured in any gateway` || len(errors) != 2 {
		t.Errorf("error file: %v", errors)
	}
	for _, row := range r.backend.Log {
		if row.Call.Objective != "batch" || row.Call.TTFTBudget < 59*time.Minute {
			t.Errorf("%s: objective %q, budget %v", row.ID, row.Call.Objective, row.Call.TTFTBudget)
		}
	}
}

func TestJobsOfTheQueueEndInTheOrderOfTheirDeadlines(t *testing.T) {
	r := newQueueRig(t, func(a *spec.Async) { a.Concurrency, a.BatchSize = 4, 10 })
	job := func(name string) []string {
		var lines []string
		for i := range 60 {
			lines = append(lines, queueLine(fmt.Sprintf("%s%02d", name, i), "m1", "lat=500"))
		}
		return lines
	}
	// Created in the wrong order, all taken by workers at once.
	ids := []string{r.create("3h", job("C")...), r.create("2h", job("B")...), r.create("1h", job("A")...)}
	ended := map[string]time.Duration{}
	var watch func()
	watch = func() {
		for _, id := range ids {
			if _, known := ended[id]; !known && openai.Ended(r.batch(id).Status) {
				ended[id] = r.k.Now()
			}
		}
		r.k.After(100*time.Millisecond, watch)
	}
	r.k.After(0, watch)
	r.run(2 * time.Minute)
	c, b, a := ended[ids[0]], ended[ids[1]], ended[ids[2]]
	if !(0 < a && a+5*time.Second < b && b+5*time.Second < c) {
		t.Errorf("A ended at %v, B at %v, C at %v, want one after the other", a, b, c)
	}
	most := 0
	for _, row := range r.backend.Log {
		most = max(most, row.InFlight)
	}
	if most != 4 {
		t.Errorf("%d in flight, want the 4 of the async processor, not the gateway's 1", most)
	}
}

func TestNothingIsCountedBeforeAResultReturns(t *testing.T) {
	r := newQueueRig(t, nil)
	id := r.create("1h", queueLine("a", "m1", "lat=20000"), queueLine("b", "m1", "lat=3000"))
	r.k.At(4*time.Second, func() {
		if c := r.batch(id).RequestCounts; c.Total != 2 || c.Completed != 0 {
			t.Errorf("counts %+v while both are in flight", c)
		}
	})
	r.k.At(8*time.Second, func() {
		if c := r.batch(id).RequestCounts; c.Completed != 1 {
			t.Errorf("counts %+v after one result", c)
		}
	})
	r.run(30 * time.Second)
}

func TestAJobThatIsCutOffWithdrawsWhatWaitsInTheQueue(t *testing.T) {
	for _, tt := range []struct {
		name, window, status, code string
		cancel                     time.Duration
	}{
		{"cancelled", "1h", openai.BatchCancelled, "batch_cancelled", 3500 * time.Millisecond},
		{"expired", "4s", openai.BatchExpired, "batch_expired", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newQueueRig(t, func(a *spec.Async) { a.Concurrency = 1 })
			id := r.create(tt.window,
				queueLine("q1", "m1", "lat=400"), queueLine("q2", "m1", "lat=400"), queueLine("q3", "m1", "lat=5000"),
				queueLine("q4", "m1", "lat=5000"), queueLine("q5", "m1", "lat=5000"), queueLine("q6", "m1", "lat=5000"), queueLine("q7", "m1", "lat=5000"))
			if tt.cancel > 0 {
				r.k.At(tt.cancel, func() {
					if _, apiErr := r.g.Cancel(DefaultTenant, id); apiErr != nil {
						t.Error(apiErr)
					}
				})
			}
			r.run(2 * time.Minute)
			b := r.batch(id)
			if b.Status != tt.status || b.RequestCounts.Completed+b.RequestCounts.Failed != 7 {
				t.Fatalf("ended %s %+v", b.Status, b.RequestCounts)
			}
			errors := r.lines(b.ErrorFileID)
			for custom, text := range errors {
				if !strings.HasPrefix(text, tt.code+": ") {
					t.Errorf("%s: %s", custom, text)
				}
			}
			// What was in flight ran on; nothing was sent after the cut.
			sent := len(r.backend.Log)
			if got := len(r.lines(b.OutputFileID)) + len(errors); got != 7 || sent > len(r.lines(b.OutputFileID))+1 {
				t.Errorf("%d results, %d requests sent", got, sent)
			}
			if last := r.backend.Log[sent-1]; last.Arrived >= 4*time.Second {
				t.Errorf("%s was sent at %v", last.ID, last.Arrived)
			}
		})
	}
}

// The queue knows deadlines in whole seconds: what is left of the last one is no use.
func TestLinesFailInTheQueueBeforeTheirJobExpires(t *testing.T) {
	r := newQueueRig(t, nil)
	id := r.create("4500ms", queueLine("slow", "m1", "lat=20000"))
	r.run(time.Minute)
	b := r.batch(id)
	if b.Status != openai.BatchCompleted || b.RequestCounts.Failed != 1 {
		t.Errorf("ended %s %+v", b.Status, b.RequestCounts)
	}
	if got := r.lines(b.ErrorFileID)["slow"]; got != "INFERENCE_ERROR: Failed to send request to inference: context deadline exceeded" {
		t.Errorf("slow: %s", got)
	}
}

func TestALineThatTheServerCannotReadIsAnsweredAsTheServerWould(t *testing.T) {
	r := newQueueRig(t, nil)
	line := `{"custom_id":"odd","method":"POST","url":"/v1/chat/completions","body":{"model":"m1","max_tokens":"many","messages":[]}}` + "\n"
	id := r.create("1h", line, queueLine("good", "m1", ""))
	r.run(time.Minute)
	b := r.batch(id)
	equal(t, "output file", r.lines(b.OutputFileID), map[string]string{"good": "200", "odd": "400"})
}

func TestTheQueueLeavesNoAIMDAndNoSlots(t *testing.T) {
	r := newQueueRig(t, nil)
	r.create("1h", queueLine("a", "m1", "plan=429,429,200"))
	r.run(time.Minute)
	var names []string
	for _, f := range r.g.Processor().Gather() {
		names = append(names, f.GetName())
		if f.GetName() == "processor_inflight_requests" && f.Metric[0].Gauge.GetValue() != 0 {
			t.Error("something is in flight at the end")
		}
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "aimd") }) {
		t.Errorf("AIMD series in %v", names)
	}
}
