package engine

import "slices"

// waitQueue is the order in which requests are admitted: under fcfs the order of
// arrival with preempted requests put back at the head, under priority the order
// of (priority, arrival, id), where putting back finds the request's own place.
type waitQueue struct {
	priority    bool
	heap        []*Request
	front, back int64 // fcfs: places given out at the two ends
}

func (q *waitQueue) len() int { return len(q.heap) }

// head is the request that is admitted next.
func (q *waitQueue) head() *Request { return q.heap[0] }

// append queues a request that has arrived.
func (q *waitQueue) append(r *Request) {
	q.back++
	r.place = q.back
	q.push(r)
}

// prepend queues a request that was preempted.
func (q *waitQueue) prepend(r *Request) {
	q.front--
	r.place = q.front
	q.push(r)
}

func (q *waitQueue) push(r *Request) {
	r.index = len(q.heap)
	q.heap = append(q.heap, r)
	q.up(r.index)
}

// remove takes r out, wherever it stands.
func (q *waitQueue) remove(r *Request) {
	i, last := r.index, len(q.heap)-1
	if i != last {
		q.swap(i, last)
	}
	q.heap[last] = nil
	q.heap = q.heap[:last]
	if i != last {
		q.down(i)
		q.up(i)
	}
}

// order lists the queue from its head.
func (q *waitQueue) order() []*Request {
	sorted := slices.Clone(q.heap)
	slices.SortFunc(sorted, func(a, b *Request) int {
		if q.before(a, b) {
			return -1
		}
		return 1
	})
	return sorted
}

func (q *waitQueue) before(a, b *Request) bool {
	if !q.priority {
		return a.place < b.place
	}
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	if a.Arrival != b.Arrival {
		return a.Arrival < b.Arrival
	}
	return a.ID < b.ID
}

func (q *waitQueue) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].index, q.heap[j].index = i, j
}

func (q *waitQueue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.before(q.heap[i], q.heap[parent]) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q *waitQueue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if right := child + 1; right < len(q.heap) && q.before(q.heap[right], q.heap[child]) {
			child = right
		}
		if !q.before(q.heap[child], q.heap[i]) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
