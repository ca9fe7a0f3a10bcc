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
	for i < len(text) && text[i] <= ' ' {
		i++
	}
	if i == len(text) {
		return 0, 0
	}
	id = offset32
	kind := classOf(text[i])
	if kind == otherByte || kind == multiByte {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) {
			for _, b := range []byte(text[i : i+n]) {
				id = (id ^ uint32(b)) * prime32
			}
			return id, i + n
		}
		kind = letterByte
	}
	for i < len(text) {
		c := classOf(text[i])
		if c == multiByte && kind == letterByte {
			r, n := utf8.DecodeRuneInString(text[i:])
			if !unicode.IsLetter(r) {
				break
			}
			for _, b := range []byte(text[i : i+n]) {
				id = (id ^ uint32(b)) * prime32
			}
			i += n
			continue
		}
		if c != kind {
			break
		}
		id = (id ^ uint32(text[i])) * prime32
		i++
	}
	return id, i
}

type byteClass uint8

const (
	spaceByte byteClass = iota
	letterByte
	digitByte
	multiByte // part of a rune outside ASCII
	otherByte
)

var classes = func() (t [256]byteClass) {
	for b := range t {
		switch {
		case b <= ' ':
			t[b] = spaceByte
		case b >= utf8.RuneSelf:
			t[b] = multiByte
		case 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z':
			t[b] = letterByte
		case '0' <= b && b <= '9':
			t[b] = digitByte
		default:
			t[b] = otherByte
		}
	}
	return t
}()

func classOf(b byte) byteClass { return classes[b] }
