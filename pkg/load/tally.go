package load

import (
	"slices"

	"bgbench/pkg/record"
	"bgbench/pkg/stats"
)

// tally counts what the run's own health and its progress are made of.
type tally struct {
	due              int // requests in the schedule
	sent             int // of those, sent
	ok, failed       int
	jobOK, jobFailed int // of the lines of jobs and backlog
	lateness         []float64
}

func (t *tally) add(req *Request, a Attempt) {
	ok, failed := &t.ok, &t.failed
	if req.Job != "" {
		ok, failed = &t.jobOK, &t.jobFailed
	}
	if a.Status == record.StatusOK {
		*ok++
	} else {
		*failed++
	}
	if req.Due.OK && a.Sent.OK {
		t.sent++
		t.lateness = append(t.lateness, (a.Sent.Time - req.Due.Time).Seconds())
	}
}

func (t *tally) addResult(status string) {
	if status == record.StatusOK {
		t.jobOK++
	} else {
		t.jobFailed++
	}
}

// health fills in what the rows say about the generator. Rows that were never
// sent are not late but missing: Sent falls short of Due.
func (t *tally) health() record.LoadHealth {
	h := record.LoadHealth{Due: t.due, Sent: t.sent}
	if len(t.lateness) > 0 {
		slices.Sort(t.lateness)
		h.LatenessP50S = stats.Quantile(t.lateness, 0.5)
		h.LatenessP99S = stats.Quantile(t.lateness, 0.99)
		h.LatenessMaxS = t.lateness[len(t.lateness)-1]
	}
	return h
}
