package analysis

import (
	"cmp"
	"slices"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// jobHistory is what was observed of one job.
type jobHistory struct {
	name string
	seen []observation
	last record.Job
}

type observation struct {
	at                       time.Time
	total, completed, failed int64
	ended                    bool
	// underWay says that a worker of the gateway has the job: it does not wait in the
	// gateway's own queue.
	underWay bool
}

func (h *jobHistory) add(j record.Job) {
	o := observationOf(j)
	if len(h.seen) == 0 || compareObservations(observationOf(h.last), o) < 0 {
		h.last = j
	}
	h.seen = append(h.seen, o)
}

func observationOf(j record.Job) observation {
	return observation{j.ObservedAt, j.Total, j.Completed, j.Failed, ended(j.Status), underWay(j.Status)}
}

// compareObservations orders by time; of several at one instant, the one that is
// further along comes last.
func compareObservations(a, b observation) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(rank(a.ended), rank(b.ended)),
		cmp.Compare(a.completed+a.failed, b.completed+b.failed), cmp.Compare(a.completed, b.completed))
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (h *jobHistory) sort() { slices.SortFunc(h.seen, compareObservations) }

// underWay says that a job with this status of the Batch API is being worked on.
func underWay(status string) bool {
	return status == "in_progress" || status == "finalizing" || status == "cancelling"
}

// ended says that a status of the Batch API is an end.
func ended(status string) bool {
	switch status {
	case "completed", "failed", "expired", "cancelled":
		return true
	}
	return false
}

// over reports whether the job is known to have nothing left to do at the
// observation: it ended, or every line has a result.
func (o observation) over() bool {
	return o.ended || o.total > 0 && o.completed+o.failed >= o.total
}

// pollSlack is how far behind an instant the last observation of a job may lie and
// still stand for it: jobs are polled once a second, and a poll may be slow.
const pollSlack = 2 * time.Second

// completedAt is the number of lines completed by an instant, on a straight line
// between two observations. It is unknown after the last observation of a job that
// went on.
func (h *jobHistory) completedAt(at time.Time) (float64, bool) {
	i, _ := slices.BinarySearchFunc(h.seen, at, func(o observation, at time.Time) int { return o.at.Compare(at) })
	if i == len(h.seen) {
		last := h.seen[i-1]
		return float64(last.completed), last.over() || at.Sub(last.at) <= pollSlack
	}
	if i == 0 {
		return float64(h.seen[0].completed), true
	}
	a, b := h.seen[i-1], h.seen[i]
	share := at.Sub(a.at).Seconds() / b.at.Sub(a.at).Seconds()
	return float64(a.completed) + share*float64(b.completed-a.completed), true
}

// firstSeen is when the job came to be.
func (h *jobHistory) firstSeen() time.Time {
	first := h.seen[0].at
	if created := h.last.CreatedAt; created != nil && created.Before(first) {
		return *created
	}
	return first
}

// summary of the job; h is nil for one that was never observed.
func (h *jobHistory) summary(job spec.Job) JobSummary {
	s := JobSummary{Job: job.Name, WindowS: job.Window.Seconds()}
	if h == nil {
		s.CompletionS = missing(0, "the job was never observed")
		s.ObservedS, s.WaitS, s.MarginS, s.InWindow = s.CompletionS, s.CompletionS, s.CompletionS, s.CompletionS
		s.LineTimes = censored(nil, watched{}, time.Time{}, s.CompletionS.Reason)
		return s
	}
	s.Status, s.Total, s.Completed, s.Failed = h.last.Status, h.last.Total, h.last.Completed, h.last.Failed
	if h.last.CompletionWindowS > 0 {
		s.WindowS = h.last.CompletionWindowS
	}
	s.CompletionS = completion(h.last)
	s.Met = s.CompletionS.Value != nil && *s.CompletionS.Value <= s.WindowS && s.Failed == 0
	s.ObservedS = measured(h.last.ObservedAt.Sub(h.firstSeen()).Seconds(), len(h.seen))
	s.WaitS = missing(0, "no worker had taken the job when it was last observed")
	if from, to := h.last.CreatedAt, h.last.InProgressAt; from != nil && to != nil {
		s.WaitS = measured(to.Sub(*from).Seconds(), 1)
	}
	s.MarginS = s.CompletionS
	if v := s.CompletionS.Value; v != nil {
		s.MarginS = measured(s.WindowS-*v, 1)
	}
	s.InWindow = h.inWindow(s.WindowS)
	ended, left := h.lineTimes()
	s.LineTimes = censored(ended, left, time.Time{}, "the job had no lines yet")
	return s
}

func completion(j record.Job) Value {
	switch {
	case j.Status == "completed" && j.CreatedAt != nil && j.CompletedAt != nil:
		return measured(j.CompletedAt.Sub(*j.CreatedAt).Seconds(), 1)
	case j.Status == "completed":
		return missing(0, "the job completed, but its created_at or completed_at is unknown")
	case ended(j.Status):
		return missing(0, "the job ended %s with %d of %d lines completed", j.Status, j.Completed, j.Total)
	}
	return missing(0, "the job was still %s when the run ended, with %d of %d lines completed",
		j.Status, j.Completed, j.Total)
}

// completedIn is the number of lines that the jobs completed in the bands, or the
// reason why it is not known.
func completedIn(jobs []*jobHistory, bands []Band, start time.Time) (float64, string) {
	var sum float64
	for _, h := range jobs {
		for _, b := range bands {
			from, _ := h.completedAt(start.Add(seconds(b.StartS)))
			to, known := h.completedAt(start.Add(seconds(b.EndS)))
			if !known {
				return 0, "job " + h.name + " was not observed until the end of the phase"
			}
			sum += to - from
		}
	}
	return sum, ""
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
