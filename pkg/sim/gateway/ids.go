package gateway

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// stream returns the random numbers for one purpose. Each purpose has its own, so
// that what one feature draws does not reshuffle another.
func stream(seed int64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
}

// uuid returns a version 4 UUID drawn from r.
func uuid(r *rand.Rand) string {
	hi, lo := r.Uint64(), r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0b11<<62) | 0b10<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}
