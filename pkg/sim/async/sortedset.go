package async

import "container/heap"

// sortedSet is a Redis sorted set: the lowest score goes first, equal scores in the
// order of the members' bytes.
type sortedSet struct{ members memberHeap }

func (s *sortedSet) len() int { return len(s.members) }

func (s *sortedSet) add(m *message, score float64) {
	m.score = score
	heap.Push(&s.members, m)
}

// first is the member that popMin would take, nil when there is none.
func (s *sortedSet) first() *message {
	if len(s.members) == 0 {
		return nil
	}
	return s.members[0]
}

func (s *sortedSet) popMin() *message {
	if len(s.members) == 0 {
		return nil
	}
	return heap.Pop(&s.members).(*message)
}

// remove takes m out and reports whether it was a member.
func (s *sortedSet) remove(m *message) bool {
	if m.place < 0 || m.place >= len(s.members) || s.members[m.place] != m {
		return false
	}
	heap.Remove(&s.members, m.place)
	return true
}

type memberHeap []*message

func (h memberHeap) Len() int { return len(h) }
func (h memberHeap) Less(i, j int) bool {
	if h[i].score != h[j].score {
		return h[i].score < h[j].score
	}
	// The member is the message as JSON, where the id comes first.
	return h[i].ID < h[j].ID
}
func (h memberHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *memberHeap) Push(x any) {
	m := x.(*message)
	m.place = len(*h)
	*h = append(*h, m)
}

// Pop implements heap.Interface.
func (h *memberHeap) Pop() any {
	last := len(*h) - 1
	m := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	m.place = -1
	return m
}
