package openai

import "bytes"

// template is the last chunk that was scanned, with holes where its texts and counts
// stand. The chunks of a stream differ in these alone: one that is the same byte for
// byte around the holes means the same around them, and need not be taken apart again
// (BenchmarkChunk).
type template struct {
	data  []byte
	holes []hole
	chunk chunk // what data says, without its texts
	// finish is the finish reason of chunk: the scanner's lies in the buffer of the stream.
	finish []byte
}

// hole is a value, data[from:to], that may be another one in the next chunk.
type hole struct {
	from, to int
	kind     holeKind
}

type holeKind uint8

const (
	contentHole holeKind = iota
	reasoningHole
	completionTokensHole
	totalTokensHole
)

// templateLimit keeps chunks with log probabilities out: they are large and no two of
// them alike.
const templateLimit = 1 << 10

// learn makes data, which the scanner has understood as c, the template, or leaves none.
func (t *template) learn(s *chunkScanner, data []byte, c *chunk) {
	t.data = t.data[:0]
	if len(data) > templateLimit || twoOfAKind(s.holes) {
		return
	}
	t.data = append(t.data, data...)
	t.holes = append(t.holes[:0], s.holes...)
	t.chunk = *c
	t.chunk.content, t.chunk.reasoning = nil, nil
	t.finish = append(t.finish[:0], c.finish...)
	t.chunk.finish = t.finish
}

// twoOfAKind reports whether two values are of one kind, such as the reasoning under its
// old and its new name: which of the two counts depends on what they are.
func twoOfAKind(holes []hole) bool {
	var seen [totalTokensHole + 1]bool
	for _, h := range holes {
		if seen[h.kind] {
			return true
		}
		seen[h.kind] = true
	}
	return false
}

// read reads data into c if it has the form of the template, and reports whether it has.
func (t *template) read(s *chunkScanner, data []byte, c *chunk) bool {
	if len(t.data) == 0 {
		return false
	}
	s.data, s.pos, s.bad, s.text = data, 0, false, s.text[:0]
	*c = t.chunk
	from := 0
	for _, h := range t.holes {
		if !s.same(t.data[from:h.from]) {
			return false
		}
		switch h.kind {
		case contentHole:
			c.content = s.str()
		case reasoningHole:
			c.reasoning = s.str()
		case completionTokensHole:
			c.usage.CompletionTokens = s.count()
		case totalTokensHole:
			c.usage.TotalTokens = s.count()
		}
		if s.bad {
			return false
		}
		from = h.to
	}
	return s.same(t.data[from:]) && s.pos == len(data)
}

// same steps over literal, if it stands here.
func (s *chunkScanner) same(literal []byte) bool {
	end := s.pos + len(literal)
	if end > len(s.data) || !bytes.Equal(s.data[s.pos:end], literal) {
		return false
	}
	s.pos = end
	return true
}
