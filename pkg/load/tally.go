package load

import "bgbench/pkg/record"

// tally counts what the run's own health and its progress are made of.
type tally struct {
	due              int // requests in the schedule
	sent             int // of those, sent
	ok, failed       int
	jobOK, jobFailed int // of the lines of jobs and backlog
	lateness         durations

	firstDue, lastDue, lastSent Stamp
	written, reused             int64 // requests of all classes that met a connection
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
	if a.ConnectionReused != nil {
		t.written++
		if *a.ConnectionReused {
			t.reused++
		}
	}
	if req.Due.OK {
		if !t.firstDue.OK || req.Due.Time < t.firstDue.Time {
			t.firstDue = req.Due
		}
		t.lastDue = latest(t.lastDue, req.Due)
	}
	if req.Due.OK && a.Sent.OK {
		t.sent++
		t.lastSent = latest(t.lastSent, a.Sent)
		t.lateness.add(a.Sent.Time - req.Due.Time)
	}
}

func (t *tally) addResult(status string) {
	if status == record.StatusOK {
		t.jobOK++
	} else {
		t.jobFailed++
	}
}

func latest(a, b Stamp) Stamp {
	if !a.OK || b.Time > a.Time {
		return b
	}
	return a
}

// achieved is the achieved over the offered rate.
func (t *tally) achieved() *float64 {
	if t.due == 0 {
		return nil
	}
	ratio := float64(t.sent) / float64(t.due)
	if due, sent := t.lastDue.secondsSince(t.firstDue), t.lastSent.secondsSince(t.firstDue); due != nil && sent != nil && *due > 0 && *sent > *due {
		ratio *= *due / *sent
	}
	return &ratio
}

// health fills in what the rows say about the generator. Rows that were never
// sent are not late but missing: Sent falls short of Due.
func (t *tally) health() record.LoadHealth {
	return record.LoadHealth{
		Due: t.due, Sent: t.sent, AchievedOffered: t.achieved(), Outages: []record.Outage{},
		LatenessP50S: t.lateness.quantile(0.5).Seconds(), LatenessP99S: t.lateness.quantile(0.99).Seconds(), LatenessMaxS: t.lateness.largest.Seconds(),
	}
}
