package analysis

import (
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
)

// gaps collects inter-token latencies: one for each output token, so that a run may have
// more of them than memory should hold. It counts how often each number of 32 bits was
// seen, which loses nothing and takes at most 2 bytes a value, and far less where many
// values lie in the same few octaves (BenchmarkGaps). Values are 0 or more.
type gaps struct {
	n       int
	octaves [256]*[piles]pile // by the exponent
}

const (
	// lowBits are the bits that tell the numbers of a pile apart.
	lowBits = 16
	// piles is how many parts an octave has, by the first bits of the fraction.
	piles = 1 << (23 - lowBits)
)

// pile is numbers that share all but the low bits: a list of those while they are few,
// then how often each was seen.
type pile struct {
	n      int
	lows   []uint16
	counts *[1 << lowBits]uint8 // modulo 256
	more   map[uint16]int       // how many times 256
}

// fewLows take no more memory as a list than as counts.
const fewLows = 1 << (lowBits - 1)

// firstLows is how long a list is at first.
const firstLows = 16

func (g *gaps) add(values []float32) {
	g.n += len(values)
	for _, v := range values {
		bits := math.Float32bits(v)
		octave := g.octaves[bits>>23&0xff]
		if octave == nil {
			octave = new([piles]pile)
			g.octaves[bits>>23&0xff] = octave
		}
		p := &octave[bits>>lowBits&(piles-1)]
		p.n++
		switch {
		case p.counts != nil:
			p.count(uint16(bits))
		case p.n >= fewLows:
			p.counts, p.more = new([1 << lowBits]uint8), make(map[uint16]int)
			for _, low := range p.lows {
				p.count(low)
			}
			p.count(uint16(bits))
			p.lows = nil
		default:
			if len(p.lows) == cap(p.lows) {
				// Growing by a quarter, as append does, copied each list four times.
				p.lows = slices.Grow(p.lows, max(firstLows, cap(p.lows)))
			}
			p.lows = append(p.lows, uint16(bits))
		}
	}
}

func (p *pile) count(low uint16) {
	if p.counts[low]++; p.counts[low] == 0 {
		p.more[low]++
	}
}

// sorted is the values in rising order; there must come no more.
func (g *gaps) sorted() risingGaps {
	rising := risingGaps{n: g.n}
	var room []uint16
	start := 0
	for high, p := range g.piles() {
		if len(p.lows) > cap(room) {
			room = make([]uint16, fewLows)
		}
		if sorted := radixSorted(p.lows, room[:len(p.lows)]); len(sorted) > 0 {
			copy(p.lows, sorted)
		}
		rising.piles = append(rising.piles, risingPile{p, high, start, slices.Sorted(maps.Keys(p.more))})
		start += p.n
	}
	return rising
}

// piles yields the parts that are not empty in rising order, and the bits that the
// numbers of each share.
func (g *gaps) piles() iter.Seq2[uint32, *pile] {
	return func(yield func(uint32, *pile) bool) {
		for exponent, octave := range g.octaves {
			if octave == nil {
				continue
			}
			for part := range octave {
				if p := &octave[part]; p.n > 0 && !yield(uint32(exponent)<<23|uint32(part)<<lowBits, p) {
					return
				}
			}
		}
	}
}

// risingGaps are gaps whose lists are sorted.
type risingGaps struct {
	n     int
	piles []risingPile
}

// risingPile is a pile in its place among the others.
type risingPile struct {
	*pile
	high  uint32   // the bits that its numbers share
	start int      // how many gaps are in the piles before it
	often []uint16 // of more, in rising order
}

// all yields the low bits in rising order, and how often they were seen.
func (p risingPile) all() iter.Seq2[uint16, int] {
	return func(yield func(uint16, int) bool) {
		for _, low := range p.lows {
			if !yield(low, 1) {
				return
			}
		}
		if p.counts == nil {
			return
		}
		often := p.often
		for low, n := range p.counts {
			times := int(n)
			if len(often) > 0 && often[0] == uint16(low) {
				times += p.more[often[0]] << 8
				often = often[1:]
			}
			if times > 0 && !yield(uint16(low), times) {
				return
			}
		}
	}
}

func (r risingGaps) len() int { return r.n }

func (r risingGaps) at(i int) float64 {
	p := r.piles[sort.Search(len(r.piles), func(k int) bool { return r.piles[k].start > i })-1]
	i -= p.start
	if p.counts == nil {
		return gapOf(p.high, p.lows[i])
	}
	for low, times := range p.all() {
		if i < times {
			return gapOf(p.high, low)
		}
		i -= times
	}
	panic("analysis: found fewer gaps than were counted")
}

func (r risingGaps) sum() float64 {
	var sum float64
	for _, p := range r.piles {
		for low, times := range p.all() {
			gap := gapOf(p.high, low)
			for range times {
				sum += gap
			}
		}
	}
	return sum
}

func gapOf(high uint32, low uint16) float64 {
	return float64(math.Float32frombits(high | uint32(low)))
}
