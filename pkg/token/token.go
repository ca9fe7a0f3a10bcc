package token

import (
	"unicode"
	"unicode/utf8"
)

// Count returns the number of tokens in text.
func Count(text string) int {
	n := 0
	for {
		start, end := next(text)
		if start == end {
			return n
		}
		text = text[end:]
		n++
	}
}

// Append appends the ids of the tokens in text to dst. Equal tokens have equal
// ids; different tokens have different ids but for hash collisions.
func Append(dst []uint32, text string) []uint32 {
	for len(text) > 0 {
		if len(text) >= windowSize+8 {
			ids, n := appendWindow(dst, text)
			if n > 0 {
				dst, text = ids, text[n:]
				continue
			}
		}
		start, end := next(text)
		if start == end {
			break
		}
		dst = append(dst, idOf(text[start:end]))
		text = text[end:]
	}
	return dst
}

// next returns where the token at the start of text begins, behind white space, and
// where it ends; start and end are equal when only white space is left.
func next(text string) (start, end int) {
	for start < len(text) && classes[text[start]] == space {
		start++
	}
	if start == len(text) {
		return start, start
	}
	kind, n := classOf(text[start:])
	end = start + n
	for kind != other {
		for end < len(text) && classes[text[end]] == kind {
			end++
		}
		if end == len(text) || classes[text[end]] != multiByte {
			break
		}
		after, n := classOf(text[end:])
		if after != kind {
			break
		}
		end += n
	}
	return start, end
}

// class says which characters make a token together: letters and digits do, each
// among themselves; others stand alone.
type class uint8

const (
	space class = iota
	letter
	digit
	other
	multiByte // begins a character outside ASCII
)

// classOf returns the class and the length in bytes of the character that text
// begins with.
func classOf(text string) (class, int) {
	c := classes[text[0]]
	if c != multiByte {
		return c, 1
	}
	r, n := utf8.DecodeRuneInString(text)
	if unicode.IsLetter(r) {
		return letter, n
	}
	return other, n
}

var classes = func() (t [256]class) {
	for b := range t {
		switch {
		case b <= ' ':
			t[b] = space
		case b >= utf8.RuneSelf:
			t[b] = multiByte
		case 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z':
			t[b] = letter
		case '0' <= b && b <= '9':
			t[b] = digit
		default:
			t[b] = other
		}
	}
	return t
}()
