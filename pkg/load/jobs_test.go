package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// scripted is a JobService whose jobs go through the statuses given, one a poll.
type scripted struct {
	k        *kernel.Kernel
	takes    time.Duration // of a submission
	refuses  error
	polls    func(n int) (openai.Batch, error) // n from 1
	results  func(n int) ([]Result, error)
	asked    int
	read     int
	pollTime []time.Duration

	cancelled   []string
	cancelTakes time.Duration
	cancelErr   error
}

func (s *scripted) Submit(job inputs.JobFile, _ func(int64), done func(openai.Batch, error)) {
	s.k.After(s.takes, func() {
		done(openai.Batch{ID: "batch_" + job.Name, Status: openai.BatchValidating, CreatedAt: 1000}, s.refuses)
	})
}

func (s *scripted) Cancel(id string, done func(openai.Batch, error)) {
	s.cancelled = append(s.cancelled, id)
	s.k.After(s.cancelTakes, func() { done(batchOf(id, openai.BatchCancelling, 1, 0), s.cancelErr) })
}

func (s *scripted) Poll(_ string, done func(openai.Batch, error)) {
	s.asked++
	s.pollTime = append(s.pollTime, s.k.Now())
	done(s.polls(s.asked))
}

func (s *scripted) Results(_ openai.Batch, done func([]Result, error)) {
	s.read++
	done(s.results(s.read))
}

func batchOf(id, status string, completed, failed int64) openai.Batch {
	return openai.Batch{
		ID: id, Status: status, CreatedAt: 1000,
		RequestCounts: openai.RequestCounts{Total: 4, Completed: completed, Failed: failed},
	}
}

// endsAfter is completed at poll n, and in progress before.
func endsAfter(n int) func(int) (openai.Batch, error) {
	return func(i int) (openai.Batch, error) {
		if i < n {
			return batchOf("batch_A", openai.BatchInProgress, int64(i), 0), nil
		}
		return batchOf("batch_A", openai.BatchCompleted, 4, 0), nil
	}
}

func okResult(i int) Result {
	return Result{CustomID: fmt.Sprintf("A-%d", i), RequestID: fmt.Sprintf("r%d", i), Status: record.StatusOK, HTTPStatus: 200,
		Usage: &openai.Usage{PromptTokens: 9, CompletionTokens: 3}}
}

func statuses(rows []record.Job) string {
	var all []string
	for _, j := range rows {
		all = append(all, j.Status)
	}
	return strings.Join(all, " ")
}

func TestEveryPollOfAJobIsARow(t *testing.T) {
	k := kernel.NewVirtual()
	service := &scripted{k: k, takes: 300 * time.Millisecond, polls: endsAfter(3),
		results: func(int) ([]Result, error) { return []Result{okResult(2), okResult(0)}, nil }}
	r, rows := virtualReplay(t, testSet(t, dues(0), 4), k, answering(k, time.Second, 0, 1), service, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := statuses(rows.jobs), "validating in_progress in_progress completed"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
	for i, at := range service.pollTime {
		if want := 300*time.Millisecond + time.Duration(i+1)*time.Second; at != want {
			t.Errorf("poll %d was at %v, expected %v", i, at, want)
		}
	}
	j := rows.jobs[0]
	if j.BatchID != "batch_A" || j.CreatedAt.Unix() != 1000 || j.InProgressAt != nil || j.CompletionWindowS != 3600 {
		t.Errorf("found %+v", j)
	}

	// The jobs are sent in the lead of 5 s, the one request of the schedule comes after it.
	var lines []string
	for _, row := range rows.requests {
		if row.Class == record.ClassInteractive {
			if got := seconds(t, k, row.SentAt); got != 5 {
				t.Errorf("schedule time 0 is at %v s, expected 5", got)
			}
			continue
		}
		if row.Class != record.ClassBatch || *row.Job != "A" || row.SentAt != nil || row.DueAt != nil || row.Phase != nil || *row.RequestedOutputTokens != 3 {
			t.Errorf("row of a batch line: %+v", row)
		}
		lines = append(lines, fmt.Sprintf("%s/%d/%s", *row.CustomID, *row.PromptIndex, row.Status))
	}
	// In the order of the output file, then what is missing in it.
	if got, want := strings.Join(lines, " "), "A-2/2/ok A-0/0/ok A-1/1/incomplete A-3/3/incomplete"; got != want {
		t.Errorf("found lines %s, expected %s", got, want)
	}
	if last := rows.requests[len(rows.requests)-2]; last.Status == record.StatusIncomplete && *last.Error != "no terminal result" {
		t.Errorf("error %q", *last.Error)
	}
}

func TestScheduleTimeZeroWaitsForTheCreationOfAllJobs(t *testing.T) {
	k := kernel.NewVirtual()
	service := &scripted{k: k, takes: 8 * time.Second, polls: endsAfter(1),
		results: func(int) ([]Result, error) { return nil, nil }}
	r, _ := virtualReplay(t, testSet(t, dues(0), 1), k, answering(k, time.Second, 0, 1), service, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.ScheduleStart(); got != At(8*time.Second) {
		t.Errorf("schedule time 0 is %v, expected 8s", got)
	}
	if w := strings.Join(r.Warnings(), "\n"); !strings.Contains(w, "creating the jobs took 8s, longer than the lead of 5s") {
		t.Errorf("warnings: %s", w)
	}
}

func TestJobsAreCreatedOneAfterTheOther(t *testing.T) {
	k := kernel.NewVirtual()
	service := &scripted{k: k, takes: time.Second, polls: endsAfter(1),
		results: func(int) ([]Result, error) { return nil, nil }}
	r, rows := virtualReplay(t, testSet(t, nil, 1, 1, 1), k, answering(k, 0, 0, 1), service, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, j := range rows.jobs {
		if j.Status == openai.BatchValidating {
			found = append(found, fmt.Sprintf("%s at %v", j.Job, seconds(t, k, &j.ObservedAt)))
		}
	}
	if got, want := strings.Join(found, ", "), "A at 1, B at 2, C at 3"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}

func TestALineThatWasAnsweredTwiceHasTwoRows(t *testing.T) {
	k := kernel.NewVirtual()
	stranger := Result{CustomID: "X-9", Status: record.StatusOK}
	service := &scripted{k: k, polls: endsAfter(1),
		results: func(int) ([]Result, error) { return []Result{okResult(0), okResult(0), stranger}, nil }}
	r, rows := virtualReplay(t, testSet(t, nil, 1), k, answering(k, 0, 0, 1), service, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(rows.requests) != 3 || rows.requests[0].Attempt != 1 || rows.requests[1].Attempt != 2 {
		t.Fatalf("found %d rows, expected 3 with attempts 1 and 2", len(rows.requests))
	}
	if rows.requests[2].PromptIndex != nil || rows.requests[2].Status != record.StatusProtocolError {
		t.Errorf("a result for no line of the file: line %v, status %s", rows.requests[2].PromptIndex, rows.requests[2].Status)
	}
}

func TestPollsThatFailAreToldAndDoNotEndTheJob(t *testing.T) {
	k := kernel.NewVirtual()
	refused := errors.New("connection refused")
	service := &scripted{k: k,
		polls: func(n int) (openai.Batch, error) {
			if n == 2 {
				return openai.Batch{}, refused
			}
			return endsAfter(4)(n)
		},
		results: func(n int) ([]Result, error) {
			if n == 1 {
				return nil, refused
			}
			return []Result{okResult(0)}, nil
		}}
	r, rows := virtualReplay(t, testSet(t, nil, 1), k, answering(k, 0, 0, 1), service, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := statuses(rows.jobs), "validating in_progress in_progress completed"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
	if len(rows.requests) != 1 || rows.requests[0].Status != record.StatusOK {
		t.Errorf("found rows %+v, expected one that is ok", rows.requests)
	}
	if got, want := strings.Join(r.Warnings(), "\n"), "job A: 2 questions to the Batch API failed, the last one with: connection refused"; got != want {
		t.Errorf("found warnings %q, expected %q", got, want)
	}
}

func TestAJobThatDoesNotEndIsGivenUpAfterTheDrain(t *testing.T) {
	k := kernel.NewVirtual()
	service := &scripted{k: k, polls: endsAfter(1 << 30)}
	r, rows := virtualReplay(t, testSet(t, nil, 2), k, answering(k, 0, 0, 1), service, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := k.Now(), 85*time.Second; got != want {
		t.Errorf("the run ended at %v, expected lead 5s + schedule 20s + drain 60s", got)
	}
	if len(rows.requests) != 2 || rows.requests[0].Status != record.StatusIncomplete {
		t.Errorf("found %d rows, expected 2 that are incomplete", len(rows.requests))
	}
	if len(rows.jobs) < 84 {
		t.Errorf("found %d rows of the job, expected one a second", len(rows.jobs))
	}
}

func TestARunFailsWhenAJobIsRefused(t *testing.T) {
	k := kernel.NewVirtual()
	service := &scripted{k: k, refuses: errors.New("found status 400, expected 200: bad purpose")}
	set := testSet(t, dues(0), 1)
	r, rows := virtualReplay(t, set, k, answering(k, 0, 0, 1), service, backlogNone)
	err := r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "job A: submitting "+set.Jobs[0].Path) {
		t.Errorf("found error %v, expected one that names the job and its file", err)
	}
	for _, row := range rows.requests {
		if row.Class == record.ClassInteractive {
			t.Error("the schedule began without its jobs")
		}
	}
}

func TestTheJobsOfAnInterruptedRunAreCancelledWhenAsked(t *testing.T) {
	for name, c := range map[string]struct {
		asked     bool
		takes     time.Duration
		err       error
		cancelled string
		last      string // status of the last row of the job
		warning   string
	}{
		"not asked":                      {false, 0, nil, "", openai.BatchInProgress, ""},
		"asked":                          {true, time.Second, nil, "batch_A", openai.BatchCancelling, ""},
		"a gateway that refuses":         {true, time.Second, errors.New("no"), "batch_A", openai.BatchInProgress, "job A: no"},
		"a gateway that does not answer": {true, time.Hour, nil, "batch_A", openai.BatchInProgress, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := kernel.NewVirtual()
			service := &scripted{k: k, polls: endsAfter(99), cancelTakes: c.takes, cancelErr: c.err}
			r, rows := virtualReplay(t, testSet(t, dues(0), 4), k, answering(k, time.Second, 0, 1), service, backlogNone)
			r.cfg.CancelJobs = c.asked
			ctx, interrupt := context.WithCancel(t.Context())
			k.At(8*time.Second, interrupt)
			// On the virtual clock the context is looked at every some thousand events.
			var busy func()
			busy = func() { k.After(time.Millisecond, busy) }
			k.At(8*time.Second, busy)
			if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("found %v, expected that it was interrupted", err)
			}
			if got := strings.Join(service.cancelled, " "); got != c.cancelled {
				t.Errorf("cancelled %q, expected %q", got, c.cancelled)
			}
			if got := rows.jobs[len(rows.jobs)-1].Status; got != c.last {
				t.Errorf("the last row says %s, expected %s", got, c.last)
			}
			if w := strings.Join(r.Warnings(), "\n"); c.warning != "" && !strings.Contains(w, c.warning) {
				t.Errorf("warnings: %s", w)
			}
		})
	}
}
