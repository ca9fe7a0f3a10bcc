package engine

import "slices"

// Batch is what one step computes.
type Batch struct {
	// Admitted lists the requests that left the waiting queue in this step;
	// Preempted those that went back to it, in the order of preemption.
	Admitted, Preempted []*Request
	Load                Load

	number   int // counted from 1 on
	items    []item
	decoders int // that have no item
}

// item is one request's share of a batch. token says that the step computes the
// request's last known token, so that an output token comes out of it.
type item struct {
	request *Request
	tokens  int32
	token   bool
}

// Empty reports whether the step computes nothing.
func (b *Batch) Empty() bool { return len(b.items)+b.decoders == 0 }

// Load is what decides how long a step takes.
type Load struct {
	Requests int
	Tokens   int
	// Context is the sum, over requests, of the tokens whose keys and values are read.
	Context int
	// PrefillPairs is twice the number of (query, key) pairs of the requests that
	// compute several: n tokens behind start others count n*(2*start+n).
	PrefillPairs int
}

func (l *Load) add(start, n int) {
	l.Requests++
	l.Tokens += n
	l.Context += start + n
	if n > 1 {
		l.PrefillPairs += n * (2*start + n)
	}
}

func (l *Load) remove(start, n int) {
	l.Requests--
	l.Tokens -= n
	l.Context -= start + n
	if n > 1 {
		l.PrefillPairs -= n * (2*start + n)
	}
}

func (b *Batch) reset() {
	b.Admitted, b.Preempted = b.Admitted[:0], b.Preempted[:0]
	b.Load = Load{}
	b.items, b.decoders = b.items[:0], 0
}

// drop takes r out of the batch and returns how many tokens it had there.
func (b *Batch) drop(r *Request) int {
	i := slices.IndexFunc(b.items, func(it item) bool { return it.request == r })
	if i < 0 {
		return 0
	}
	n := int(b.items[i].tokens)
	b.items = slices.Delete(b.items, i, i+1)
	return n
}
