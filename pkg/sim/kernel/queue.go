package kernel

// event is one entry of the queue. index is its place in the heap, -1 when it
// has left it.
type event struct {
	at    Time
	seq   uint64
	fn    func()
	index int
}

// Timer is a handle on an event that has not run yet. The zero Timer is stopped.
type Timer struct {
	k   *Kernel
	e   *event
	seq uint64
}

// Stop takes the event out of the queue and reports whether it was still there.
func (t Timer) Stop() bool {
	if t.e == nil || t.e.fn == nil || t.e.seq != t.seq {
		return false
	}
	t.k.queue.remove(t.e.index)
	t.k.recycle(t.e)
	return true
}

// queue is a binary heap on (at, seq). It is written out rather than built on
// container/heap because every simulated token passes through it: see
// BenchmarkKernel.
type queue []*event

func (q queue) less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].seq < q[j].seq
}

func (q queue) swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) push(e *event) {
	e.index = len(*q)
	*q = append(*q, e)
	q.up(e.index)
}

func (q *queue) pop() *event {
	e := (*q)[0]
	q.remove(0)
	return e
}

func (q *queue) remove(i int) {
	last := len(*q) - 1
	e := (*q)[i]
	if i != last {
		q.swap(i, last)
	}
	(*q)[last] = nil
	*q = (*q)[:last]
	if i != last {
		q.down(i)
		q.up(i)
	}
	e.index = -1
}

func (q *queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q *queue) down(i int) {
	n := len(*q)
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if right := child + 1; right < n && q.less(right, child) {
			child = right
		}
		if !q.less(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
