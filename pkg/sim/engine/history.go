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

// add begins the delivery of a step.
func (h *history) add(now kernel.Time) {
	if len(h.at) == maxHistory {
		h.catchUp()
	}
	h.at = append(h.at, now)
	h.gaps = append(h.gaps, float32((now - h.last).Seconds()))
	h.last = now
}

// later notes that q got a token in the step whose delivery has begun.
func (h *history) later(q *call) {
	step := len(h.at) - 1
	switch {
	case q.behind.from < q.behind.to && q.behind.to == step:
	case q.behind.from == q.behind.to:
		q.behind.from = step
		h.behind = append(h.behind, q)
	default: // it had none in the step before
		h.tell(q)
		q.behind.from = step
		h.behind = append(h.behind, q)
	}
	q.behind.to = step + 1
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
