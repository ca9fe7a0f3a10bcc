package analysis

import (
	"testing"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(s float64) time.Time { return zero.Add(seconds(s)) }

func at(s float64) *time.Time {
	t := after(s)
	return &t
}

// history observes completed counts at instants; the last one may end the job.
func history(last string, polls ...[2]float64) *jobHistory {
	h := &jobHistory{name: "A"}
	for i, p := range polls {
		status := "in_progress"
		if i == len(polls)-1 {
			status = last
		}
		h.add(record.Job{Job: "A", ObservedAt: after(p[0]), Status: status, Total: 100, Completed: int64(p[1])})
	}
	h.sort()
	return h
}

func TestProgressBetweenPolls(t *testing.T) {
	polls := [][2]float64{{0, 10}, {10, 20}, {20, 60}}
	cases := []struct {
		name  string
		last  string
		at    float64
		want  float64
		known bool
	}{
		{"at a poll it is what was polled", "in_progress", 10, 20, true},
		{"between two polls it lies on the line", "in_progress", 15, 40, true},
		{"before the first poll nothing is gained", "in_progress", -5, 10, true},
		{"just after the last poll it stands", "in_progress", 21, 60, true},
		{"long after the last poll of a running job it is unknown", "in_progress", 25, 60, false},
		{"after the end of a job it stands for ever", "expired", 1000, 60, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, known := history(c.last, polls...).completedAt(after(c.at))
			if got != c.want || known != c.known {
				t.Errorf("found %v known %v, expected %v known %v", got, known, c.want, c.known)
			}
		})
	}
}

func TestJobSummary(t *testing.T) {
	whole := record.Job{Job: "A", Status: "completed", Total: 10, Completed: 10, CreatedAt: at(0), CompletedAt: at(60), CompletionWindowS: 60}
	with := func(change func(*record.Job)) record.Job {
		j := whole
		change(&j)
		return j
	}
	cases := []struct {
		name   string
		last   record.Job
		took   float64
		reason string
		met    bool
	}{
		{"completed at the end of its window is met", whole, 60, "", true},
		{"completed after its window is not met", with(func(j *record.Job) { j.CompletedAt = at(61) }), 61, "", false},
		{"completed with a failed line is not met", with(func(j *record.Job) { j.Completed, j.Failed = 9, 1 }), 60, "", false},
		{"expired has no completion", with(func(j *record.Job) { j.Status, j.Completed, j.CompletedAt = "expired", 4, nil }), 0,
			"the job ended expired with 4 of 10 lines completed", false},
		{"failed has no completion", with(func(j *record.Job) { j.Status, j.Completed, j.CompletedAt = "failed", 0, nil }), 0,
			"the job ended failed with 0 of 10 lines completed", false},
		{"a job that never ended has none", with(func(j *record.Job) { j.Status, j.Completed, j.CompletedAt = "in_progress", 4, nil }), 0,
			"the job was still in_progress when the run ended, with 4 of 10 lines completed", false},
		{"completed without timestamps has none", with(func(j *record.Job) { j.CompletedAt = nil }), 0,
			"the job completed, but its created_at or completed_at is unknown", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := &jobHistory{name: "A"}
			c.last.ObservedAt = after(70)
			h.add(c.last)
			s := h.summary(spec.Job{Name: "A", Window: spec.Duration(time.Hour)})
			if s.CompletionS.Reason != c.reason || c.reason == "" && *s.CompletionS.Value != c.took {
				t.Errorf("took %v, expected %v %q", show(s.CompletionS), c.took, c.reason)
			}
			if s.Met != c.met {
				t.Errorf("met %v, expected %v", s.Met, c.met)
			}
			if s.WindowS != 60 {
				t.Errorf("window %v, expected that of the rows, 60", s.WindowS)
			}
		})
	}
	t.Run("a job that was never observed has neither status nor completion", func(t *testing.T) {
		s := (*jobHistory)(nil).summary(spec.Job{Name: "C", Window: spec.Duration(time.Hour)})
		if s.Job != "C" || s.Status != "" || s.Met || s.WindowS != 3600 || s.CompletionS.Reason != "the job was never observed" {
			t.Errorf("found %+v", s)
		}
	})
}
