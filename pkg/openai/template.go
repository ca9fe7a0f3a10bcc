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
	line   bool   // data has no line ends: it came as one line of its event
	in     *chunk // is what chunk is, but for its texts and counts; nil for none
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
	t.data, t.in = t.data[:0], nil
	if len(data) > templateLimit || twoOfAKind(s.holes) {
		return
	}
	t.data = append(t.data, data...)
	t.holes = append(t.holes[:0], s.holes...)
	t.chunk = *c
	t.chunk.content, t.chunk.reasoning = nil, nil
	t.finish = append(t.finish[:0], c.finish...)
	t.chunk.finish = t.finish
	t.line = bytes.IndexByte(data, '\n') < 0 // nor a CR, which ends a line wherever it stands
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
	return t.begin(s, data, c) == len(data)
}

// event reads the event that begins window into c, if it is whole and its data is one line
// that has the form of the template, and returns its length; 0 otherwise. It spares most
// events of a stream the search for their ends: around the holes every byte is known, and a
// text in a hole has no line end (BenchmarkStream).
func (t *template) event(s *chunkScanner, window []byte, c *chunk) int {
	const field = "data: "
	if !t.line || len(window) < len(field) || string(window[:len(field)]) != field {
		return 0
	}
	n := t.begin(s, window[len(field):], c)
	end := len(field) + n + 2
	if n < 0 || end > len(window) || window[end-2] != '\n' || window[end-1] != '\n' {
		return 0
	}
	return end
}

// begin reads into c what data begins with, if that has the form of the template, and
// returns its length; -1 otherwise.
func (t *template) begin(s *chunkScanner, data []byte, c *chunk) int {
	if len(t.data) == 0 {
		return -1
	}
	s.data, s.pos, s.bad, s.text = data, 0, false, s.text[:0]
	if t.in != c {
		*c, t.in = t.chunk, c
	}
	from := 0
	for _, h := range t.holes {
		if !s.same(t.data[from:h.from]) {
			return -1
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
			return -1
		}
		from = h.to
	}
	if !s.same(t.data[from:]) {
		return -1
	}
	return s.pos
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
