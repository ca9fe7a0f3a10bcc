package token

import "math/bits"

// idOf returns the id of a token: the hash of its bytes, eight at a time, the last of
// them filled up with zeros. No token has a byte that is 0.
func idOf(text string) uint32 {
	h := uint64(seed)
	for ; len(text) > 8; text = text[8:] {
		h = step(h, load(text[:8]))
	}
	last := uint64(0)
	for i := range len(text) {
		last |= uint64(text[i]) << (8 * i)
	}
	return uint32(step(h, last))
}

// seed and the factor of step are wyhash's (Wang Yi, wyhash.h, version 4.2); step is
// its folded multiplication.
const seed = 0xa0761d6478bd642f

func step(h, word uint64) uint64 {
	hi, lo := bits.Mul64(h^word, 0xe7037ed1a0b428db)
	return hi ^ lo
}
