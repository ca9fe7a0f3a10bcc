package analysis

import (
	"math"
	"slices"
)

// sample collects the raw values of one quantity. It keeps 8 bytes a value and never
// copies one to grow.
type sample struct {
	blocks [][]uint64 // all but the last are full; see sortable
	n      int
}

// Sizes of a block, in values.
const (
	firstBlock = 64
	maxBlock   = 1 << 16
)

// sortable is a number that is ordered as x is: the bits of a positive number are, and
// those of a negative one are the other way round.
func sortable(x float64) uint64 {
	if bits := math.Float64bits(x); bits>>63 == 0 {
		return bits | 1<<63
	} else {
		return ^bits
	}
}

func fromSortable(key uint64) float64 {
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

func (s *sample) add(x float64) {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last]) == cap(s.blocks[last]) {
		s.blocks = append(s.blocks, make([]uint64, 0, min(maxBlock, max(firstBlock, s.n))))
		last++
	}
	s.blocks[last] = append(s.blocks[last], sortable(x))
	s.n++
}

// addKnown adds a value unless there is none.
func (s *sample) addKnown(x *float64) {
	if x != nil {
		s.add(*x)
	}
}

// include adds the values of another sample.
func (s *sample) include(o *sample) {
	for _, b := range o.blocks {
		if len(b) > 0 {
			s.blocks = append(s.blocks, b[:len(b):len(b)])
		}
	}
	s.n += o.n
}

// sorted is the values in rising order.
func (s *sample) sorted() rising {
	if len(s.blocks) != 1 {
		s.blocks = [][]uint64{slices.Concat(s.blocks...)}
	}
	if !slices.IsSorted(s.blocks[0]) {
		s.blocks[0] = radixSorted(s.blocks[0], make([]uint64, s.n))
	}
	return s.blocks[0]
}

// rising are the values of a sample in order.
type rising []uint64

func (r rising) len() int         { return len(r) }
func (r rising) at(i int) float64 { return fromSortable(r[i]) }

func (r rising) sum() float64 {
	var sum float64
	for _, key := range r {
		sum += fromSortable(key)
	}
	return sum
}

// digit is how many bits of a number radixSorted looks at in one pass.
const digit = 11

// fewKeys are sorted faster by comparing them.
const fewKeys = 512

// radixSorted sorts keys from their last digit to the first, with room for as many. It
// returns the one of the two that holds the result.
func radixSorted[K uint16 | uint64](keys, room []K) []K {
	if len(keys) < fewKeys {
		slices.Sort(keys)
		return keys
	}
	var any, all K = 0, ^K(0)
	for _, k := range keys {
		any, all = any|k, all&k
	}
	unlike := any &^ all // bits that not all keys have alike
	for shift := 0; unlike>>shift != 0; shift += digit {
		const mask = 1<<digit - 1
		if unlike>>shift&mask == 0 {
			continue
		}
		var ends [1 << digit]int
		for _, k := range keys {
			ends[k>>shift&mask]++
		}
		sum := 0
		for d, n := range ends {
			ends[d] = sum
			sum += n
		}
		for _, k := range keys {
			at := &ends[k>>shift&mask]
			room[*at] = k
			*at++
		}
		keys, room = room, keys
	}
	return keys
}
