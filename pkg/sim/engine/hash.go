package engine

import "math/bits"

// blockHash is the hash of a full block: it chains the hash of the block before
// it, so equal hashes mean equal prefixes (vLLM v1, hash_block_tokens). vLLM uses
// SHA-256; 64 bits are enough here: with a million blocks in the cache a
// collision has a chance of 3 in 100 million.
func blockHash(parent uint64, ids []uint32) uint64 {
	h := parent ^ 0xa0761d6478bd642f
	for len(ids) >= 4 {
		h = mix(h^(uint64(ids[0])|uint64(ids[1])<<32), 0xe7037ed1a0b428db^(uint64(ids[2])|uint64(ids[3])<<32))
		ids = ids[4:]
	}
	for _, id := range ids {
		h = mix(h^uint64(id), 0x8ebc6af09c88c6e3)
	}
	return h
}

// mix is the folded multiplication of wyhash, whose constants are used above.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// saltHash is the parent of a request's first block.
func saltHash(salt string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(salt) {
		h = (h ^ uint64(salt[i])) * 0x100000001b3
	}
	return h
}
