package load

import (
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// outage watches an endpoint for stretches without an answer, such as the restart of
// a server: the run goes on through them, and its metadata says when they were.
type outage struct {
	k        *kernel.Kernel
	endpoint string
	since    Stamp
	failed   int
	past     []record.Outage
	more     int
}

// maxOutages bounds the list: an endpoint that drops every other connection would
// fill it without end.
const maxOutages = 64

// attempt takes the end of a request.
func (o *outage) attempt(a Attempt) {
	switch {
	case a.Headers.OK && o.since.OK && a.Headers.Time > o.since.Time:
		o.answered(a.Headers.Time)
	case a.Status == record.StatusTransportError && a.Done.OK:
		o.lost(a.Done.Time)
	}
}

// lost says that a request got no answer, or not all of it.
func (o *outage) lost(at kernel.Time) {
	if !o.since.OK {
		o.since = At(at)
	}
	o.failed++
}

// answered says that the endpoint gave a sign of life.
func (o *outage) answered(at kernel.Time) {
	if !o.since.OK {
		return
	}
	o.end(At(at))
	o.since, o.failed = Stamp{}, 0
}

func (o *outage) end(at Stamp) {
	if len(o.past) == maxOutages {
		o.more++
		return
	}
	o.past = append(o.past, record.Outage{
		Endpoint: o.endpoint, StartedAt: calendar(o.k, o.since.Time), EndedAt: at.instant(o.k), Failed: o.failed,
	})
}

// close returns what there was, the one that lasts included.
func (o *outage) close() (outages []record.Outage, more int) {
	if o.since.OK {
		o.end(Stamp{})
		o.since = Stamp{}
	}
	return o.past, o.more
}
