package engine

// lists are empty slices to use again. Every request needs a block table and hashes,
// some kilobytes of them; taking them anew was a twentieth of a run (BenchmarkServer).
type lists[T any] struct{ spare [][]T }

// take returns an empty slice with room for n.
func (l *lists[T]) take(n int) []T {
	last := len(l.spare) - 1
	if last < 0 {
		return make([]T, 0, n)
	}
	list := l.spare[last]
	l.spare = l.spare[:last]
	if cap(list) < n { // it goes, a larger one will come back
		return make([]T, 0, n)
	}
	return list
}

// put takes a slice that nobody uses any more.
func (l *lists[T]) put(list []T) {
	if list != nil {
		l.spare = append(l.spare, list[:0])
	}
}
