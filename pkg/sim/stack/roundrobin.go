package stack

import "bgbench/pkg/sim"

// roundRobin hands calls to its backends in turn.
type roundRobin struct {
	backends []sim.Backend
	next     int
}

// newRoundRobin returns a router over at least one backend.
func newRoundRobin(backends []sim.Backend) *roundRobin {
	return &roundRobin{backends: backends}
}

// Submit implements sim.Backend.
func (r *roundRobin) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	b := r.backends[r.next]
	r.next = (r.next + 1) % len(r.backends)
	return b.Submit(call, reply)
}
