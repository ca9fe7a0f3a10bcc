package load

import (
	"fmt"
	"slices"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// outage watches an endpoint for stretches without an answer, such as the restart of
// a server: the run goes on through them, and its metadata says when they were.
type outage struct {
	k        *kernel.Kernel
	endpoint string
	open     bool
	now      stretch // if open
	past     []stretch
	more     int
	// beside are failures that were no outage: others were answered at the time.
	beside int
}

// stretch lies between a failure and the next sign of life.
type stretch struct {
	since      kernel.Time
	until      Stamp // not set where the run ended first
	failed     int
	unanswered int // of those, requests that got nothing at all
}

// shortestOutage is more than the time between two polls: a single one that fails is no
// outage, and of a server that drops every other connection none is.
const shortestOutage = pollPeriod * 3 / 2

// maxOutages bounds the list: an endpoint that goes up and down for hours would fill it
// without end.
const maxOutages = 64

// attempt takes the end of a request. What it heard of the endpoint may lie in stretches
// that looked silent until now.
func (o *outage) attempt(a Attempt) {
	for i := range o.past {
		if heard, ok := a.heardAfter(o.past[i].since); ok && heard < o.past[i].until.Time {
			o.past[i].until = At(heard)
		}
	}
	o.past = slices.DeleteFunc(o.past, func(s stretch) bool {
		short := s.until.Time-s.since < shortestOutage
		if short {
			o.beside += s.failed
		}
		return short
	})
	if heard, ok := a.heardAfter(o.now.since); ok {
		o.answered(heard)
	}
	if a.Status == record.StatusTransportError && a.Done.OK {
		o.lost(a.Done.Time, a.Headers.OK)
	}
}

// lost says that a request got no answer, or only the begin of one.
func (o *outage) lost(at kernel.Time, begun bool) {
	if !o.open {
		o.open, o.now = true, stretch{since: at}
	}
	o.now.failed++
	if !begun {
		o.now.unanswered++
	}
}

// answered says that the endpoint gave a sign of life.
func (o *outage) answered(at kernel.Time) {
	if o.open {
		o.now.until = At(at)
		o.end(at)
	}
}

// end ends the stretch that is open. One in which nobody found the endpoint silent, but for
// streams that were cut, is no outage.
func (o *outage) end(at kernel.Time) {
	switch {
	case o.now.unanswered == 0 || at-o.now.since < shortestOutage:
		o.beside += o.now.failed
	case len(o.past) == maxOutages:
		o.more++
	default:
		o.past = append(o.past, o.now)
	}
	o.open, o.now = false, stretch{}
}

// close returns what there was until the end of the run, the one that lasts included.
func (o *outage) close(at kernel.Time) (outages []record.Outage, more int) {
	if o.open {
		o.end(at)
	}
	for _, s := range o.past {
		outages = append(outages, record.Outage{
			Endpoint: o.endpoint, StartedAt: calendar(o.k, s.since), EndedAt: s.until.instant(o.k), Failed: s.failed,
		})
	}
	return outages, o.more
}

// warnings are a line about the outages, once they are closed, and a line about failures
// beside answers.
func (o *outage) warnings() []string {
	var warnings []string
	if len(o.past) > 0 {
		var lasted time.Duration
		failed := 0
		for _, s := range o.past {
			failed += s.failed
			if s.until.OK {
				lasted += s.until.Time - s.since
			}
		}
		first, last := o.past[0], o.past[len(o.past)-1]
		how := fmt.Sprintf("from %s on", calendar(o.k, first.since).Format(time.TimeOnly))
		if n := len(o.past) + o.more; n > 1 {
			how = fmt.Sprintf("%d times, %s for the first time", n, how)
		}
		if last.until.OK {
			how += fmt.Sprintf(", for %.1f s", lasted.Seconds())
		} else {
			how += ", until the end of the run"
		}
		warnings = append(warnings, fmt.Sprintf("the %s endpoint gave no answer %s: %d requests failed", o.endpoint, how, failed))
	}
	if o.beside > 0 {
		warnings = append(warnings, fmt.Sprintf("the %s endpoint broke off %d requests while it answered others", o.endpoint, o.beside))
	}
	return warnings
}
