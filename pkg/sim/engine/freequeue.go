package engine

import "math/bits"

// freeQueue is the order in which free blocks are used (vLLM v1,
// FreeKVCacheBlockQueue). A block may leave it from the middle.
//
// It is a ring of block ids rather than a list through the blocks: who takes many knows
// all of their ids before it looks at one of the blocks, so that the processor fetches
// them at the same time. A run spent a fifth of its time waiting for them one by one
// (BenchmarkServer).
type freeQueue struct {
	ring       []int32 // ids, and 0 where a block left from the middle
	head, tail uint32  // of the part in use, modulo the size of the ring, a power of two
	len        int
}

// newFreeQueue returns a queue of the ids from 1 to blocks-1.
func newFreeQueue(blocks int) freeQueue {
	// Twice as many places as blocks can be free, so that moving them up when the ring is
	// full pays.
	q := freeQueue{ring: make([]int32, 1<<bits.Len(uint(2*blocks)))}
	for id := 1; id < blocks; id++ {
		q.append(int32(id))
	}
	return q
}

func (q *freeQueue) at(place uint32) *int32 { return &q.ring[place&uint32(len(q.ring)-1)] }

// append queues a block, and returns its place.
func (q *freeQueue) append(id int32) (place uint32) {
	place = q.tail
	*q.at(place) = id
	q.tail++
	q.len++
	return place
}

// open makes room for n blocks before the head, whose places are those from head on.
func (q *freeQueue) open(n int) (head uint32) {
	q.head -= uint32(n)
	q.len += n
	return q.head
}

// pop takes the block at the head.
func (q *freeQueue) pop() int32 {
	for {
		id := *q.at(q.head)
		q.head++
		if id != 0 {
			q.len--
			return id
		}
	}
}

// remove takes out the block at a place.
func (q *freeQueue) remove(place uint32) {
	*q.at(place) = 0
	q.len--
}

// room reports whether n more blocks can be queued.
func (q *freeQueue) room(n int) bool { return int(q.tail-q.head)+n <= len(q.ring) }

// ids lists the queue from its head.
func (q *freeQueue) ids() []int32 {
	ids := make([]int32, 0, q.len)
	for place := q.head; place != q.tail; place++ {
		if id := *q.at(place); id != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// compact returns the same queue without empty places.
func (q *freeQueue) compact() freeQueue {
	next := freeQueue{ring: make([]int32, len(q.ring))}
	for _, id := range q.ids() {
		next.append(id)
	}
	return next
}
