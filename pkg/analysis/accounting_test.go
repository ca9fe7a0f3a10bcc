package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

func TestEveryLineIsAccountedFor(t *testing.T) {
	type attempt struct {
		n      int32
		status string
	}
	cases := []struct {
		name  string
		lines [][]attempt // of a job of as many lines
		job   string      // last status
		want  Accounting  // without Retried and Evicted
	}{
		{"one ok each", [][]attempt{{{1, "ok"}}, {{1, "ok"}}}, "completed", Accounting{Submitted: 2, OK: 2}},
		{"a failure is a result", [][]attempt{{{1, "ok"}}, {{1, "http_error"}}}, "completed", Accounting{Submitted: 2, OK: 1, Failed: 1}},
		{"a line without a result of a job that ended is lost", [][]attempt{{{1, "ok"}}, {}}, "completed", Accounting{Submitted: 2, OK: 1, Lost: 1}},
		{"a line without a result of a job that went on is unfinished", [][]attempt{{{1, "ok"}}, {}}, "in_progress", Accounting{Submitted: 2, OK: 1, Unfinished: 1}},
		{"in flight at the end is no result", [][]attempt{{{1, "incomplete"}}}, "in_progress", Accounting{Submitted: 1, Unfinished: 1}},
		{"a retry that worked is one result", [][]attempt{{{1, "evicted"}, {2, "ok"}}}, "completed", Accounting{Submitted: 1, OK: 1}},
		{"a retry that failed is one result", [][]attempt{{{1, "evicted"}, {2, "timeout"}}}, "completed", Accounting{Submitted: 1, Failed: 1}},
		{"a retry in flight leaves the line without a result", [][]attempt{{{1, "evicted"}, {2, "incomplete"}}}, "in_progress", Accounting{Submitted: 1, Unfinished: 1}},
		{"two oks are a duplicate", [][]attempt{{{1, "ok"}, {2, "ok"}}}, "completed", Accounting{Submitted: 1, OK: 1, Duplicated: 1}},
		{"ok and failed at once are a duplicate", [][]attempt{{{1, "ok"}, {1, "timeout"}}}, "completed", Accounting{Submitted: 1, OK: 1, Duplicated: 1}},
		{"two failures of one attempt are a duplicate", [][]attempt{{{1, "timeout"}, {1, "timeout"}}}, "completed", Accounting{Submitted: 1, Failed: 1, Duplicated: 1}},
	}
	for _, c := range cases {
		for _, backwards := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, backwards %v", c.name, backwards), func(t *testing.T) {
				r := newRows()
				for i, line := range c.lines {
					for k := range line {
						a := line[k]
						if backwards {
							a = line[len(line)-1-k]
						}
						add(t, r, batchLine("A", fmt.Sprint(i), a.n, a.status))
					}
				}
				if err := r.addJob(&record.Job{Job: "A", Status: c.job, ObservedAt: zero}); err != nil {
					t.Fatal(err)
				}
				got, err := r.account([]spec.Job{{Name: "A", Requests: len(c.lines)}}, true)
				if err != nil {
					t.Fatal(err)
				}
				retried, evicted := 0, 0
				for _, line := range c.lines {
					retried += rank(len(line) > 1 && c.want.Duplicated == 0)
					evicted += rank(slices.ContainsFunc(line, func(a attempt) bool { return a.status == "evicted" }))
				}
				near(t, "retried", got.ofAttempts(got.Retried), float64(retried))
				near(t, "evicted", got.ofAttempts(got.Evicted), float64(evicted))
				got.Retried, got.Evicted = nil, nil
				if got != c.want {
					t.Errorf("found %+v, expected %+v", got, c.want)
				}
			})
		}
	}
}

// A 0 would claim that nothing was sent twice.
func TestAttemptsThatTheBatchAPIHidesAreNotCounted(t *testing.T) {
	r := newRows()
	add(t, r, batchLine("A", "0", 1, "ok"))
	got, err := r.account([]spec.Job{{Name: "A", Requests: 1}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for what, v := range map[string]Value{"retried": got.ofAttempts(got.Retried), "evicted": got.ofAttempts(got.Evicted)} {
		if v.Value != nil || v.Reason != "the Batch API does not show attempts" {
			t.Errorf("%s: found %s, expected none and why", what, show(v))
		}
	}
}

func batchLine(job, id string, attempt int32, status string) record.Request {
	return record.Request{Class: record.ClassBatch, Job: &job, CustomID: &id, Attempt: attempt, Status: status}
}

func add(t *testing.T, r *rows, q record.Request) {
	t.Helper()
	if err := r.addRequest(&q); err != nil {
		t.Fatal(err)
	}
}

func TestLinesThatNoJobSubmittedAreRefused(t *testing.T) {
	jobs := []spec.Job{{Name: "A", Requests: 1}}
	r := newRows()
	add(t, r, batchLine("X", "0", 1, "ok"))
	if _, err := r.account(jobs, false); err == nil || !strings.Contains(err.Error(), `job "X", which the profile does not have`) {
		t.Errorf("an unknown job gave %v", err)
	}
	r = newRows()
	add(t, r, batchLine("A", "0", 1, "ok"))
	add(t, r, batchLine("A", "1", 1, "ok"))
	if _, err := r.account(jobs, false); err == nil || err.Error() != "job A has results for 2 lines, its profile has 1" {
		t.Errorf("too many lines gave %v", err)
	}
	if err := newRows().addRequest(&record.Request{Class: record.ClassBatch, Status: "ok"}); err == nil {
		t.Error("a line without custom_id was taken")
	}
}
