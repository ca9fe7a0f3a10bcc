package record

import (
	"encoding/binary"
	"math/bits"
)

// runs are small numbers of which many follow each other: levels, or places in a
// dictionary.
type runs struct {
	list  []run
	count int // of numbers
}

type run struct{ value, n int32 }

func (r *runs) add(value int32, n int) {
	r.count += n
	if last := len(r.list) - 1; last >= 0 && r.list[last].value == value {
		r.list[last].n += int32(n)
		return
	}
	r.list = append(r.list, run{value, int32(n)})
}

func (r *runs) reset() { r.list, r.count = r.list[:0], 0 }

// widthOf is how many bits the numbers up to highest need.
func widthOf(highest int) int { return bits.Len(uint(highest)) }

// appendHybrid appends the numbers, of so many bits each, in Parquet's mixture of
// run-length encoding and bit-packing (Apache Parquet, encodings, RLE = 3).
func (r *runs) appendHybrid(dst []byte, width int) []byte {
	var packed []int32 // of whole groups of 8, but for the last
	for _, one := range r.list {
		for n := one.n; n > 0; n-- {
			if n >= 8 && len(packed)%8 == 0 {
				dst = appendPacked(dst, packed, width)
				packed = packed[:0]
				dst = binary.AppendUvarint(dst, uint64(n)<<1)
				for shift := 0; shift < width; shift += 8 {
					dst = append(dst, byte(one.value>>shift))
				}
				break
			}
			packed = append(packed, one.value)
		}
	}
	return appendPacked(dst, packed, width)
}

// appendPacked appends groups of 8 numbers, lowest bit first; what is missing in the
// last group is 0.
func appendPacked(dst []byte, values []int32, width int) []byte {
	if len(values) == 0 {
		return dst
	}
	groups := (len(values) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	var word uint64
	filled := 0
	for i := range groups * 8 {
		if i < len(values) {
			word |= uint64(values[i]) << filled
		}
		for filled += width; filled >= 8; filled -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}
	return dst
}
