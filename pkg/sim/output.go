package sim

import (
	"encoding/binary"
	"slices"

	"bgbench/pkg/token"
)

// Output is the text that a call generates. It is a function of the prompt and the
// position alone, as with a greedy deterministic server, so a request that is
// retried must end with the same text.
type Output struct {
	hash uint64
	from int // tokens of it that went before; the rest is numbered from 0
}

// OutputOf returns the output of prompt. The hash is a polynomial with the token ids
// as coefficients.
func OutputOf(prompt Prompt) Output {
	if prompt.start == nil {
		return noPrompt.after(prompt.rest)
	}
	return prompt.start.output.after(prompt.rest)
}

// noPrompt is the output of a prompt without tokens.
var noPrompt = Output{hash: 0xcbf29ce484222325}

// after returns the output of a prompt that goes on with ids after the one of o. Four
// ids at once take the time of one, because multiplications need not wait for each
// other (BenchmarkNewCall).
func (o Output) after(ids []uint32) Output {
	const (
		x  = 0x9e3779b97f4a7c15
		x2 = x * x % (1 << 64)
		x3 = x2 * x % (1 << 64)
		x4 = x3 * x % (1 << 64)
	)
	h := o.hash
	for ; len(ids) >= 4; ids = ids[4:] {
		h = h*x4 + (uint64(ids[0])*x3 + uint64(ids[1])*x2) + (uint64(ids[2])*x + uint64(ids[3]))
	}
	for _, id := range ids {
		h = h*x + uint64(id)
	}
	return Output{hash: h}
}

// Rest is what follows the first n tokens of o.
func (o Output) Rest(n int) Output { return Output{o.hash, o.from + n} }

// Token returns the text of token i (0-based), its leading space included.
func (o Output) Token(i int) string { return outputWords[o.word(i)] }

// ID returns the id that pkg/token gives token i, so that a prompt which repeats
// the answer holds the same ids.
func (o Output) ID(i int) uint32 { return outputIDs[o.word(i)] }

func (o Output) word(i int) uint64 {
	h := o.hash + uint64(o.from+i)*0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	return h % uint64(len(outputWords))
}

// Text returns the first n tokens as one string.
func (o Output) Text(n int) string { return string(o.AppendText(nil, n)) }

// AppendText appends the first n tokens to dst. Every word fits in eight bytes, so
// that it is copied as one number and its rest overwritten by the next word
// (BenchmarkAppendText).
func (o Output) AppendText(dst []byte, n int) []byte {
	dst = slices.Grow(dst, TextRoom(n))
	at := len(dst)
	to := dst[:cap(dst)]
	for i := range n {
		word := &packedWords[o.word(i)]
		binary.LittleEndian.PutUint64(to[at:], word.text)
		at += word.size
	}
	return to[:at]
}

// TextRoom is how many bytes AppendText needs behind dst for n tokens, so as not to
// move it.
func TextRoom(n int) int { return longestWord*n + 8 }

// longestWord is the length of the longest of outputWords.
const longestWord = 6

// packedWords are outputWords as numbers.
var packedWords = func() (packed [len(outputWords)]struct {
	text uint64
	size int
}) {
	for i, word := range outputWords {
		var text [8]byte
		packed[i].size = copy(text[:], word)
		packed[i].text = binary.LittleEndian.Uint64(text[:])
	}
	return packed
}()

// outputWords are single tokens, with their leading space, of the common BPE
// vocabularies.
var outputWords = [...]string{
	" the", " of", " and", " to", " in", " is", " that", " for", " it", " as",
	" was", " with", " be", " by", " on", " not", " he", " this", " are", " or",
	" his", " from", " at", " which", " but", " have", " an", " had", " they", " you",
	" were", " their", " one", " all", " we", " can", " her", " has", " there", " been",
	" if", " more", " when", " will", " would", " who", " so", " no", " she", " other",
	" its", " may", " these", " what", " them", " than", " some", " him", " time", " into",
	" only", " do", " such", " my",
}

var outputIDs = func() (ids [len(outputWords)]uint32) {
	for i, word := range outputWords {
		ids[i] = token.Append(nil, word)[0]
	}
	return ids
}()
