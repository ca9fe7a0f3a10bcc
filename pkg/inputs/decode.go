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

// decodeDue is decodePrompt for a line that AppendDue wrote. Phases and classes are few:
// those of the line before are taken where they are the same.
func decodeDue(line []byte, before Due) (d Due, ok bool) {
	c := cursor{unsafe.String(unsafe.SliceData(line), len(line)), true}
	c.literal(`{"i":`)
	d.I = c.integer()
	c.literal(`,"due_ns":`)
	d.DueNS = int64(c.integer())
	c.literal(`,"phase":`)
	d.Phase = c.few(before.Phase)
	c.literal(`,"cycle":`)
	d.Cycle = c.integer()
	c.literal(`,"warmup":`)
	d.Warmup = c.boolean()
	c.literal(`,"class":`)
	d.Class = c.few(before.Class)
	c.literal(`,"prompt":`)
	d.Prompt = c.integer()
	if strings.HasPrefix(c.rest, ",") {
		c.literal(`,"in_flight":`)
		d.InFlight = c.integer()
	}
	c.literal("}")
	if !c.ok || len(c.rest) > 0 {
		return Due{}, false
	}
	return d, true
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
	digits := strings.TrimPrefix(c.rest[:end], "-")
	n, err := strconv.Atoi(c.rest[:end])
	// JSON has no leading zero; the other decoder says so.
	if err != nil || strings.HasPrefix(digits, "0") && c.rest[:end] != "0" {
		c.ok = false
		return 0
	}
	c.rest = c.rest[end:]
	return n
}

func (c *cursor) boolean() bool {
	for _, v := range []bool{true, false} {
		if rest, ok := strings.CutPrefix(c.rest, strconv.FormatBool(v)); ok {
			c.rest = rest
			return v
		}
	}
	c.ok = false
	return false
}

// few is plainString for one that likely is known and is kept beyond the line.
func (c *cursor) few(known string) string {
	if s := c.plainString(); s != known {
		return strings.Clone(s)
	}
	return known
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
