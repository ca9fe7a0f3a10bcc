package engine

import "slices"

// Update takes the result of a batch: requests whose known tokens were all
// computed get one output token, and those that reach their limit end and free
// their blocks. It returns the requests that got a token, in the order of the
// batch, but the decoders among them, of which Decoded tells the number; the slice is
// valid until the next Update.
func (s *Scheduler) Update(b *Batch) []*Request {
	if s.cfg.AsyncScheduling && len(s.onTheWay) == 1 {
		s.wakeAll() // with no batch behind b nothing is in flight, which they count on
	}
	s.outputs = s.outputs[:0]
	s.decoded = b.decoders
	s.updated = b.number
	s.onTheWay = append(s.onTheWay[:0], s.onTheWay[1:]...)
	idle := false // of the busy ones some are not any more
	for i := range b.items {
		it := &b.items[i]
		r := it.request
		s.settle(r)
		r.inFlight -= int(it.tokens)
		stale := r.stale > 0
		if stale {
			r.stale -= int(it.tokens)
		}
		if !it.token || r.ended() {
			// Aborted while the step ran: its token is dropped.
			continue
		}
		s.arrive(r, stale)
		s.outputs = append(s.outputs, r)
		switch {
		case r.known >= r.limit:
			s.finish(r)
			idle = true
		case !r.decoding.on && s.join(r):
			idle = true
		}
	}
	if idle {
		s.busy = slices.DeleteFunc(s.busy, func(r *Request) bool { return r.decoding.on || r.Finished() })
	}
	s.stats.OutputTokens += len(s.outputs) + s.decoded
	b.reset()
	s.spare = append(s.spare, b)
	return s.outputs
}

// Decoded returns how many requests got a token in the last Update that it did not
// return. They neither got their first token nor their last one.
func (s *Scheduler) Decoded() int { return s.decoded }

// arrive gives r one output token.
func (s *Scheduler) arrive(r *Request, stale bool) {
	r.known++
	if !s.cfg.AsyncScheduling {
		return
	}
	if !stale {
		r.placeholders--
	}
	// Async: the block of this token could not be hashed when it was scheduled.
	if full := r.computed - r.placeholders; r.state == stateRunning && full >= r.hashAt {
		s.hash(r, full)
	}
}

// finish ends r; Update takes it out of the busy ones.
func (s *Scheduler) finish(r *Request) {
	if r.state == statePreempted {
		// Preempted while its last token was in flight.
		s.waiting.remove(r)
	} else {
		s.leave(r)
	}
	r.state = stateFinished
	s.end(r)
}

// leave takes r out of running.
func (s *Scheduler) leave(r *Request) {
	at := placeOf(s.running, r)
	s.running = slices.Delete(s.running, at, at+1)
}

// end takes everything from r, which runs and waits no more.
func (s *Scheduler) end(r *Request) {
	s.free(r)
	s.spareBlocks.put(r.blocks)
	s.spareHashes.put(r.hashes)
	r.blocks, r.hashes = nil, nil
	s.stats.EndedRequests++
}

// Abort ends r and frees its blocks at once, and reports whether it was there.
// vLLM calls it before a step or, for aborts that came while one ran, between the
// step's Schedule and Update.
func (s *Scheduler) Abort(r *Request) bool {
	switch r.state {
	case stateRunning:
		if r.decoding.on {
			s.wake(r)
		}
		s.leave(r)
		at := placeOf(s.busy, r)
		s.busy = slices.Delete(s.busy, at, at+1)
	case stateWaiting, statePreempted:
		s.waiting.remove(r)
	default:
		return false
	}
	r.state = stateAborted
	s.end(r)
	return true
}
