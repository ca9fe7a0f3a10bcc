package gateway

// slots are what a request holds of the two semaphores. A request is sent with both;
// where a slot is not held through backoff it gives them back between two attempts
// and lines up for them again.
type slots struct {
	endpoint, global bool
	waiter           *waiter
}

var bothSlots = slots{endpoint: true, global: true}

// giveUp takes a request that waits for a slot out of the queue.
func (s *slots) giveUp() {
	if s.waiter != nil {
		s.waiter.gone = true
		s.waiter = nil
	}
}

// leaveSlots gives both slots back.
func (q *request) leaveSlots() {
	q.slots = slots{}
	q.endpoint.semaphore.release()
	q.run.global.release()
}

// lineUp makes the next attempt as soon as both slots are there, that of the
// endpoint first, as for a first attempt.
func (q *request) lineUp() {
	if !q.slots.endpoint {
		if q.slots.waiter = q.endpoint.semaphore.acquire(q.gotEndpoint); q.slots.waiter != nil {
			return
		}
		q.slots.endpoint = true
	}
	if q.slots.waiter = q.run.global.acquire(q.gotGlobal); q.slots.waiter != nil {
		return
	}
	q.gotGlobal()
}

func (q *request) gotEndpoint() {
	q.slots.waiter, q.slots.endpoint = nil, true
	q.lineUp()
}

func (q *request) gotGlobal() {
	q.slots.waiter, q.slots.global = nil, true
	q.sentAt = q.run.p.g.k.Now()
	q.try()
}
