package token

import (
	"encoding/binary"
	"math/bits"
)

// windowSize is how many bytes appendWindow looks at, a bit of a word for each.
const windowSize = 64

// appendWindow appends the ids of the tokens that end inside the first windowSize bytes
// of text, and returns the number of bytes that they take up. It is 0 where it takes a
// closer look: at a digit, a character outside ASCII, a token as long as the window.
// text must have eight bytes more than the window.
//
// It finds the ends of all tokens of the window before it looks at any of them, so
// that the processor, which cannot foresee where a word ends, need not wait for the
// end of one to begin with the next (BenchmarkAppend: a fifth of the time).
func appendWindow(dst []uint32, text string) ([]uint32, int) {
	letters, spaces, plain := classify(text[:windowSize])
	if !plain {
		return dst, 0
	}
	starts := letters&^(letters<<1) | ^(letters | spaces)
	for ; starts != 0; starts &= starts - 1 {
		at := bits.TrailingZeros64(starts)
		// A token that is no word is one character.
		n := max(1, bits.TrailingZeros64(^(letters >> at)))
		switch {
		case at+n >= windowSize: // it may go on behind the window
			return dst, at
		case n > 8:
			dst = append(dst, idOf(text[at:at+n]))
		default:
			dst = append(dst, uint32(step(seed, load(text[at:at+8])&(^uint64(0)>>(64-8*n)))))
		}
	}
	return dst, windowSize
}

// classify tells which bytes of text, windowSize of them, are letters and which are
// white space; all others are single tokens. plain is false when it has digits or
// characters outside ASCII.
func classify(text string) (letters, spaces uint64, plain bool) {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
		lows  = 0x7f * ones
	)
	unplain := uint64(0)
	for i := 0; i < windowSize; i += 8 {
		w := load(text[i : i+8])
		// The high bit of a byte of a sum says that the byte is at least as large as
		// what stands after the minus.
		ascii, lower := w&lows, (w|0x20*ones)&lows
		letter := (lower + (0x80-'a')*ones) &^ (lower + (0x80-'z'-1)*ones)
		visible := ascii + (0x80-' '-1)*ones
		digit := (ascii + (0x80-'0')*ones) &^ (ascii + (0x80-'9'-1)*ones)
		unplain |= digit | w
		letters |= highBits(letter&highs) << i
		spaces |= highBits(^visible&highs) << i
	}
	return letters, spaces, unplain&highs == 0
}

// highBits gathers the high bits of the bytes of w, whose other bits are 0.
func highBits(w uint64) uint64 { return w >> 7 * 0x0102040810204080 >> 56 }

// load reads the first eight bytes of text as a number.
func load(text string) uint64 { return binary.LittleEndian.Uint64([]byte(text)) }
