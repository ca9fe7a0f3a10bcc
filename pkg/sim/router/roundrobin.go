package router

import "bgbench/pkg/sim"

// RoundRobin hands calls to its backends in turn.
type RoundRobin struct {
	backends []sim.Backend
	next     int
}

// NewRoundRobin returns a router over at least one backend.
func NewRoundRobin(backends []sim.Backend) *RoundRobin {
	return &RoundRobin{backends: backends}
}

// Submit implements sim.Backend.
func (r *RoundRobin) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	b := r.backends[r.next]
	r.next = (r.next + 1) % len(r.backends)
	return b.Submit(call, reply)
}
