package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/record"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/engine"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// modelOptions is a run of an arm on target model over trial 1 of a profile.
func modelOptions(t testing.TB, profile, arm string, change func(*spec.Profile)) Options {
	t.Helper()
	p, err := spec.LoadProfile(profile, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&p)
	}
	dir := t.TempDir() + "/t1"
	if _, _, err := (draw.Trial{Experiment: "unit", Number: 1, Profile: p}).Write(dir); err != nil {
		t.Fatal(err)
	}
	o := Options{StackJSON: []byte("{}"), Output: &kept{}}
	if o.Stack, err = deploy.Plan(deploy.Request{Profile: profile, Arm: arm, Target: spec.TargetModel, Trial: 1}); err != nil {
		t.Fatal(err)
	}
	if o.Inputs, err = inputs.Open(dir); err != nil {
		t.Fatal(err)
	}
	if o.Work, err = ReadWork(o.Inputs, o.Stack.Arm); err != nil {
		t.Fatal(err)
	}
	return o
}

// kept is an Output in memory.
type kept struct {
	requests         []record.Request
	jobs             []record.Job
	meta             record.Metadata
	ended, abandoned bool
	beginErr         error
}

func (o *kept) Begin(record.Metadata) error   { return o.beginErr }
func (o *kept) Started(record.Metadata) error { return nil }
func (o *kept) WriteRequests(rows ...record.Request) error {
	o.requests = append(o.requests, rows...)
	return nil
}
func (o *kept) WriteJobs(rows ...record.Job) error {
	o.jobs = append(o.jobs, rows...)
	return nil
}
func (o *kept) Finish(m record.Metadata) error {
	o.meta, o.ended = m, true
	return nil
}
func (o *kept) Abandon() error {
	o.abandoned = true
	return nil
}

func fewJobs(p *spec.Profile) {
	p.Interactive.Cycles, p.Interactive.WarmupCycles = 1, 0
	for i := range p.Batch.Jobs {
		p.Batch.Jobs[i].Requests = 10
	}
}

func TestTheMetadataSaysHowTheRunWent(t *testing.T) {
	o := modelOptions(t, "ci", "s2-ungated", fewJobs)
	out := o.Output.(*kept)
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	m := out.meta
	if !out.ended || m.Interrupted || m.Clock != "virtual" || m.Target != "model" || m.Experiment != "unit" || m.Arm != "s2-ungated" || m.Trial != 1 {
		t.Errorf("found %+v", m)
	}
	due := len(o.Inputs.Schedule)
	if m.Load.Due != due || m.Load.Sent != due || m.Load.LatenessMaxS != 0 || m.Load.SimulatedSeconds < 12 || m.Load.WallSeconds <= 0 {
		t.Errorf("found load %+v for %d requests", m.Load, due)
	}
	if got := m.ScheduleStartedAt.Sub(m.RunStartedAt); got != o.Inputs.Manifest.Profile.Batch.Lead.Std() {
		t.Errorf("schedule time 0 is %v after the start, expected the lead", got)
	}
	if m.Inputs["schedule.jsonl"] == "" || m.Profile.Name != "ci" || m.Host.CPUs < 1 {
		t.Errorf("inputs %v, profile %s, host %+v", m.Inputs, m.Profile.Name, m.Host)
	}
}

func TestEveryPromptCostsTheModelWhatTheInputsSay(t *testing.T) {
	o := modelOptions(t, "ci", "s1-no-gateway", fewJobs)
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	out := o.Output.(*kept)
	if want := len(o.Inputs.Schedule) + 30; len(out.requests) != want {
		t.Errorf("found %d rows, expected %d", len(out.requests), want)
	}
	for _, row := range out.requests {
		if row.Status != record.StatusOK || *row.OutputTokens != *row.RequestedOutputTokens {
			t.Errorf("%s: status %s, output %d tokens of %d", row.RequestID, row.Status, *row.OutputTokens, *row.RequestedOutputTokens)
		}
		if row.RequestedPromptTokens != nil && *row.PromptTokens != *row.RequestedPromptTokens {
			t.Errorf("%s: the model counted %d tokens in the prompt, the inputs %d", row.RequestID, *row.PromptTokens, *row.RequestedPromptTokens)
		}
		var sum int64
		for _, n := range row.ChunkTokens {
			sum += int64(n)
		}
		if sum != *row.OutputTokens || row.OutputSHA256 == nil {
			t.Errorf("%s: chunks carry %d tokens of %d", row.RequestID, sum, *row.OutputTokens)
		}
	}
}

func TestALineHasTheSameOutputWhicheverWayItIsSent(t *testing.T) {
	hashes := map[string]string{}
	for _, arm := range []string{"s1-no-gateway", "s2-ungated"} {
		o := modelOptions(t, "ci", arm, fewJobs)
		if err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		for _, row := range o.Output.(*kept).requests {
			if row.CustomID == nil {
				continue
			}
			if first, seen := hashes[*row.CustomID]; !seen {
				hashes[*row.CustomID] = *row.OutputSHA256
			} else if first != *row.OutputSHA256 {
				t.Errorf("%s: output %s, expected %s as without the gateway", *row.CustomID, *row.OutputSHA256, first)
			}
		}
	}
	if len(hashes) != 30 {
		t.Errorf("found %d lines, expected 30", len(hashes))
	}
}

func TestARunOnTheModelCanBeInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	o := modelOptions(t, "ci", "s2-ungated", nil)
	out := o.Output.(*kept)
	o.Progress = func(p Progress) {
		if p.Elapsed.Seconds() == 10 {
			interrupt()
		}
	}
	err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || !out.meta.Interrupted || out.abandoned {
		t.Errorf("found error %v, interrupted %v, abandoned %v", err, out.meta.Interrupted, out.abandoned)
	}
	batch := 0
	for _, row := range out.requests {
		if row.Class == record.ClassBatch {
			batch++
		}
	}
	lines := 0
	for _, job := range o.Inputs.Jobs {
		lines += job.Requests
	}
	if batch != lines {
		t.Errorf("found %d rows of job lines, expected one for each of %d", batch, lines)
	}
	if due := len(o.Inputs.Schedule); out.meta.Load.Sent == 0 || out.meta.Load.Sent >= due {
		t.Errorf("%d of %d requests were sent, expected a part", out.meta.Load.Sent, due)
	}
}

// failing is an Output that cannot take what it is given.
type failing struct {
	kept
	at string
}

var errFull = errors.New("no space left on device")

func (o *failing) fails(at string) error {
	if o.at == at {
		return errFull
	}
	return nil
}

func (o *failing) Begin(record.Metadata) error           { return o.fails("begin") }
func (o *failing) Started(record.Metadata) error         { return o.fails("started") }
func (o *failing) WriteRequests(...record.Request) error { return o.fails("write") }
func (o *failing) Finish(record.Metadata) error          { return o.fails("finish") }

func TestARunThatCannotBeStoredFails(t *testing.T) {
	o := modelOptions(t, "ci", "s2-ungated", fewJobs)
	for at, abandoned := range map[string]bool{"begin": false, "write": true, "finish": false} {
		out := &failing{at: at}
		o.Output = out
		if err := Run(t.Context(), o); !errors.Is(err, errFull) {
			t.Errorf("at %s: found error %v, expected %v", at, err, errFull)
		}
		if out.abandoned != abandoned || out.ended {
			t.Errorf("at %s: abandoned %v, ended %v", at, out.abandoned, out.ended)
		}
	}
}

func TestWhatDoesNotBelongTogetherIsRefused(t *testing.T) {
	set := &inputs.Set{Manifest: inputs.Manifest{Experiment: "one", Trial: 3, Seed: 9, Profile: spec.Profile{Name: "unit", Model: "m", MaxModelLen: 100}}}
	stack := deploy.Stack{Experiment: "one", Model: "m", MaxModelLen: 100, Arm: spec.Arm{Name: "arm"}}
	id, err := IdentityOf(stack, set)
	if want := (Identity{"one", "arm", 3, 9}); err != nil || id != want {
		t.Errorf("found %+v and error %v, expected %+v", id, err, want)
	}
	lone := stack
	lone.Experiment = ""
	if id, err := IdentityOf(lone, set); err != nil || id.Experiment != "one" {
		t.Errorf("a lone arm: found experiment %q and error %v, expected that of the inputs", id.Experiment, err)
	}
	for want, change := range map[string]func(*deploy.Stack){
		`the stack is of experiment "two", the inputs are of "one"`:                   func(s *deploy.Stack) { s.Experiment = "two" },
		`the stack serves model "x", expected "m", that of profile unit`:              func(s *deploy.Stack) { s.Model = "x" },
		`the stack serves contexts of 99 tokens, expected 100, those of profile unit`: func(s *deploy.Stack) { s.MaxModelLen = 99 },
	} {
		s := stack
		change(&s)
		if _, err := IdentityOf(s, set); err == nil || err.Error() != want {
			t.Errorf("found error %v, expected %s", err, want)
		}
	}
}

func TestAnArmNeedsWhatItsDispatchNeeds(t *testing.T) {
	set := testSet(t, dues(0), 1)
	for want, arm := range map[string]spec.Arm{
		`arm a: dispatch: found "pigeon", expected none, backlog, sync or async`:               {Name: "a", Dispatch: "pigeon"},
		`arm a: backlog: found neither a concurrency nor a rate above 0, expected one of them`: {Name: "a", Dispatch: spec.DispatchBacklog},
	} {
		if _, err := ReadWork(set, arm); err == nil || err.Error() != want {
			t.Errorf("found error %v, expected %s", err, want)
		}
	}
	o := modelOptions(t, "ci", "s0-interactive-only", fewJobs)
	o.Stack.Arm.Dispatch = spec.DispatchSync
	var err error
	if o.Work, err = ReadWork(o.Inputs, o.Stack.Arm); err != nil {
		t.Fatal(err)
	}
	o.Stack.Arm.Dispatch = spec.DispatchNone // the stack that runs is another one
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "needs a batch gateway, the stack has none") {
		t.Errorf("found error %v, expected that a batch gateway is missing", err)
	}
}

func TestThePipeOfARunOnTheModelRepeats(t *testing.T) {
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		o := modelOptions(t, "ci", "s6-low-concurrency", fewJobs)
		rows := &kept{}
		o.Output = rows
		if err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		// Metadata holds wall times, so the rows alone are compared, as bytes.
		w, err := record.NewStreamWriter[record.Request](out, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(rows.requests...), w.Close()); err != nil {
			t.Fatal(err)
		}
		j, err := record.NewStreamWriter[record.Job](out, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Write(rows.jobs...), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two runs of the same inputs gave different rows")
	}
}

func TestAnEngineThatIsStuckForEverIsTold(t *testing.T) {
	o := modelOptions(t, "ci", "s0-interactive-only", nil)
	k := kernel.NewVirtual()
	// The server refuses such a cache at its start, so the engine is built without it.
	cfg, err := engine.ConfigOf(o.Stack.Arm.Engine, o.Stack.Model, o.Stack.MaxModelLen)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Scheduler.NumGPUBlocks = 3
	e := engine.New(k, cfg)
	w := newStuckWatch(k, []*engine.Server{e})
	a := make(chan sim.End, 1)
	abort := e.Submit(&sim.Call{ID: "a", Model: o.Stack.Model, Prompt: sim.PromptOf(make([]uint32, 200)), MaxTokens: 1}, ends(a))
	k.At(5*time.Second, func() { abort(); k.Stop() })
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.warnings(); len(got) != 1 || !strings.Contains(got[0], "engine 0 was stuck from second 1 on") {
		t.Errorf("got %q", got)
	}
}

// ends is a sim.Reply of which only the end matters.
type ends chan sim.End

func (ends) Headers(kernel.Time, string)      {}
func (ends) Tokens(kernel.Time, int)          {}
func (e ends) End(_ kernel.Time, end sim.End) { e <- end }

// Whole runs in process, clients and rows included. peers is the workload on which
// simulators of LLM serving were compared: 15 req/s for 720 s, ISL 1500, OSL 500, on
// one H100. kv-bound is a 32B model on one H200 whose cache holds some 28 requests.
func BenchmarkModelRun(b *testing.B) {
	default3 := func(o *Options) { o.Stack.Arm.Engine.Replicas = 3 }
	runs := []struct {
		name, profile, arm string
		profileChange      func(*spec.Profile)
		stackChange        func(*Options)
	}{
		{"s2-default", "default", "s2-ungated", nil, default3},
		{"s4-default", "default", "s4-flow-control-aimd", nil, default3},
		{"s4-default-one-replica", "default", "s4-flow-control-aimd", nil, nil},
		{"kv-bound", "default", "e-none", kvBound, func(o *Options) {
			o.Stack.Arm.Engine.MaxNumSeqs, o.Stack.Arm.Router.MaxConcurrency = 128, 128
			o.Stack.Model, o.Stack.MaxModelLen = "Qwen/Qwen2.5-32B", 16384
		}},
		{"peers", "default", "s0-interactive-only", peers, nil},
	}
	for _, run := range runs {
		b.Run(run.name, func(b *testing.B) {
			o := modelOptions(b, run.profile, run.arm, run.profileChange)
			if run.stackChange != nil {
				run.stackChange(&o)
			}
			b.ReportAllocs()
			simulated, cpu := 0.0, 0.0
			forgetPeak()
			for b.Loop() {
				out := &kept{}
				o.Output = out
				if err := Run(b.Context(), o); err != nil {
					b.Fatal(err)
				}
				simulated += out.meta.Load.SimulatedSeconds
				cpu += out.meta.Load.CPUSeconds
			}
			b.ReportMetric(simulated/b.Elapsed().Seconds(), "simulated-s/s")
			b.ReportMetric(simulated/cpu, "simulated-s/cpu-s")
			b.ReportMetric(cpu/float64(b.N), "cpu-s/op")
			if peak, ok := peakMemory(); ok {
				b.ReportMetric(peak, "peak-MiB")
			}
		})
	}
}

// forgetPeak begins anew to watch the peak of the process's memory (proc(5),
// clear_refs). Without Linux nothing is watched.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakMemory is the greatest resident size since, in MiB, inputs included.
func peakMemory() (mib float64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib / 1024, true
		}
	}
	return 0, false
}

func kvBound(p *spec.Profile) {
	p.Model, p.MaxModelLen = "Qwen/Qwen2.5-32B", 16384
	p.Prompt.SystemPrompts = spec.SystemPrompts{}
	p.Prompt.ISL = spec.Distribution{Type: "uniform", Min: 2000, Max: 8000}
	p.Prompt.OSL = spec.Distribution{Type: "uniform", Min: 256, Max: 2000}
	p.Interactive.Phases = []spec.Phase{{Name: "steady", Class: record.ClassInteractive, Rate: 1, Duration: spec.Duration(180 * time.Second)}}
	p.Interactive.Cycles, p.Interactive.WarmupCycles = 1, 0
	p.Interactive.RequestTimeout = spec.Duration(time.Hour)
	p.Batch.Jobs = []spec.Job{{Name: "A", Requests: 64, Window: spec.Duration(time.Hour)}, {Name: "B", Requests: 64, Window: spec.Duration(time.Hour)}}
	p.Drain = spec.Drain{Interactive: spec.Duration(time.Hour), Jobs: spec.Duration(time.Hour)}
}

func peers(p *spec.Profile) {
	p.Prompt.SystemPrompts = spec.SystemPrompts{}
	p.Interactive.Phases = []spec.Phase{{Name: "steady", Class: record.ClassInteractive, Rate: 15, Duration: spec.Duration(720 * time.Second)}}
	p.Interactive.Cycles, p.Interactive.WarmupCycles = 1, 0
	p.Interactive.RequestTimeout = spec.Duration(time.Hour)
	p.Batch.Jobs = nil
	p.Drain = spec.Drain{Interactive: spec.Duration(time.Hour), Jobs: spec.Duration(time.Hour)}
}
