package load

import (
	"bgbench/pkg/inputs"
	"bgbench/pkg/sim/kernel"
)

// closedLoop keeps a number of requests in flight until its phase is over: each that
// ends makes room for the next line. A request is due when there is room for it, so
// that its lateness is the generator's, and its latency knows nothing of the wait of
// those that a slower server would have kept out.
type closedLoop struct {
	d         *dispatcher
	next, end int // lines of the schedule
	until     kernel.Time
	ranOut    bool
}

// closedLoopRanOut is what the warning of a loop without requests says.
const closedLoopRanOut = "the closed loop ran out of requests"

func (l *closedLoop) begin(first inputs.Due) {
	l.until = l.d.r.phases.bandEnd(first.Phase, first.Cycle)
	for range first.InFlight {
		l.send()
	}
}

func (l *closedLoop) send() {
	r := l.d.r
	switch {
	case r.stopping || r.k.Now() >= l.until:
		return
	case l.next == l.end:
		if !l.ranOut {
			l.ranOut = true
			line := r.cfg.Inputs.Schedule[l.end-1]
			r.warn("phase %s of cycle %d: "+closedLoopRanOut+" %.1f s before the end of the phase (requests in the profile)",
				line.Phase, line.Cycle, (l.until - r.k.Now()).Seconds())
		}
		return
	}
	req := l.d.request(l.next)
	req.Due = At(r.k.Now())
	l.next++
	r.tally.due++
	l.d.start(req, func() {
		// As an event of its own: a transport that refuses at once must not nest the
		// whole phase in one call.
		r.k.At(r.k.Now(), l.send)
		r.maybeStop()
	})
}
