package corpus

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
)

// Sample keeps so many rows of all that are added, each as likely as any other, in an
// order by chance. Every row is given a random number, and those with the lowest stay:
// a larger sample begins with the smaller one of the same seed.
type Sample struct {
	most int
	src  rand.Source
	kept keptRows
	seen int
}

// NewSample returns a sample of at most so many rows.
func NewSample(most int, src rand.Source) *Sample { return &Sample{most: most, src: src} }

type keptRow struct {
	key uint64
	n   int // which of those that were added
	row Row
}

// before orders rows by their numbers, and those with one number as they came.
func (k keptRow) before(o keptRow) int {
	return cmp.Or(cmp.Compare(k.key, o.key), cmp.Compare(k.n, o.n))
}

// keptRows is a heap with the last row of the order on top.
type keptRows []keptRow

func (h keptRows) Len() int           { return len(h) }
func (h keptRows) Less(i, j int) bool { return h[i].before(h[j]) > 0 }
func (h keptRows) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *keptRows) Push(x any)        { *h = append(*h, x.(keptRow)) }
func (h *keptRows) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Add offers a row. It is copied where it stays.
func (s *Sample) Add(row Row) {
	k := keptRow{s.src.Uint64(), s.seen, nil}
	s.seen++
	if s.most < 1 || len(s.kept) == s.most && k.before(s.kept[0]) > 0 {
		return
	}
	k.row = slices.Clone(row)
	if len(s.kept) < s.most {
		heap.Push(&s.kept, k)
		return
	}
	s.kept[0] = k
	heap.Fix(&s.kept, 0)
}

// Rows returns the sample in its order.
func (s *Sample) Rows() []Row {
	sorted := slices.SortedFunc(slices.Values(s.kept), keptRow.before)
	rows := make([]Row, len(sorted))
	for i, k := range sorted {
		rows[i] = k.row
	}
	return rows
}
