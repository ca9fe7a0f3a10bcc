package engine

import "slices"

// Update takes the result of a batch: requests whose known tokens were all
// computed get one output token, and those that reach their limit end and free
// their blocks. It returns the requests that got a token, in the order of the
// batch; the slice is valid until the next Update.
func (s *Scheduler) Update(b *Batch) []*Request {
	s.outputs = s.outputs[:0]
	ended := false
	for i := range b.items {
		it := &b.items[i]
		r := it.request
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
		if r.known >= r.limit {
			s.finish(r)
			ended = true
		}
	}
	if ended {
		s.running = slices.DeleteFunc(s.running, (*Request).Finished)
	}
	s.stats.OutputTokens += len(s.outputs)
	b.reset()
	s.spare = append(s.spare, b)
	return s.outputs
}

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

// finish ends r; Update takes it out of running.
func (s *Scheduler) finish(r *Request) {
	if r.state == statePreempted {
		// Preempted while its last token was in flight.
		s.waiting.remove(r)
	}
	r.state = stateFinished
	s.end(r)
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
		at := slices.Index(s.running, r)
		s.running = slices.Delete(s.running, at, at+1)
	case stateWaiting, statePreempted:
		s.waiting.remove(r)
	default:
		return false
	}
	r.state = stateAborted
	s.end(r)
	return true
}
