package router

// queue is a binary heap of the requests of one flow, in the order of its band.
type queue struct {
	before ordering
	items  []*request
}

// head is the next request, nil when there is none.
func (q *queue) head() *request {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0]
}

func (q *queue) push(r *request) {
	r.place = len(q.items)
	q.items = append(q.items, r)
	q.up(r.place)
}

func (q *queue) remove(r *request) {
	i, last := r.place, len(q.items)-1
	q.swap(i, last)
	q.items[last] = nil
	q.items = q.items[:last]
	if i != last {
		q.down(i)
		q.up(i)
	}
	r.place = -1
}

func (q *queue) swap(i, j int) {
	q.items[i], q.items[j] = q.items[j], q.items[i]
	q.items[i].place, q.items[j].place = i, j
}

func (q *queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.before(q.items[i], q.items[parent]) {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q *queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.items) {
			return
		}
		if right := child + 1; right < len(q.items) && q.before(q.items[right], q.items[child]) {
			child = right
		}
		if !q.before(q.items[child], q.items[i]) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
