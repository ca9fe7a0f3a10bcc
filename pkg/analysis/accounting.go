package analysis

import (
	"fmt"
	"strings"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// line is one line of a batch job.
type line struct{ job, customID string }

// attempts is what became of a line.
type attempts struct {
	rows    int
	highest int32 // attempt number
	ok      int
	failed  int // at the highest attempt
	evicted int // attempts

	times lineTimes
	usage usage   // of its first ok attempt
	text  *uint64 // identifies the output of that, nil if the row has no hash
}

// results counts the terminal results of the line: an ok is one whenever it came, a
// failure only if no later attempt followed it.
func (a *attempts) results() int { return a.ok + a.failed }

func (r *rows) addLine(q *record.Request) error {
	if q.Job == nil || q.CustomID == nil {
		return fmt.Errorf("a row of class %s needs job and custom_id, found null", q.Class)
	}
	key := line{*q.Job, *q.CustomID}
	a := r.lines[key]
	if a == nil {
		a = &attempts{}
		// A string of a row shares the memory of its whole batch.
		key.customID = strings.Clone(key.customID)
		r.lines[key] = a
	}
	a.add(q)
	return nil
}

func (a *attempts) add(q *record.Request) {
	a.rows++
	a.times.add(q)
	if q.Status == record.StatusEvicted {
		a.evicted++
	}
	if q.Attempt > a.highest {
		a.highest, a.failed = q.Attempt, 0
	}
	switch {
	case q.Status == record.StatusOK:
		a.ok++
		if a.ok == 1 {
			a.usage = usageOf(q)
			a.text = identify(q.OutputSHA256)
		}
	case q.Status == record.StatusIncomplete: // no result yet when the run ended
	case q.Attempt == a.highest:
		a.failed++
	}
}

// account says where the lines of the jobs went. The Batch API gives a line one row,
// however often it was sent: only an arm that sends them itself shows attempts.
func (r *rows) account(jobs []spec.Job, attempts bool) (Accounting, error) {
	var total Accounting
	retried, evicted := 0, 0
	perJob := make(map[string]*Accounting)
	for _, j := range jobs {
		perJob[j.Name] = &Accounting{Submitted: j.Requests}
	}
	for key, a := range r.lines {
		job := perJob[key.job]
		if job == nil {
			return total, fmt.Errorf("custom_id %q belongs to job %q, which the profile does not have", key.customID, key.job)
		}
		switch {
		case a.ok > 0:
			job.OK++
		case a.failed > 0:
			job.Failed++
		}
		switch {
		case a.results() > 1:
			job.Duplicated++
		case a.rows > 1:
			retried++
		}
		evicted += rank(a.evicted > 0)
	}
	for _, j := range jobs {
		job := perJob[j.Name]
		without := job.Submitted - job.OK - job.Failed
		if without < 0 {
			return total, fmt.Errorf("job %s has results for %d lines, its profile has %d", j.Name, job.OK+job.Failed, job.Submitted)
		}
		if h := r.jobs[j.Name]; h != nil && ended(h.last.Status) {
			job.Lost = without
		} else {
			job.Unfinished = without
		}
		total.Submitted += job.Submitted
		total.OK += job.OK
		total.Failed += job.Failed
		total.Lost += job.Lost
		total.Unfinished += job.Unfinished
		total.Duplicated += job.Duplicated
	}
	if attempts {
		total.Retried, total.Evicted = &retried, &evicted
	} else {
		total.Reason = "the Batch API does not show attempts"
	}
	return total, nil
}

// ofAttempts is a count of lines that may be hidden.
func (a Accounting) ofAttempts(n *int) Value {
	if n == nil {
		return missing(0, "%s", a.Reason)
	}
	return measured(float64(*n), a.Submitted)
}
