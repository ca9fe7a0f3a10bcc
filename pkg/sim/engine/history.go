package engine

import (
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// history keeps when the tokens of the latest steps were delivered, for the calls whose
// replies are patient. What one of them has not heard of is a part of it, which costs
// nothing a token (BenchmarkServer).
type history struct {
	at     []kernel.Time
	gaps   []float32 // seconds since the step before
	last   kernel.Time
	behind []*call // that have something to hear, and some that had
}

// span is a part of the history, without the step at to.
type span struct{ from, to int }

// maxHistory bounds the memory of the history, some 100 s of decoding.
const maxHistory = 1 << 12

func (h *history) full() bool { return len(h.at) == maxHistory }

// steps is how many it holds.
func (h *history) steps() int { return len(h.at) }

// step begins the delivery of a step.
func (h *history) step(now kernel.Time) {
	h.at = append(h.at, now)
	h.gaps = append(h.gaps, float32((now - h.last).Seconds()))
	h.last = now
}

// later notes that q got a token in the step whose delivery has begun.
func (h *history) later(q *call) { h.add(q, span{len(h.at) - 1, len(h.at)}) }

// add notes that q got a token in each of some steps.
func (h *history) add(q *call, steps span) {
	if q.behind.from < q.behind.to && q.behind.to == steps.from {
		q.behind.to = steps.to
		return
	}
	h.tell(q) // it had none in the step before
	q.behind = steps
	h.behind = append(h.behind, q)
}

// tell delivers what q has not heard of.
func (h *history) tell(q *call) {
	b := q.behind
	if b.from == b.to {
		return
	}
	q.behind = span{}
	q.patient.Stretch(sim.Stretch{At: h.at[b.from:b.to], Gaps: h.gaps[b.from:b.to]})
}

// catchUp delivers what any call has not heard of and forgets the steps.
func (h *history) catchUp() {
	for i, q := range h.behind {
		h.behind[i] = nil
		h.tell(q)
	}
	h.behind, h.at, h.gaps = h.behind[:0], h.at[:0], h.gaps[:0]
}
