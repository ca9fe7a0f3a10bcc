package gateway

// semaphore bounds what is in flight. Waiters are served in the order in which
// they came. The limit may be set below the number of slots in use: then nobody
// gets one until enough are returned.
type semaphore struct {
	limit, used int
	waiters     []*waiter
}

// waiter is someone who waits for a slot. Its func runs when it has one.
type waiter struct {
	granted func()
	gone    bool // does not want it any more
}

// acquire takes a slot and returns nil, or lines up for one: then granted runs
// when it is there.
func (s *semaphore) acquire(granted func()) *waiter {
	if s.used < s.limit {
		s.used++
		return nil
	}
	w := &waiter{granted: granted}
	s.waiters = append(s.waiters, w)
	return w
}

func (s *semaphore) release() {
	s.used--
	s.serve()
}

// serve gives free slots to those who wait.
func (s *semaphore) serve() {
	for s.used < s.limit && len(s.waiters) > 0 {
		w := s.waiters[0]
		s.waiters[0] = nil
		s.waiters = s.waiters[1:]
		if w.gone {
			continue
		}
		s.used++
		w.granted()
	}
}
