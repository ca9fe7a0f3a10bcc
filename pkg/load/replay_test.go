package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// backlogNone is the backlog of an arm that has none.
var backlogNone spec.Backlog

// memory is Rows that a test looks at.
type memory struct {
	requests []record.Request
	jobs     []record.Job
	err      error
}

func (m *memory) Request(r record.Request) { m.requests = append(m.requests, r) }
func (m *memory) Job(j record.Job)         { m.jobs = append(m.jobs, j) }
func (m *memory) Err() error               { return m.err }

// transportFunc is a Transport that a test writes in place.
type transportFunc func(req *Request, done func(Attempt)) (cancel func())

func (f transportFunc) Start(req *Request, done func(Attempt)) func() { return f(req, done) }

// answering answers every request with n tokens, the first after first and the
// others gap apart.
func answering(k *kernel.Kernel, first, gap time.Duration, n int) Transport {
	return transportFunc(func(_ *Request, done func(Attempt)) func() {
		a := &Attempt{Sent: At(k.Now())}
		over := false
		end := func(status string) {
			if over {
				return
			}
			over = true
			a.Status, a.Done = status, At(k.Now())
			done(*a)
		}
		var token func()
		token = func() {
			if over {
				return
			}
			a.Content(k.Now(), 1)
			if len(a.ChunkTokens) < n {
				k.After(gap, token)
				return
			}
			a.OutputTokens, a.TokenSource = ptr(int64(n)), record.TokensFromContinuousUsage
			a.HTTPStatus = 200
			end(record.StatusOK)
		}
		k.After(first, token)
		return func() { end(record.StatusCancelled) }
	})
}

// dues is a schedule with one request at each of the seconds given.
func dues(seconds ...float64) []inputs.Due {
	var lines []inputs.Due
	for i, s := range seconds {
		lines = append(lines, inputs.Due{
			I: i, DueNS: int64(s * 1e9), Phase: "burst", Class: record.ClassInteractive, Prompt: i % 2,
		})
	}
	return lines
}

// testSet is a trial with a burst of 10 s and an idle of 10 s, and the jobs named,
// of so many lines each.
func testSet(t testing.TB, schedule []inputs.Due, jobs ...int) *inputs.Set {
	t.Helper()
	set := &inputs.Set{
		Manifest: inputs.Manifest{
			Experiment: "unit", Trial: 1, Seed: 7,
			Profile: spec.Profile{
				Model: "m",
				Interactive: spec.Interactive{
					Cycles: 1, RequestTimeout: spec.Duration(time.Minute),
					Phases: []spec.Phase{
						{Name: "burst", Rate: 1, Duration: spec.Duration(10 * time.Second), Class: spec.ClassInteractive},
						{Name: "idle", Rate: 1, Duration: spec.Duration(10 * time.Second), Class: spec.ClassInteractive},
					},
				},
				Batch: spec.Batch{Lead: spec.Duration(5 * time.Second)},
				Drain: spec.Drain{Interactive: spec.Duration(20 * time.Second), Jobs: spec.Duration(60 * time.Second)},
			},
		},
		Prompts: []inputs.Prompt{
			{Prompt: 0, User: "zero", PromptTokens: 9, MaxTokens: 3},
			{Prompt: 1, User: "one", PromptTokens: 9, MaxTokens: 3},
		},
		Schedule: schedule,
	}
	dir := t.TempDir()
	for j, n := range jobs {
		name := string(rune('A' + j))
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `{"custom_id":"%s-%d","method":"POST","url":"/v1/chat/completions",`+
				`"body":{"model":"m","messages":[{"role":"user","content":"line %d"}],"max_tokens":3}}`+"\n", name, i, i)
		}
		path := filepath.Join(dir, "job-"+name+".jsonl")
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		set.Jobs = append(set.Jobs, inputs.JobFile{Name: name, Path: path, Requests: n, Window: time.Hour})
	}
	return set
}

// virtualReplay is a replay of set on a virtual clock. The arm sends jobs through
// service, or from a backlog where it has none.
func virtualReplay(t testing.TB, set *inputs.Set, k *kernel.Kernel, tr Transport, service JobService, backlog spec.Backlog) (*Replay, *memory) {
	t.Helper()
	dispatch := spec.DispatchSync
	if service == nil {
		dispatch = spec.DispatchBacklog
	}
	work, err := ReadWork(set, spec.Arm{Name: "arm", Dispatch: dispatch, Backlog: backlog})
	if err != nil {
		t.Fatal(err)
	}
	rows := &memory{}
	return NewReplay(k, ReplayConfig{
		Identity: Identity{Experiment: "unit", Arm: "arm", Trial: 1, Seed: 7},
		Inputs:   set, Work: work, Backlog: backlog, Transport: tr, Jobs: service, Rows: rows,
	}), rows
}

func seconds(t *testing.T, k *kernel.Kernel, at *time.Time) float64 {
	t.Helper()
	if at == nil {
		t.Fatal("instant is null")
	}
	return at.Sub(k.Epoch()).Seconds()
}

func TestRequestsLeaveAtTheirDueTimesHoweverSlowTheAnswers(t *testing.T) {
	k := kernel.NewVirtual()
	r, rows := virtualReplay(t, testSet(t, dues(0, 0.5, 0.5, 9.999)), k, answering(k, 15*time.Second, time.Second, 3), nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(rows.requests) != 4 {
		t.Fatalf("found %d rows, expected 4", len(rows.requests))
	}
	for i, want := range []float64{0, 0.5, 0.5, 9.999} {
		row := rows.requests[i]
		if got := seconds(t, k, row.SentAt); got != want {
			t.Errorf("request %d left at %v s, expected %v s", i, got, want)
		}
		if *row.LatenessS != 0 || *row.TTFTS != 15 || *row.TTFTFromDueS != 15 || *row.E2ES != 17 || *row.TPOTS != 1 {
			t.Errorf("request %d: lateness %v ttft %v e2e %v tpot %v, expected 0 15 17 1", i, *row.LatenessS, *row.TTFTS, *row.E2ES, *row.TPOTS)
		}
		if len(row.ChunkTokens) != 3 || len(row.ChunkGapS) != 2 {
			t.Errorf("request %d: %d chunks and %d gaps, expected 3 and 2", i, len(row.ChunkTokens), len(row.ChunkGapS))
		}
		if *row.Phase != "burst" || !row.CrossesPhase {
			t.Errorf("request %d: phase %s crosses %v, expected burst and true", i, *row.Phase, row.CrossesPhase)
		}
		if row.Status != record.StatusOK || row.RequestID != fmt.Sprintf("arm-t1-%d", i) {
			t.Errorf("request %d: status %s id %s", i, row.Status, row.RequestID)
		}
	}
}

func TestARequestThatEndsInItsPhaseDoesNotCross(t *testing.T) {
	k := kernel.NewVirtual()
	r, rows := virtualReplay(t, testSet(t, dues(1)), k, answering(k, time.Second, 0, 1), nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows.requests[0].CrossesPhase || rows.requests[0].TPOTS != nil {
		t.Errorf("crosses %v, tpot %v, expected false and null", rows.requests[0].CrossesPhase, rows.requests[0].TPOTS)
	}
	if got := k.Now(); got != 20*time.Second {
		t.Errorf("the run ended at %v, expected the end of the schedule at 20s", got)
	}
}

func TestRequestsNameTheObjectiveOfTheirClassAndTheSaltOfTheirTrial(t *testing.T) {
	lines := dues(1, 2, 3)
	lines[1].Class = record.ClassStandard
	set := testSet(t, lines)
	set.Manifest.Profile.Prompt.CacheSalt = true
	k := kernel.NewVirtual()
	answer := answering(k, time.Second, 0, 1)
	var salts []string
	r, rows := virtualReplay(t, set, k, transportFunc(func(req *Request, done func(Attempt)) func() {
		salts = append(salts, req.Chat.CacheSalt)
		return answer.Start(req, done)
	}), nil, spec.Backlog{Concurrency: 1})
	r.cfg.Router = spec.Router{
		Kind:                 spec.RouterEPP,
		Objectives:           []spec.Objective{{Name: "chat", Priority: 10}, {Name: "bulk", Priority: -1}},
		InteractiveObjective: "chat",
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, priority := range []int32{10, 0, 10} {
		if row := rows.requests[i]; *row.Priority != priority || row.Class != lines[i].Class {
			t.Errorf("request %d: priority %d, class %s, expected %d, %s", i, *row.Priority, row.Class, priority, lines[i].Class)
		}
		if salts[i] != "unit/t1" {
			t.Errorf("request %d: cache salt %q, expected unit/t1", i, salts[i])
		}
	}
}

func TestARequestThatTakesTooLongIsATimeout(t *testing.T) {
	k := kernel.NewVirtual()
	set := testSet(t, dues(1))
	set.Manifest.Profile.Interactive.RequestTimeout = spec.Duration(4 * time.Second)
	r, rows := virtualReplay(t, set, k, answering(k, time.Second, time.Second, 1000), nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := rows.requests[0]
	if row.Status != record.StatusTimeout || *row.E2ES != 4 || *row.Error != "total timeout after 4s" {
		t.Errorf("status %s after %v s (%s), expected timeout after 4 s", row.Status, *row.E2ES, *row.Error)
	}
	if *row.TTFTS != 1 {
		t.Errorf("the first token, which did come, is %v s after the start, expected 1", *row.TTFTS)
	}
}

func TestWhatIsInFlightAfterTheDrainIsIncomplete(t *testing.T) {
	k := kernel.NewVirtual()
	r, rows := virtualReplay(t, testSet(t, dues(0, 1)), k, answering(k, 2*time.Second, time.Second, 1000), nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(rows.requests) != 2 {
		t.Fatalf("found %d rows, expected 2", len(rows.requests))
	}
	for _, row := range rows.requests {
		if row.Status != record.StatusIncomplete || row.DoneAt != nil || row.E2ES != nil || *row.TTFTS != 2 {
			t.Errorf("status %s done %v ttft %v, expected incomplete, null, 2", row.Status, row.DoneAt, *row.TTFTS)
		}
	}
	if got := k.Now(); got != 40*time.Second {
		t.Errorf("the run ended at %v, expected 20s of schedule + 20s of drain", got)
	}
}

func TestARunThatIsInterruptedRecordsWhatIsInFlight(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	k := kernel.NewWall()
	started := 0
	tr := transportFunc(func(_ *Request, done func(Attempt)) func() {
		if started++; started == 2 {
			interrupt()
		}
		sent := At(k.Now())
		return func() { done(Attempt{Sent: sent, Status: record.StatusCancelled}) }
	})
	r, rows := virtualReplay(t, testSet(t, dues(0, 0.001, 9)), k, tr, nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("found error %v, expected context canceled", err)
	}
	if len(rows.requests) != 2 {
		t.Fatalf("found %d rows, expected one for each of the 2 that were sent", len(rows.requests))
	}
	for _, row := range rows.requests {
		if row.Status != record.StatusIncomplete {
			t.Errorf("status %s, expected incomplete", row.Status)
		}
	}
}

func TestARunEndsWhenItsRowsCannotBeStored(t *testing.T) {
	k := kernel.NewVirtual()
	r, rows := virtualReplay(t, testSet(t, dues(0, 1, 2, 3)), k, answering(k, time.Hour, 0, 1), nil, spec.Backlog{Concurrency: 1})
	full := errors.New("no space left on device")
	k.At(1500*time.Millisecond, func() { rows.err = full })
	if err := r.Run(t.Context()); !errors.Is(err, full) {
		t.Errorf("found error %v, expected %v", err, full)
	}
	if k.Now() != 2*time.Second {
		t.Errorf("the run ended at %v, expected at 2s", k.Now())
	}
}

func TestTheBacklogKeepsItsConcurrencyAndItsOrder(t *testing.T) {
	k := kernel.NewVirtual()
	inFlight, most := 0, 0
	var order []string
	answer := answering(k, time.Second, 0, 1)
	tr := transportFunc(func(req *Request, done func(Attempt)) func() {
		inFlight++
		most = max(most, inFlight)
		order = append(order, req.CustomID)
		if !req.Chat.Stream || req.Chat.StreamOptions == nil {
			t.Error("a line of the backlog does not stream")
		}
		return answer.Start(req, func(a Attempt) { inFlight--; done(a) })
	})
	r, rows := virtualReplay(t, testSet(t, nil, 3, 2), k, tr, nil, spec.Backlog{Concurrency: 2})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "A-0 A-1 A-2 B-0 B-1"; strings.Join(order, " ") != want || most != 2 {
		t.Errorf("sent %v with up to %d in flight, expected %s with 2", order, most, want)
	}
	for _, row := range rows.requests {
		if row.Class != record.ClassBatchEquivalent || row.DueAt != nil || row.LatenessS != nil || row.Phase != nil || row.TTFTS == nil {
			t.Errorf("%s: class %s, due %v, phase %v", *row.CustomID, row.Class, row.DueAt, row.Phase)
		}
	}
	last := map[string]record.Job{}
	for _, j := range rows.jobs {
		last[j.Job] = j
	}
	// A: lines end at 1, 1, 2; B: at 2, 3.
	for name, end := range map[string]float64{"A": 2, "B": 3} {
		j := last[name]
		if j.Status != openai.BatchCompleted || j.Completed != j.Total || seconds(t, k, j.CompletedAt) != end {
			t.Errorf("job %s: %s %d/%d at %v, expected completed at %v s", name, j.Status, j.Completed, j.Total, j.CompletedAt, end)
		}
	}
	if j := rows.jobs[0]; j.Status != openai.BatchInProgress || j.InProgressAt == nil || j.CompletedAt != nil {
		t.Errorf("first row of a job: %s, in progress at %v, expected in_progress", j.Status, j.InProgressAt)
	}
}

func TestABacklogWithARateIsOpenLoop(t *testing.T) {
	k := kernel.NewVirtual()
	r, rows := virtualReplay(t, testSet(t, nil, 5), k, answering(k, 30*time.Second, 0, 1), nil, spec.Backlog{Rate: 4})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows.requests {
		if got, want := seconds(t, k, row.SentAt), float64(i)/4; got != want {
			t.Errorf("line %d left at %v s, expected %v s", i, got, want)
		}
	}
}

func TestTheBacklogIsAttributedToThePhaseOfItsSending(t *testing.T) {
	k := kernel.NewVirtual()
	// Lead of 5 s, then burst until 15 s and idle until 25 s; a line every 6 s.
	r, rows := virtualReplay(t, testSet(t, nil, 5), k, answering(k, 6*time.Second, 0, 1), nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"null", "burst", "burst", "idle", "idle"}
	for i, row := range rows.requests {
		phase := "null"
		if row.Phase != nil {
			phase = *row.Phase
		}
		if phase != want[i] {
			t.Errorf("line %d: phase %s, expected %s", i, phase, want[i])
		}
	}
	if !rows.requests[0].CrossesPhase || rows.requests[1].CrossesPhase {
		t.Error("the line that was sent before the schedule and ended in it crosses, the next one does not")
	}
}

func TestABacklogThatIsNotDoneAfterTheDrainIsIncomplete(t *testing.T) {
	k := kernel.NewVirtual()
	r, rows := virtualReplay(t, testSet(t, nil, 4), k, answering(k, time.Hour, 0, 1), nil, spec.Backlog{Concurrency: 2})
	r.cfg.Inputs.Manifest.Profile.Interactive.RequestTimeout = 0
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for _, row := range rows.requests {
		if row.Status != record.StatusIncomplete {
			t.Errorf("%s: status %s, expected incomplete", *row.CustomID, row.Status)
		}
		if row.SentAt != nil {
			sent++
		}
	}
	if len(rows.requests) != 4 || sent != 2 {
		t.Errorf("found %d rows, %d of them sent, expected 4 and 2", len(rows.requests), sent)
	}
	if last := rows.jobs[len(rows.jobs)-1]; last.Status != openai.BatchInProgress {
		t.Errorf("the job ended with status %s, expected in_progress", last.Status)
	}
}
