package prompt

import (
	"bytes"
	"math/rand/v2"

	"bgbench/pkg/token"
)

// writer makes texts of an exact number of tokens.
type writer struct {
	words   []string
	src     rand.Source
	counter token.Counter
	buf     []byte
}

func newWriter(src rand.Source, counter token.Counter) writer {
	return writer{words: vocabulary(), src: src, counter: counter}
}

// text returns a text of so many tokens, and how many they are: a few less where no text
// of words has so many by the counter.
func (w *writer) text(tokens int) (string, int) {
	w.buf = w.append(w.buf[:0], tokens)
	text := string(w.buf)
	if _, ok := w.counter.(token.Default); ok {
		return text, tokens
	}
	return text, w.counter.Count(text)
}

// append appends a text of so many tokens to dst (BenchmarkText). A word is one token of
// the default counter; by another the text is made shorter or longer until it fits.
func (w *writer) append(dst []byte, tokens int) []byte {
	if _, ok := w.counter.(token.Default); ok {
		return w.appendWords(dst, tokens)
	}
	return append(dst, w.adjusted(tokens)...)
}

// appendWords appends n words, joined by spaces.
func (w *writer) appendWords(dst []byte, words int) []byte {
	// Sixteen random bits choose a word: multiplied by the number of words, their
	// upper half is an index. The bias is below one in 65536 / len(words).
	n := uint64(len(w.words))
	var bits uint64
	for i := range words {
		if i%4 == 0 {
			bits = w.src.Uint64()
		}
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, w.words[(bits&0xffff)*n>>16]...)
		bits >>= 16
	}
	return dst
}

// maxAdjustments is far above what it takes where words have a few tokens each.
const maxAdjustments = 32

// adjusted is a text of as many tokens as the counter says, or of as few fewer as words
// allow.
func (w *writer) adjusted(tokens int) []byte {
	text := w.appendWords(nil, tokens)
	words := tokens
	for range maxAdjustments {
		found := w.counter.Count(string(text))
		if found == tokens {
			return text
		}
		// So many words are too many, or too few, at the tokens that a word has so far.
		over := (found - tokens) * words / max(found, 1)
		switch {
		case found > tokens:
			over = min(max(over, 1), words)
			text = dropWords(text, over)
		case words > 0:
			over = min(over, -1)
			text = w.appendWords(append(text, ' '), -over)
		default: // a word has more tokens than there is room
			return text
		}
		words -= over
	}
	for w.counter.Count(string(text)) > tokens {
		text = dropWords(text, 1)
	}
	return text
}

// dropWords takes n words off the end.
func dropWords(text []byte, n int) []byte {
	for range n {
		i := bytes.LastIndexByte(text, ' ')
		if i < 0 {
			return text[:0]
		}
		text = text[:i]
	}
	return text
}
