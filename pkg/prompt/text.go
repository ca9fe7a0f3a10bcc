package prompt

import "math/rand/v2"

// writer makes texts of an exact number of tokens.
type writer struct {
	words []string
	src   rand.Source
}

func newWriter(src rand.Source) writer { return writer{vocabulary(), src} }

// append appends tokens words, joined by spaces, to dst (BenchmarkText).
func (w writer) append(dst []byte, tokens int) []byte {
	// Sixteen random bits choose a word: multiplied by the number of words, their
	// upper half is an index. The bias is below one in 65536 / len(words).
	n := uint64(len(w.words))
	var bits uint64
	for i := range tokens {
		if i%4 == 0 {
			bits = w.src.Uint64()
		}
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, w.words[(bits&0xffff)*n>>16]...)
		bits >>= 16
	}
	return dst
}
