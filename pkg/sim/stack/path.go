package stack

import (
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// delayed puts the latency of the client's path before a backend. The whole round
// trip is spent on the way in: gaps between tokens do not change by it, and the
// first token is late by the same amount as if half of it were on the way back.
type delayed struct {
	k       *kernel.Kernel
	backend sim.Backend
	by      time.Duration
}

// Submit implements sim.Backend.
func (d delayed) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	if d.by == 0 {
		return d.backend.Submit(call, reply)
	}
	var abortBackend func()
	timer := d.k.After(d.by, func() { abortBackend = d.backend.Submit(call, reply) })
	return func() {
		if abortBackend != nil {
			abortBackend()
		} else if timer.Stop() {
			reply.End(d.k.Now(), sim.End{Status: sim.StatusAborted, FinishReason: "abort"})
		}
	}
}
