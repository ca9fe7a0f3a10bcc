package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"bgbench/pkg/spec"
	"bgbench/pkg/stats"
)

// Deadlines says what of the jobs was done inside their windows.
type Deadlines struct {
	Met Share `json:"met"` // jobs
	// Lines that had completed when the window of their job ended, of all lines. A job
	// of which the run saw too little to tell is left out of both.
	Lines Share         `json:"lines_in_window"`
	Order DeadlineOrder `json:"order"` // in which jobs ended
}

// DeadlineOrder asks whether the jobs ended in the order of their deadlines. Jobs that
// share the servers from the first to the last line end together, in some order by
// chance: that is what SpreadRatio is for.
type DeadlineOrder struct {
	Expected []string `json:"expected"` // by deadline
	Found    []string `json:"found"`    // by end, of those that completed
	Kept     *bool    `json:"kept"`     // null where it can't be known
	// SpreadRatio is the time between the first end and the last, as a share of that from
	// the first submission to the last end: 0 where all ended at once.
	SpreadRatio Value  `json:"spread_ratio"`
	Reason      string `json:"reason,omitempty"` // why kept is null
}

// deadlines of the jobs of a profile.
func (c *cell) deadlines(jobs []JobSummary) Deadlines {
	met, inWindow, lines := 0, 0, 0
	for i, j := range c.meta.Profile.Batch.Jobs {
		met += rank(jobs[i].Met)
		if v := jobs[i].InWindow; v.Value != nil {
			inWindow += int(math.Floor(*v.Value*float64(j.Requests) + 1e-6))
			lines += j.Requests
		}
	}
	return Deadlines{
		Met:   shareOfFew(met, len(jobs), "the profile has no job"),
		Lines: shareOf(inWindow, lines, "no job was observed until its window or the job itself ended"),
		Order: c.deadlineOrder(),
	}
}

// jobEnd is a job with what its order is judged by.
type jobEnd struct {
	name            string
	created, due    time.Time
	completed, last time.Time // completed is zero for one that did not
}

// join adds another part of a job that was too large for one file: the whole ends with
// its last part.
func (e *jobEnd) join(part jobEnd) {
	if part.due.After(e.due) {
		e.due = part.due
	}
	if part.last.After(e.last) {
		e.last = part.last
	}
	switch {
	case e.completed.IsZero() || part.completed.IsZero():
		e.completed = time.Time{}
	case part.completed.After(e.completed):
		e.completed = part.completed
	}
}

func (c *cell) deadlineOrder() DeadlineOrder {
	o := DeadlineOrder{Expected: []string{}, Found: []string{}}
	unknown := func(format string, args ...any) DeadlineOrder {
		o.Reason = fmt.Sprintf(format, args...)
		o.SpreadRatio = missing(0, "%s", o.Reason)
		return o
	}
	var ends []jobEnd
	whole := map[string]string{}
	for _, j := range c.meta.Profile.Batch.Jobs {
		whole[j.Name] = j.Whole()
	}
	for _, h := range c.jobs {
		e := jobEnd{name: h.name, created: h.firstSeen(), last: h.last.ObservedAt}
		e.due = e.created.Add(seconds(h.window(c.meta.Profile)))
		if h.last.Status == "completed" && h.last.CompletedAt != nil {
			e.completed = *h.last.CompletedAt
		}
		if n := len(ends); n > 0 && whole[ends[n-1].name] == whole[h.name] && whole[h.name] != h.name {
			ends[n-1].join(e)
			continue
		}
		ends = append(ends, e)
	}
	for i := range ends {
		ends[i].name = whole[ends[i].name]
	}
	slices.SortStableFunc(ends, func(a, b jobEnd) int { return a.due.Compare(b.due) })
	for _, e := range ends {
		o.Expected = append(o.Expected, e.name)
	}
	if len(ends) < 2 {
		return unknown("an order needs two jobs, %d were observed", len(ends))
	}
	if same := slices.IndexFunc(ends[1:], func(e jobEnd) bool { return e.due.Equal(ends[0].due) }); same >= 0 {
		return unknown("jobs %s and %s have the same deadline", ends[0].name, ends[same+1].name)
	}
	byEnd := slices.DeleteFunc(slices.Clone(ends), func(e jobEnd) bool { return e.completed.IsZero() })
	slices.SortStableFunc(byEnd, func(a, b jobEnd) int { return a.completed.Compare(b.completed) })
	for _, e := range byEnd {
		o.Found = append(o.Found, e.name)
	}
	if n := len(byEnd); n >= 2 {
		first := slices.MinFunc(ends, func(a, b jobEnd) int { return a.created.Compare(b.created) }).created
		whole := byEnd[n-1].completed.Sub(first).Seconds()
		o.SpreadRatio = measured(byEnd[n-1].completed.Sub(byEnd[0].completed).Seconds()/whole, n)
	} else {
		o.SpreadRatio = missing(n, "fewer than two jobs completed")
	}
	kept := true
	for i := range ends[1:] {
		earlier, later := ends[i], ends[i+1]
		switch {
		case later.completed.IsZero() && !earlier.completed.IsZero(): // whenever it ends, it is later
		case later.completed.IsZero():
			return unknownOrder(o, kept, "neither of the jobs %s and %s completed", earlier.name, later.name)
		case earlier.completed.IsZero() || !earlier.completed.Before(later.completed):
			kept = false
		}
	}
	o.Kept = &kept
	return o
}

// unknownOrder: one pair that stands the wrong way decides, whatever else is not known.
func unknownOrder(o DeadlineOrder, kept bool, format string, args ...any) DeadlineOrder {
	if !kept {
		o.Kept = &kept
		return o
	}
	o.Reason = fmt.Sprintf(format, args...)
	return o
}

// window of the job in seconds: as the API had it, else as the profile asks.
func (h *jobHistory) window(p spec.Profile) float64 {
	if h.last.CompletionWindowS > 0 {
		return h.last.CompletionWindowS
	}
	i := slices.IndexFunc(p.Batch.Jobs, func(j spec.Job) bool { return j.Name == h.name })
	return p.Batch.Jobs[i].Window.Seconds()
}

// inWindow is the share of the lines that had completed when the window ended.
func (h *jobHistory) inWindow(window float64) Value {
	end := h.firstSeen().Add(seconds(window))
	total := h.last.Total
	if total == 0 {
		return missing(0, "the job had no lines yet")
	}
	done, known := h.completedAt(end)
	if !known {
		return missing(int(total), "the run ended before the window did, with lines left")
	}
	return measured(done/float64(total), int(total))
}

// lineTimes is how long after the creation of the job its lines completed, as far as the
// polls tell: a line counts at the poll that first shows it.
func (h *jobHistory) lineTimes() (ended []float64, w watched) {
	first := h.firstSeen()
	done := int64(0)
	for _, o := range h.seen {
		for ; done < o.completed; done++ {
			ended = append(ended, o.at.Sub(first).Seconds())
		}
	}
	last := h.seen[len(h.seen)-1]
	left := int(h.last.Total - h.last.Completed)
	switch {
	case last.ended: // failed, expired, cancelled: they will not complete
		w.never = left
	default:
		w.never = int(h.last.Failed)
		for range left - w.never {
			w.times = append(w.times, last.at.Sub(first).Seconds())
		}
	}
	return ended, w
}

// ArmOrder is the order of the jobs over the trials of an arm. If every order were as
// likely, a trial would keep that of the deadlines once in k! times for k jobs; P is the
// probability of as many kept ones or more.
type ArmOrder struct {
	Jobs   int      `json:"jobs"`             // in how many jobs the order is
	Trials int      `json:"trials"`           // in which it is known
	Kept   int      `json:"kept"`             // trials in which each job ended before the next
	P      *float64 `json:"p"`                // probability of as many kept or more by chance
	Reason string   `json:"reason,omitempty"` // why there is no test
}

func armOrder(cells []CellResult) ArmOrder {
	var o ArmOrder
	for _, c := range cells {
		order := c.Batch.Deadlines.Order
		if order.Kept == nil {
			o.Reason = cmp.Or(o.Reason, order.Reason)
			continue
		}
		o.Jobs = len(order.Expected)
		o.Trials++
		o.Kept += rank(*order.Kept)
	}
	if o.Trials == 0 {
		o.Reason = cmp.Or(o.Reason, "no valid trial")
		return o
	}
	o.Reason = ""
	chance := 1.0
	for k := 2; k <= o.Jobs; k++ {
		chance /= float64(k)
	}
	o.P = finite(stats.BinomialTail(o.Kept, o.Trials, chance))
	return o
}
