package load

import (
	"slices"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// cancelGrace is how long a transport has to hand back an attempt that it was told
// to end. A transport that keeps it longer has lost it; the row is then written
// without what only the transport knew.
const cancelGrace = 2 * time.Second

// flights are the requests in flight. Each that was started ends exactly once,
// whatever the transport does.
type flights struct {
	k         *kernel.Kernel
	transport Transport
	record    func(*Request, Attempt)
	open      map[uint64]*flight
	last      uint64
}

type flight struct {
	of      *flights
	n       uint64
	req     *Request
	ended   func(Attempt)
	cancel  func()
	timeout kernel.Timer
	// cause is the status of a flight that we ended, with the words that go with it.
	cause, why string
}

func newFlights(k *kernel.Kernel, t Transport, record func(*Request, Attempt)) *flights {
	return &flights{k: k, transport: t, record: record, open: map[uint64]*flight{}}
}

// start sends req; ended is called after its row was recorded.
func (fs *flights) start(req *Request, ended func(Attempt)) {
	fs.last++
	f := &flight{of: fs, n: fs.last, req: req, ended: ended}
	fs.open[f.n] = f
	if req.Timeout > 0 {
		f.timeout = fs.k.After(req.Timeout, func() {
			f.stop(record.StatusTimeout, openai.TimeoutError(openai.TotalTimeout, req.Timeout))
		})
	}
	cancel := fs.transport.Start(req, f.end)
	f.cancel = cancel
	if f.cause != "" && f.isOpen() { // stopped from inside Start
		cancel()
	}
}

func (f *flight) isOpen() bool { return f.of.open[f.n] == f }

// stop ends the flight early.
func (f *flight) stop(cause, why string) {
	if !f.isOpen() || f.cause != "" {
		return
	}
	f.cause, f.why = cause, why
	f.of.k.After(cancelGrace, func() { f.end(Attempt{Status: record.StatusCancelled}) })
	if f.cancel != nil {
		f.cancel()
	}
}

// end records the flight. Only the first call counts.
func (f *flight) end(a Attempt) {
	if !f.isOpen() {
		return
	}
	delete(f.of.open, f.n)
	f.timeout.Stop()
	if a.Status == record.StatusCancelled && f.cause != "" {
		a.Status, a.Error = f.cause, f.why
	}
	if a.Status == record.StatusIncomplete {
		a.Done = Stamp{} // it did not end, we did
	}
	f.of.record(f.req, a)
	f.ended(a)
}

// stopAll ends every flight that which selects, the oldest first.
func (fs *flights) stopAll(cause, why string, which func(*Request) bool) {
	var chosen []*flight
	for _, f := range fs.open {
		if which(f.req) {
			chosen = append(chosen, f)
		}
	}
	slices.SortFunc(chosen, func(a, b *flight) int { return int(a.n) - int(b.n) })
	for _, f := range chosen {
		f.stop(cause, why)
	}
}
