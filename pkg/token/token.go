package token

import (
	"unicode"
	"unicode/utf8"
)

// Count returns the number of tokens in text.
func Count(text string) int {
	n := 0
	for i := 0; i < len(text); {
		_, size := next(text[i:])
		if size == 0 {
			break
		}
		i += size
		n++
	}
	return n
}

// Append appends the ids of the tokens in text to dst. Equal tokens have equal
// ids; different tokens have different ids but for hash collisions.
func Append(dst []uint32, text string) []uint32 {
	for i := 0; i < len(text); {
		if id, size := shortWord(text[i:]); size > 0 {
			dst = append(dst, id)
			i += size
			continue
		}
		id, size := next(text[i:])
		if size == 0 {
			break
		}
		dst = append(dst, id)
		i += size
	}
	return dst
}

const (
	offset32 = 2166136261
	prime32  = 16777619
)

// next returns the id (FNV-1a of its bytes, white space left out) and the length
// of the token at the start of text, leading white space included; a length of 0
// means that only white space is left.
func next(text string) (id uint32, size int) {
	i := 0
	for i < len(text) && classes[text[i]] == space {
		i++
	}
	if i == len(text) {
		return 0, 0
	}
	kind, n := classOf(text[i:])
	id = mix(offset32, text[i:i+n])
	i += n
	for kind != other {
		// A run of ASCII, which is nearly all there is (BenchmarkAppend).
		for i < len(text) && classes[text[i]] == kind {
			id = (id ^ uint32(text[i])) * prime32
			i++
		}
		if i == len(text) || classes[text[i]] != multiByte {
			break
		}
		after, n := classOf(text[i:])
		if after != kind {
			break
		}
		id = mix(id, text[i:i+n])
		i += n
	}
	return id, i
}

// mix continues an FNV-1a hash.
func mix(id uint32, text string) uint32 {
	for i := range len(text) {
		id = (id ^ uint32(text[i])) * prime32
	}
	return id
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
