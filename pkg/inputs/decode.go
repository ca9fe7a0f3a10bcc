package inputs

import (
	"strconv"
	"strings"
	"unsafe"
)

// decodePrompt decodes a line that AppendPrompt wrote, if its text needs no escape.
// Every cell opens its inputs, and encoding/json takes the longest part of that
// (BenchmarkOpen). Any other line is left to encoding/json: ok is false. The text of
// the prompt is part of line, which nobody may change afterwards.
func decodePrompt(line []byte) (p Prompt, ok bool) {
	c := cursor{unsafe.String(unsafe.SliceData(line), len(line)), true}
	c.literal(`{"prompt":`)
	p.Prompt = c.integer()
	c.literal(`,"system_prompt":`)
	if strings.HasPrefix(c.rest, "null") {
		c.literal("null")
	} else {
		system := c.integer()
		p.SystemPrompt = &system
	}
	c.literal(`,"user":`)
	p.User = c.plainString()
	c.literal(`,"prompt_tokens":`)
	p.PromptTokens = c.integer()
	c.literal(`,"max_tokens":`)
	p.MaxTokens = c.integer()
	c.literal("}")
	if !c.ok || len(c.rest) > 0 {
		return Prompt{}, false
	}
	return p, true
}

// cursor reads a line from left to right; ok turns false where it is not as expected.
type cursor struct {
	rest string
	ok   bool
}

func (c *cursor) literal(s string) {
	if !strings.HasPrefix(c.rest, s) {
		c.ok = false
		return
	}
	c.rest = c.rest[len(s):]
}

func (c *cursor) integer() int {
	end := 0
	for end < len(c.rest) && (c.rest[end] == '-' || '0' <= c.rest[end] && c.rest[end] <= '9') {
		end++
	}
	n, err := strconv.Atoi(c.rest[:end])
	// JSON has no leading zero; the other decoder says so.
	if err != nil || strconv.Itoa(n) != c.rest[:end] {
		c.ok = false
		return 0
	}
	c.rest = c.rest[end:]
	return n
}

func (c *cursor) plainString() string {
	c.literal(`"`)
	end := strings.IndexByte(c.rest, '"')
	if end < 0 {
		c.ok = false
		return ""
	}
	s := c.rest[:end]
	if !plain(s) {
		c.ok = false
		return ""
	}
	c.rest = c.rest[end+1:]
	return s
}
