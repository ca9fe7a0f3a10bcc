package router

import (
	"cmp"
	"slices"
	"sort"
)

// band holds the waiting requests of one priority.
type band struct {
	bandSettings
	flows  []*flow // sorted by id
	served string  // flow that had the last turn in round robin, "" after none
	count  int64   // requests that hold a place, dead ones until the sweep
	bytes  int64
}

// flow is what one tenant has waiting in a band.
type flow struct {
	id    string
	queue queue
}

// flowIndex is the place of a flow, or where it would be inserted.
func (b *band) flowIndex(id string) int {
	return sort.Search(len(b.flows), func(i int) bool { return b.flows[i].id >= id })
}

func (b *band) flow(id string) *flow {
	i := b.flowIndex(id)
	if i < len(b.flows) && b.flows[i].id == id {
		return b.flows[i]
	}
	f := &flow{id: id, queue: queue{before: b.ordering}}
	b.flows = slices.Insert(b.flows, i, f)
	return f
}

// bands is the flow registry: all bands, highest priority first, and the limits
// over all of them.
type bands struct {
	maxBytes, maxRequests int64 // 0 = unlimited
	list                  []*band
	priorities            []int
	count, bytes          int64
}

// newBands makes the configured bands, band 0, and one for each priority that an
// objective has.
func newBands(s Settings, objectives []int) *bands {
	r := &bands{maxBytes: s.maxBytes, maxRequests: s.maxRequests}
	for _, b := range s.bands {
		r.list = append(r.list, &band{bandSettings: b})
	}
	for _, p := range objectives {
		if r.find(p) != nil {
			continue
		}
		template := s.defaultBand
		if p < 0 {
			template = s.defaultNegative
		}
		template.priority = p
		r.list = append(r.list, &band{bandSettings: template})
	}
	slices.SortFunc(r.list, func(a, b *band) int { return cmp.Compare(b.priority, a.priority) })
	for _, b := range r.list {
		r.priorities = append(r.priorities, b.priority)
	}
	return r
}

func (r *bands) find(priority int) *band {
	for _, b := range r.list {
		if b.priority == priority {
			return b
		}
	}
	return nil
}

// of is the band that requests of a priority wait in: band 0 when theirs does not
// exist.
func (r *bands) of(priority int) *band {
	if b := r.find(priority); b != nil {
		return b
	}
	return r.find(0)
}

// room reports whether a request of some bytes fits into a band and into all.
func (r *bands) room(b *band, bytes int64) bool {
	return (r.maxBytes == 0 || r.bytes+bytes <= r.maxBytes) &&
		(r.maxRequests == 0 || r.count+1 <= r.maxRequests) &&
		b.bytes+bytes <= b.maxBytes &&
		b.count+1 <= b.maxRequests
}

func (r *bands) push(b *band, q *request) {
	q.band, q.flow = b, b.flow(q.fairness)
	q.flow.queue.push(q)
	r.account(q, 1)
}

func (r *bands) remove(q *request) {
	q.flow.queue.remove(q)
	r.account(q, -1)
}

func (r *bands) account(q *request, sign int64) {
	q.band.count += sign
	q.band.bytes += sign * q.bytes
	r.count += sign
	r.bytes += sign * q.bytes
}

// sweep removes the requests that died while they waited.
func (r *bands) sweep() {
	var dead []*request
	for _, b := range r.list {
		for _, f := range b.flows {
			for _, q := range f.queue.items {
				if q.dead {
					dead = append(dead, q)
				}
			}
		}
	}
	for _, q := range dead {
		r.remove(q)
	}
}
