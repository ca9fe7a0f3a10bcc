package openai

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// chunkScanner reads the chunks that servers send in one pass. It gives up, and
// leaves the chunk to encoding/json, wherever the two could differ: keys with
// capitals, escapes or other alphabets (encoding/json folds case), a key twice,
// several choices, an error, numbers that are no plain integers, broken text.
// BenchmarkChunk says what it saves.
type chunkScanner struct {
	data []byte
	pos  int
	bad  bool
	text []byte // decoded strings that hold escapes

	holes []hole // values of data that a template leaves open, in the order of data
}

// deepest bounds the nesting that the scanner follows. Log probabilities of chat
// chunks nest 6 deep.
const deepest = 16

// chunk scans data into c and reports whether it understood every byte.
func (s *chunkScanner) chunk(data []byte, c *chunk) bool {
	s.data, s.pos, s.bad, s.text, s.holes = data, 0, false, s.text[:0], s.holes[:0]
	*c = chunk{cached: -1, thought: -1}
	s.space()
	s.top(c)
	s.space()
	return !s.bad && s.pos == len(s.data)
}

func (s *chunkScanner) top(c *chunk) {
	var choices, usage, fault, object int
	for more := s.enter('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "choices":
			choices++
			s.choices(c)
		case "usage":
			usage++
			if !s.null() {
				c.hasUsage = true
				s.usage(c)
			}
		case "error":
			fault++
			s.refuse(!s.null())
		case "object":
			object++
			s.refuse(string(s.str()) == "error")
		default:
			s.skip(0)
		}
		s.refuse(choices > 1 || usage > 1 || fault > 1 || object > 1)
	}
}

func (s *chunkScanner) choices(c *chunk) {
	if s.null() {
		return
	}
	n := 0
	for more := s.enter('[', ']'); more; more = s.next(']') {
		if n++; n > 1 {
			s.bad = true
			return
		}
		s.choice(c)
	}
}

func (s *chunkScanner) choice(c *chunk) {
	var delta, text, finish int
	var completion []byte
	for more := s.enter('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "delta":
			delta++
			if !s.null() {
				s.delta(c)
			}
		case "text":
			text++
			completion = s.openText(contentHole)
		case "finish_reason":
			finish++
			c.finish = s.strOrNull()
		default:
			s.skip(0)
		}
		s.refuse(delta > 1 || text > 1 || finish > 1)
	}
	if len(completion) > 0 {
		s.refuse(len(c.content) > 0)
		c.content = completion
	}
}

func (s *chunkScanner) delta(c *chunk) {
	var content, reasoning, older, tools int
	var thought, olderThought []byte
	for more := s.enter('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "content":
			content++
			c.content = s.openText(contentHole)
		case "reasoning":
			reasoning++
			thought = s.openText(reasoningHole)
		case "reasoning_content":
			older++
			olderThought = s.openText(reasoningHole)
		case "tool_calls":
			tools++
			if !s.null() {
				for more := s.enter('[', ']'); more; more = s.next(']') {
					c.toolCall = true
					s.skip(0)
				}
			}
		default:
			s.skip(0)
		}
		s.refuse(content > 1 || reasoning > 1 || older > 1 || tools > 1)
	}
	if c.reasoning = thought; len(thought) == 0 {
		c.reasoning = olderThought
	}
}

func (s *chunkScanner) usage(c *chunk) {
	var prompt, completion, total, promptDetails, completionDetails int
	for more := s.enter('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "prompt_tokens":
			prompt++
			c.usage.PromptTokens = s.count()
		case "completion_tokens":
			completion++
			c.usage.CompletionTokens = s.openCount(completionTokensHole)
		case "total_tokens":
			total++
			c.usage.TotalTokens = s.openCount(totalTokensHole)
		case "prompt_tokens_details":
			promptDetails++
			if !s.null() {
				c.cached = s.detail("cached_tokens")
			}
		case "completion_tokens_details":
			completionDetails++
			if !s.null() {
				c.thought = s.detail("reasoning_tokens")
			}
		default:
			s.skip(0)
		}
		s.refuse(prompt > 1 || completion > 1 || total > 1 || promptDetails > 1 || completionDetails > 1)
	}
}

// detail returns the count called name in an object, 0 without one.
func (s *chunkScanner) detail(name string) int {
	n, times := 0, 0
	for more := s.enter('{', '}'); more; more = s.next('}') {
		if string(s.key()) != name {
			s.skip(0)
			continue
		}
		if times++; times > 1 {
			s.bad = true
		}
		n = s.count()
	}
	return n
}

// refuse gives up if it must.
func (s *chunkScanner) refuse(must bool) {
	if must {
		s.bad = true
	}
}

// enter steps into an object or array and reports whether it has an element.
func (s *chunkScanner) enter(opening, closing byte) bool {
	if !s.take(opening) {
		s.bad = true
		return false
	}
	s.space()
	return !s.take(closing)
}

// next steps over what stands between two elements and reports whether there is
// another one.
func (s *chunkScanner) next(closing byte) bool {
	if s.bad {
		return false
	}
	s.space()
	switch {
	case s.take(','):
		s.space()
		return true
	case s.take(closing):
		return false
	}
	s.bad = true
	return false
}

// key reads a member's name and the colon after it.
func (s *chunkScanner) key() []byte {
	if !s.take('"') {
		s.bad = true
		return nil
	}
	from := s.pos
	for s.pos < len(s.data) && plainKey[s.data[s.pos]] {
		s.pos++
	}
	name := s.data[from:s.pos]
	if !s.take('"') {
		s.bad = true
		return nil
	}
	s.space()
	if !s.take(':') {
		s.bad = true
		return nil
	}
	s.space()
	return name
}

// str reads a string.
func (s *chunkScanner) str() []byte {
	if !s.take('"') {
		s.bad = true
		return nil
	}
	from := s.pos
	ascii := s.plain()
	value := s.data[from:s.pos]
	switch {
	case s.take('"'):
	case s.pos < len(s.data) && s.data[s.pos] == '\\':
		value, ascii = s.escaped(value), false
	default:
		s.bad = true
		return nil
	}
	if !ascii && !utf8.Valid(value) {
		s.bad = true // encoding/json puts U+FFFD in place of each broken byte
	}
	return value
}

func (s *chunkScanner) strOrNull() []byte {
	if s.null() {
		return nil
	}
	return s.str()
}

// openText is strOrNull, whose text a template leaves open.
func (s *chunkScanner) openText(kind holeKind) []byte {
	if s.null() {
		return nil
	}
	from := s.pos
	text := s.str()
	s.holes = append(s.holes, hole{from, s.pos, kind})
	return text
}

// openCount is count, whose digits a template leaves open.
func (s *chunkScanner) openCount(kind holeKind) int {
	from := s.pos
	n := s.count()
	s.holes = append(s.holes, hole{from, s.pos, kind})
	return n
}

// escaped reads the rest of a string from its first backslash on.
func (s *chunkScanner) escaped(head []byte) []byte {
	start := len(s.text)
	s.text = append(s.text, head...)
	for !s.bad {
		if s.take('"') {
			return s.text[start:]
		}
		if s.take('\\') {
			s.escape()
			continue
		}
		from := s.pos
		s.plain()
		if from == s.pos {
			s.bad = true
		}
		s.text = append(s.text, s.data[from:s.pos]...)
	}
	return nil
}

// escape reads what follows a backslash.
func (s *chunkScanner) escape() {
	if s.pos == len(s.data) {
		s.bad = true
		return
	}
	c := s.data[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r := s.hex()
		if utf16.IsSurrogate(r) {
			if !s.take('\\') || !s.take('u') {
				s.bad = true
				return
			}
			if r = utf16.DecodeRune(r, s.hex()); r == utf8.RuneError {
				s.bad = true // half a pair
			}
		}
		s.text = utf8.AppendRune(s.text, r)
		return
	default:
		s.bad = true
	}
	s.text = append(s.text, c)
}

func (s *chunkScanner) hex() rune {
	if len(s.data)-s.pos < 4 {
		s.bad = true
		return 0
	}
	var r rune
	for _, c := range s.data[s.pos : s.pos+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			s.bad = true
		}
	}
	s.pos += 4
	return r
}

// count reads a plain integer that is not negative.
func (s *chunkScanner) count() int {
	from, n := s.pos, 0
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		n = n*10 + int(s.data[s.pos]-'0')
		s.pos++
	}
	digits := s.pos - from
	if digits == 0 || digits > 9 || digits > 1 && s.data[from] == '0' {
		s.bad = true
	}
	return n // a fraction or exponent that follows fails as no comma or brace
}

// skip steps over a value of any kind.
func (s *chunkScanner) skip(depth int) {
	if s.bad || s.pos == len(s.data) || depth == deepest {
		s.bad = true
		return
	}
	switch c := s.data[s.pos]; c {
	case '"':
		s.skipString()
	case '{':
		for more := s.enter('{', '}'); more; more = s.next('}') {
			s.skipString()
			s.space()
			if !s.take(':') {
				s.bad = true
				return
			}
			s.space()
			s.skip(depth + 1)
		}
	case '[':
		for more := s.enter('[', ']'); more; more = s.next(']') {
			s.skip(depth + 1)
		}
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.skipNumber()
	}
}

func (s *chunkScanner) skipString() {
	if !s.take('"') {
		s.bad = true
		return
	}
	for {
		s.plain()
		switch {
		case s.take('"'):
			return
		case s.take('\\') && s.pos < len(s.data):
			if c := s.data[s.pos]; c == 'u' {
				s.pos++
				s.hex()
			} else {
				s.pos++
				s.refuse(!simpleEscape[c])
			}
		default:
			s.bad = true
		}
		if s.bad {
			return
		}
	}
}

// skipNumber steps over -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?.
func (s *chunkScanner) skipNumber() {
	s.take('-')
	if !s.take('0') {
		s.digits()
	}
	if s.take('.') {
		s.digits()
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		s.digits()
	}
}

func (s *chunkScanner) digits() {
	from := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	if from == s.pos {
		s.bad = true
	}
}

// null steps over a null, if one stands here.
func (s *chunkScanner) null() bool {
	if s.pos < len(s.data) && s.data[s.pos] == 'n' {
		s.word("null")
		return true
	}
	return false
}

func (s *chunkScanner) word(w string) {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		s.bad = true
		return
	}
	s.pos += len(w)
}

// plain steps over the bytes of a string that stand for themselves, eight at a time while
// there are eight, and reports whether all of them are ASCII.
func (s *chunkScanner) plain() (ascii bool) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	data, i := s.data, s.pos
	seen := uint64(0)
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		// A byte below n borrows from its top bit when n is taken off it; &^w leaves out
		// bytes that had their top bit set before. The first byte that is marked is a quote,
		// a backslash or a control character; those after it may not be.
		if special := ((w - ones*0x20) | (quote - ones) | (slash - ones)) &^ w & tops; special != 0 {
			top := bits.TrailingZeros64(special)
			s.pos = i + top/8
			return (seen|w&(1<<(top-7)-1))&tops == 0
		}
		seen |= w
	}
	rest := byte(0)
	for i < len(data) && plainText[data[i]] {
		rest |= data[i]
		i++
	}
	s.pos = i
	return seen&tops == 0 && rest < utf8.RuneSelf
}

func (s *chunkScanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

func (s *chunkScanner) take(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// plainText holds the bytes that stand for themselves in a JSON string, plainKey
// those of a key that no other key equals after folding case, simpleEscape those
// that may follow a backslash, u apart.
var plainText, plainKey, simpleEscape = func() (text, key, escape [256]bool) {
	for c := 0x20; c < 256; c++ {
		text[c] = c != '"' && c != '\\'
		key[c] = text[c] && c < utf8.RuneSelf && (c < 'A' || c > 'Z')
	}
	for _, c := range []byte(`"\/bfnrt`) {
		escape[c] = true
	}
	return text, key, escape
}()
