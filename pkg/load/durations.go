package load

import (
	"math/bits"
	"time"
)

// durations counts durations in bins, so that a run of a day takes no more memory than
// one of a minute. A bin is 1/128 of its durations wide, 1 ns at least: the layout of an
// HDR histogram (Tene, HdrHistogram) of two significant figures.
type durations struct {
	bins     []uint64
	n        uint64
	smallest time.Duration
	largest  time.Duration
}

// binsOfAnOctave is how many bins the durations between one power of two and the next
// share.
const (
	binsOfAnOctave = 1 << octaveBits
	octaveBits     = 7
)

// add counts d; a duration below 0 counts as 0.
func (c *durations) add(d time.Duration) {
	d = max(0, d)
	if c.n == 0 || d < c.smallest {
		c.smallest = d
	}
	c.largest = max(c.largest, d)
	c.n++
	i := binOf(d)
	for i >= len(c.bins) {
		c.bins = append(c.bins, make([]uint64, binsOfAnOctave)...)
	}
	c.bins[i]++
}

// binOf numbers the bin of d: durations below binsOfAnOctave nanoseconds have one each.
func binOf(d time.Duration) int {
	octave := max(0, bits.Len64(uint64(d))-octaveBits-1)
	return octave<<octaveBits + int(d>>octave)
}

// middleOf is the middle of a bin.
func middleOf(bin int) time.Duration {
	octave := max(0, bin>>octaveBits-1)
	low := time.Duration(bin-octave<<octaveBits) << octave
	return low + time.Duration(1)<<octave/2
}

// quantile is the duration that a share q of them does not exceed, to the middle of its
// bin, and 0 without any.
func (c *durations) quantile(q float64) time.Duration {
	rank := uint64(q * float64(max(c.n, 1)-1))
	for i, n := range c.bins {
		if rank < n {
			return min(max(middleOf(i), c.smallest), c.largest)
		}
		rank -= n
	}
	return 0
}
