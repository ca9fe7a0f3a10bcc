package router

import (
	"container/heap"
	"math"
	"time"

	"bgbench/pkg/sim/kernel"
)

// tracked is what runs and what of it may be evicted. It is keyed by x-request-id:
// tracking an id again replaces what was there, and the end of either request
// untracks both.
type tracked struct {
	all     map[string]*lease
	victims victimHeap
}

// lease is one running request.
type lease struct {
	request *request
	since   kernel.Time // when it was sent to its endpoint
	seq     uint64
	place   int // among the victims, -1 when it is none
}

func newTracked() *tracked { return &tracked{all: map[string]*lease{}} }

// track notes that a request runs. Only those below priority 0 may be evicted.
func (t *tracked) track(q *request, now kernel.Time, seq uint64) {
	if old, ok := t.all[q.id]; ok {
		t.drop(old)
	}
	l := &lease{request: q, since: now, seq: seq, place: -1}
	t.all[q.id] = l
	if q.priority < 0 {
		heap.Push(&t.victims, l)
	}
}

func (t *tracked) untrack(id string) {
	if l, ok := t.all[id]; ok {
		t.drop(l)
		delete(t.all, id)
	}
}

func (t *tracked) drop(l *lease) {
	if l.place >= 0 {
		heap.Remove(&t.victims, l.place)
	}
}

// next is the request that would be evicted first, nil when there is none.
func (t *tracked) next() *request {
	if len(t.victims) == 0 {
		return nil
	}
	return t.victims[0].request
}

// victimHeap has the lowest priority first and of those the newest.
type victimHeap []*lease

func (h victimHeap) Len() int { return len(h) }
func (h victimHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.request.priority != b.request.priority:
		return a.request.priority < b.request.priority
	case a.since != b.since:
		return a.since > b.since
	}
	return a.seq > b.seq
}
func (h victimHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *victimHeap) Push(x any) {
	l := x.(*lease)
	l.place = len(*h)
	*h = append(*h, l)
}

// Pop implements heap.Interface.
func (h *victimHeap) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	l.place = -1
	return l
}

// maxRevocations bounds one decision.
const maxRevocations = 2

// reclamation paces evictions by stop and wait: a decision is possible when every
// eviction of the one before is confirmed, that is the request's stream has ended,
// and the grace after it has passed. The real one gives up on a confirmation after
// 10 s; here a stream always ends.
type reclamation struct {
	grace       time.Duration
	outstanding map[string]revocation // by request id
	cooling     []debit
	pending     float64
}

// revocation is an eviction that was issued and not confirmed.
type revocation struct {
	credit float64
	at     kernel.Time
}

// debit is capacity that is free but not visible in the gauge yet.
type debit struct {
	credit float64
	until  kernel.Time
}

func newReclamation(grace time.Duration) *reclamation {
	return &reclamation{grace: grace, outstanding: map[string]revocation{}}
}

// open reports whether a decision is possible and forgets what has cooled down.
func (c *reclamation) open(now kernel.Time) bool {
	kept := c.cooling[:0]
	for _, d := range c.cooling {
		if now < d.until {
			kept = append(kept, d)
		} else {
			c.pending = max(0, c.pending-d.credit)
		}
	}
	c.cooling = kept
	return len(c.outstanding) == 0 && len(c.cooling) == 0
}

// opens is when the last of what cools will have cooled down.
func (c *reclamation) opens() (kernel.Time, bool) {
	var last kernel.Time
	for _, d := range c.cooling {
		last = max(last, d.until)
	}
	return last, len(c.cooling) > 0
}

// size is how many requests to evict so that saturation falls below ceiling, given
// the mean share of saturation that a running request has: at least one, since a
// gate that is exactly reached is closed.
func (c *reclamation) size(saturation, ceiling float64, running, evictable int) (n int, credit float64) {
	if running <= 0 || evictable <= 0 {
		return 0, 0
	}
	credit = saturation / float64(running)
	if credit <= 0 || math.IsNaN(credit) || math.IsInf(credit, 0) {
		return 0, 0
	}
	n = max(1, int(math.Ceil((saturation-ceiling)/credit)))
	return min(n, maxRevocations, evictable), credit
}

func (c *reclamation) issued(id string, credit float64, now kernel.Time) {
	c.outstanding[id] = revocation{credit, now}
	c.pending += credit
}

// confirmed notes that the stream of an evicted request has ended. It tells when
// the eviction was issued, if there was one.
func (c *reclamation) confirmed(id string, now kernel.Time) (issued kernel.Time, ok bool) {
	r, ok := c.outstanding[id]
	if ok {
		delete(c.outstanding, id)
		c.cooling = append(c.cooling, debit{r.credit, now + c.grace})
	}
	return r.at, ok
}
