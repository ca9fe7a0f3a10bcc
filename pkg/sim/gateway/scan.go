package gateway

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"bgbench/pkg/openai"
)

// scanned is what scanLine takes from a line.
type scanned struct {
	customID, method, url string
	model                 string
	stream                bool
	messages              []openai.Message
	maxTokens, minTokens  int
	ignoreEOS             bool
	cacheSalt             string
	plain                 bool // the body holds nothing else that an inference server reads here
}

// scanLine reads an input line without copying its strings: jobs are tens of
// megabytes, and encoding/json would be most of a simulated run's time (see
// BenchmarkParseLine). It knows only the common shape of a line. When it meets
// anything else (a rare escape, a key twice or in another case, another type, invalid
// JSON) it gives up, and the caller asks encoding/json, which then decides; a fuzz
// test holds the two against each other.
func scanLine(text string) (_ scanned, ok bool) {
	c := cursor{text: text}
	s := scanned{plain: true}
	var seen [4]bool
	c.object(func(key string) {
		switch key {
		case "custom_id":
			c.once(&seen[0])
			s.customID = c.str()
		case "method":
			c.once(&seen[1])
			s.method = c.str()
		case "url":
			c.once(&seen[2])
			s.url = c.str()
		case "body":
			c.once(&seen[3])
			c.body(&s)
		default:
			c.unknown(key, "custom_id", "method", "url", "body")
		}
	})
	c.space()
	return s, !c.failed && c.at == len(text)
}

func (c *cursor) body(s *scanned) {
	var seen [7]bool
	c.object(func(key string) {
		switch key {
		case "model":
			c.once(&seen[0])
			s.model = c.str()
		case "stream":
			c.once(&seen[1])
			s.stream = c.boolean()
		case "messages":
			c.once(&seen[2])
			c.messages(s)
		case "max_tokens":
			c.once(&seen[3])
			s.maxTokens = c.integer()
		case "min_tokens":
			c.once(&seen[4])
			s.minTokens = c.integer()
		case "ignore_eos":
			c.once(&seen[5])
			s.ignoreEOS = c.boolean()
		case "cache_salt":
			c.once(&seen[6])
			s.cacheSalt = c.str()
		case "stream_options", "temperature", "priority":
			s.plain = false
			c.skip()
		default:
			c.unknown(key, "model", "stream", "messages", "max_tokens", "min_tokens", "ignore_eos",
				"stream_options", "temperature", "priority", "cache_salt")
		}
	})
}

func (c *cursor) messages(s *scanned) {
	s.messages = make([]openai.Message, 0, 2)
	c.array(func() {
		var m openai.Message
		var seen [2]bool
		c.object(func(key string) {
			switch key {
			case "role":
				c.once(&seen[0])
				m.Role = c.str()
			case "content":
				c.once(&seen[1])
				m.Content = c.str()
			default:
				c.unknown(key, "role", "content")
			}
		})
		s.messages = append(s.messages, m)
	})
}

// cursor walks over JSON text. After it failed it does nothing more.
type cursor struct {
	text   string
	at     int
	depth  int
	failed bool
}

// maxScanDepth keeps nesting shallow enough to leave deep input to encoding/json.
const maxScanDepth = 64

func (c *cursor) fail() { c.failed = true }

func (c *cursor) once(seen *bool) {
	if *seen {
		c.fail()
	}
	*seen = true
}

func (c *cursor) space() {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

// next skips white space and takes the byte b.
func (c *cursor) next(b byte) bool {
	c.space()
	if c.failed || c.at >= len(c.text) || c.text[c.at] != b {
		return false
	}
	c.at++
	return true
}

func (c *cursor) want(b byte) {
	if !c.next(b) {
		c.fail()
	}
}

func (c *cursor) object(member func(key string)) {
	c.want('{')
	c.depth++
	if c.depth > maxScanDepth {
		c.fail()
	}
	for first := true; !c.failed && !c.next('}'); first = false {
		if !first {
			c.want(',')
		}
		key := c.str()
		c.want(':')
		if !c.failed {
			member(key)
		}
	}
	c.depth--
}

func (c *cursor) array(element func()) {
	c.want('[')
	c.depth++
	if c.depth > maxScanDepth {
		c.fail()
	}
	for first := true; !c.failed && !c.next(']'); first = false {
		if !first {
			c.want(',')
		}
		if !c.failed {
			element()
		}
	}
	c.depth--
}

// str takes a string. One without escapes is a part of the text.
func (c *cursor) str() string {
	c.want('"')
	if c.failed {
		return ""
	}
	rest := c.text[c.at:]
	if n := strings.IndexByte(rest, '"'); n >= 0 && isPlainASCII(rest[:n]) {
		c.at += n + 1
		return rest[:n]
	}
	escaped := false
	for i := 0; i < len(rest); i++ {
		switch b := rest[i]; {
		case b == '"':
			c.at += i + 1
			if !utf8.ValidString(rest[:i]) { // encoding/json would replace the bad bytes
				c.fail()
			}
			if escaped {
				return c.unescape(rest[:i])
			}
			return rest[:i]
		case b == '\\':
			escaped = true
			i++
		case b < ' ':
			c.fail()
			return ""
		}
	}
	c.fail()
	return ""
}

// isPlainASCII reports whether s stands in JSON for itself, byte by byte. It looks
// at eight bytes at a time, and may say no to what a closer look would find plain.
func isPlainASCII(s string) bool {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for len(s) >= 8 {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		backslash := w ^ ones*'\\'
		// A byte below n has its high bit set in w-ones*n, unless it was set in w.
		if (w|(w-ones*' ')|(backslash-ones)&^backslash)&highs != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if b := s[i]; b < ' ' || b == '\\' || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unescape resolves the short escapes.
func (c *cursor) unescape(s string) string {
	out := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return string(append(out, s...))
		}
		out = append(out, s[:i]...)
		switch s[i+1] {
		case '"', '\\', '/':
			out = append(out, s[i+1])
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		default:
			c.fail()
			return ""
		}
		s = s[i+2:]
	}
}

func (c *cursor) word(w string) bool {
	if strings.HasPrefix(c.text[c.at:], w) {
		c.at += len(w)
		return true
	}
	return false
}

func (c *cursor) boolean() bool {
	c.space()
	switch {
	case c.word("true"):
		return true
	case c.word("false"):
		return false
	}
	c.fail()
	return false
}

// integer takes a number of at most nine digits.
func (c *cursor) integer() int {
	c.space()
	start := c.at
	for c.at < len(c.text) && '0' <= c.text[c.at] && c.text[c.at] <= '9' {
		c.at++
	}
	digits := c.text[start:c.at]
	if len(digits) > 9 || len(digits) > 1 && digits[0] == '0' || c.at < len(c.text) && strings.IndexByte(".eE", c.text[c.at]) >= 0 {
		c.fail()
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		c.fail()
	}
	return n
}

// unknown skips the value of a key that is none of known. encoding/json would take
// a key in another case for the known one.
func (c *cursor) unknown(key string, known ...string) {
	for _, k := range known {
		if strings.EqualFold(key, k) {
			c.fail()
		}
	}
	c.skip()
}

func (c *cursor) skip() {
	c.space()
	if c.failed || c.at >= len(c.text) {
		c.fail()
		return
	}
	switch b := c.text[c.at]; {
	case b == '"':
		c.str()
	case b == '{':
		c.object(func(string) { c.skip() })
	case b == '[':
		c.array(c.skip)
	case b == 't' || b == 'f':
		c.boolean()
	case b == 'n':
		if !c.word("null") {
			c.fail()
		}
	case '0' <= b && b <= '9':
		c.number()
	default:
		c.fail()
	}
}

// number skips an unsigned number with an optional fraction.
func (c *cursor) number() {
	start := c.at
	digits := func() (n int) {
		for c.at < len(c.text) && '0' <= c.text[c.at] && c.text[c.at] <= '9' {
			c.at++
			n++
		}
		return n
	}
	if n := digits(); n > 1 && c.text[start] == '0' {
		c.fail()
	}
	if c.at < len(c.text) && c.text[c.at] == '.' {
		c.at++
		if digits() == 0 {
			c.fail()
		}
	}
	if c.at < len(c.text) && (c.text[c.at] == 'e' || c.text[c.at] == 'E') {
		c.fail()
	}
}
