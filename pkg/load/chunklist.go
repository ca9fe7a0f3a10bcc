package load

import "sync"

// chunkLists are lists that grow while a stream is open, for one stream after the other:
// the growing of long lists costs as much as the parsing of their chunks
// (BenchmarkClientPerToken). A row gets copies of the right size.
type chunkLists struct{ pool sync.Pool }

type chunkList struct {
	gaps   []float32
	tokens []int32
}

// chunkRoom is for how many chunks there is room at first: most of the growing is in its
// first steps.
const chunkRoom = 64

func (l *chunkLists) take() *chunkList {
	if list, ok := l.pool.Get().(*chunkList); ok {
		return list
	}
	return &chunkList{make([]float32, 0, chunkRoom), make([]int32, 0, chunkRoom)}
}

func (l *chunkLists) give(list *chunkList) { l.pool.Put(list) }
