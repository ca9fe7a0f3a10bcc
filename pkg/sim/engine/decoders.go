package engine

import (
	"cmp"
	"slices"
)

// decoders are the running requests whose next steps hold no work: each of them computes
// one token a step and gets one, until its last block is full or its end is near. Nobody
// touches them in these steps. What they have is worked out when somebody wants to know
// (settle), and all of them together are one number in a Batch. So a step of 100 requests
// has work for some ten of them.
//
// The rules are written for busy requests alone; a request becomes busy again before a
// step in which one of them could say anything else of it. A token costs 13 ns where it
// cost 16, hashes and blocks included (BenchmarkSchedulerDecodes, async).
type decoders struct {
	len     int
	context int          // tokens that they have computed, of all of them
	due     [][]*Request // by the number of the batch for which they become busy, modulo len
}

// newDecoders returns an empty set for requests with blocks of a size, which are full
// after as many steps at most.
func newDecoders(blockSize int) decoders {
	return decoders{due: make([][]*Request, blockSize+2)}
}

func (d *decoders) dueAt(batch int) *[]*Request { return &d.due[batch%len(d.due)] }

// decoding is what the scheduler notes of a request in decoders. Batches are numbered from
// 1 on.
type decoding struct {
	on        bool
	since     int // the last batch that has an item of it
	until     int // the batch for which it becomes busy
	scheduled int // the last batch that its counters know as scheduled
	updated   int // and as updated
}

// leastDecodes is for how many steps a request must be without work to become a decoder.
const leastDecodes = 2

// join makes r, which has got a token, a decoder if it has no work in the next steps.
func (s *Scheduler) join(r *Request) bool {
	steps := s.decodes(r)
	if steps < leastDecodes {
		return false
	}
	r.decoding = decoding{on: true, since: s.scheduled, until: s.scheduled + steps + 1, scheduled: s.scheduled, updated: s.scheduled}
	due := s.decoders.dueAt(r.decoding.until)
	*due = append(*due, r)
	s.decoders.len++
	s.decoders.context += r.computed
	return true
}

// decodes returns for how many steps, counted after those that are scheduled, r needs
// neither blocks nor hashes and does not come near its limit.
func (s *Scheduler) decodes(r *Request) int {
	if r.EveryToken || r.state != stateRunning || r.stale > 0 || r.known+r.placeholders-r.computed != 1 {
		return 0
	}
	unhashed := r.hashAt - r.computed
	if s.cfg.AsyncScheduling {
		// A block is hashed when its last token has arrived, which is in flight when the
		// block is full.
		if r.placeholders == 0 || r.placeholders != r.inFlight {
			return 0
		}
	} else {
		if r.inFlight > 0 {
			return 0
		}
		unhashed--
	}
	return min(r.slots-r.computed, unhashed, r.limit-2-r.computed)
}

// settle brings the counters of a decoder up to date; others are.
func (s *Scheduler) settle(r *Request) {
	d := &r.decoding
	if !d.on {
		return
	}
	scheduled, updated := s.scheduled-d.scheduled, max(0, s.updated-d.updated)
	d.scheduled += scheduled
	d.updated += updated
	r.computed += scheduled
	r.known += updated
	r.inFlight += scheduled - updated
	if s.cfg.AsyncScheduling {
		r.placeholders += scheduled - updated
	}
}

// wake makes a decoder busy that is not due.
func (s *Scheduler) wake(r *Request) {
	due := s.decoders.dueAt(r.decoding.until)
	at := slices.Index(*due, r)
	*due = slices.Delete(*due, at, at+1)
	s.makeBusy(r)
}

// makeBusy makes r busy, which has left due: batches that are on their way have an item of
// it from now on.
func (s *Scheduler) makeBusy(r *Request) {
	s.settle(r)
	r.decoding.on = false
	s.decoders.len--
	s.decoders.context -= r.computed
	for _, b := range s.onTheWay {
		if b.number > r.decoding.since {
			b.decoders--
			at, _ := slices.BinarySearchFunc(b.items, r.order, func(it item, order int) int { return cmp.Compare(it.request.order, order) })
			b.items = slices.Insert(b.items, at, item{request: r, tokens: 1, token: true})
		}
	}
	s.busy = slices.Insert(s.busy, placeOf(s.busy, r), r)
	s.woken = append(s.woken, r)
}

// placeOf returns where r stands, or would stand, among requests in the order in which
// they were admitted.
func placeOf(requests []*Request, r *Request) int {
	at, _ := slices.BinarySearchFunc(requests, r.order, func(r *Request, order int) int { return cmp.Compare(r.order, order) })
	return at
}

// wakeDue makes those decoders busy that may have work in the next batch.
func (s *Scheduler) wakeDue() {
	due := s.decoders.dueAt(s.scheduled + 1)
	// In their order, each finds its place behind the one before.
	slices.SortFunc(*due, func(a, b *Request) int { return cmp.Compare(a.order, b.order) })
	for _, r := range *due {
		s.makeBusy(r)
	}
	clear(*due)
	*due = (*due)[:0]
}

// wakeAll makes all decoders busy.
func (s *Scheduler) wakeAll() {
	for _, r := range s.running {
		if r.decoding.on {
			s.wake(r)
		}
	}
}

// decode makes the decoders part of a step, and returns how many tokens that is.
func (s *Scheduler) decode(b *Batch) int {
	n := s.decoders.len
	b.decoders = n
	b.Load.Requests += n
	b.Load.Tokens += n
	s.decoders.context += n
	b.Load.Context += s.decoders.context
	return n
}

// ample reports whether the next step has tokens and blocks enough for the busy requests
// to get theirs as if no decoder stood among them.
func (s *Scheduler) ample() bool {
	budget, free := s.cfg.MaxNumBatchedTokens-s.decoders.len, s.pool.free()
	for _, r := range s.busy {
		n := s.nextTokens(r, s.cfg.MaxNumBatchedTokens)
		if n <= 0 {
			continue
		}
		if n > budget {
			// The last ones of all may get less than they want, or nothing.
			if budget < 0 || !s.behindDecoders(r) {
				return false
			}
			n = budget
		}
		budget -= n
		if r.computed+n > r.slots {
			if free -= s.blocksOf(r.computed+n) - len(r.blocks); free < 0 {
				return false
			}
		}
	}
	return budget >= 0
}

// behindDecoders reports whether all decoders were admitted before r.
func (s *Scheduler) behindDecoders(r *Request) bool {
	for i := len(s.running) - 1; s.running[i] != r; i-- {
		if s.running[i].decoding.on {
			return false
		}
	}
	return true
}

// itemsOf lists what b computes, decoders included, before it is updated.
func (s *Scheduler) itemsOf(b *Batch) []item {
	items := slices.Clone(b.items)
	for _, r := range s.running {
		if r.decoding.on && b.number > r.decoding.since {
			s.settle(r)
			items = append(items, item{request: r, tokens: 1, token: true})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.request.order, b.request.order) })
	return items
}
