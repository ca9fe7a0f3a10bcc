package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"bgbench/pkg/printable"
	"bgbench/pkg/record"
)

// Outcome is what an answer says about itself, complete or not. Pointers are nil
// and instants zero where there is nothing to tell.
type Outcome struct {
	Status string // one of record's Status constants
	Error  string // why Status is not ok: one short line

	// FirstChunkAt is the first JSON object of a stream, vLLM's empty role chunk
	// included. FirstTokenAt and LastTokenAt are chunks with output: text, reasoning
	// or a tool call. DoneAt is [DONE], or the end where it never came.
	FirstChunkAt, FirstTokenAt, LastTokenAt, DoneAt time.Time

	Chunks int // with output

	PromptTokens    *int64
	CachedTokens    *int64
	OutputTokens    *int64
	ReasoningTokens *int64
	TokenSource     string // one of record's TokensFrom constants, empty without output
	FinishReason    string
	TextSHA256      string // of the content, hexadecimal; empty without content
}

// Stream follows an answer from event to event. The zero value is ready for use;
// one that is reset keeps its buffers.
type Stream struct {
	// OnChunk is told about each chunk with output as it is parsed: when its last
	// byte was read, and how many tokens it carried. That is the growth of the usage
	// count where the server sends one with each chunk, and 1 elsewhere.
	OnChunk func(at time.Time, tokens int)
	// OnText is handed the pieces of the answer. They are valid during the call.
	OnText func(content, reasoning []byte)

	parser chunkParser
	chunk  chunk
	sum    textSum

	out Outcome
	// counted is the sum of the tokens told to OnChunk.
	counted      int
	withUsage    int // chunks with output that came with usage
	usage        Usage
	hasUsage     bool
	cached       int
	thought      int
	sawDone      bool
	failed       bool // out.Status and out.Error are final
	chunksParsed int
}

// Reset makes s as new for another answer and keeps its buffers. OnChunk and
// OnText are dropped.
func (s *Stream) Reset() {
	s.sum.reset()
	s.parser.template.in = nil
	*s = Stream{parser: s.parser, sum: s.sum}
}

// done is the event that ends an OpenAI stream.
var done = []byte("[DONE]")

// Follow reads events until the answer is complete or broken and returns what it
// said. It does not read beyond [DONE].
func (s *Stream) Follow(d *Decoder) Outcome {
	for {
		if n := s.parser.template.event(&s.parser.scan, d.unread(), &s.chunk); n > 0 {
			d.step(n)
			if more := s.take(d.at); !more {
				break
			}
			continue
		}
		event, err := d.Next()
		if err != nil {
			s.cut(d, err)
			break
		}
		if more := s.event(event); !more {
			break
		}
	}
	return s.outcome()
}

// event takes one event and reports whether the stream goes on.
func (s *Stream) event(e Event) (more bool) {
	if len(e.Data) == 0 {
		return true // a keep-alive
	}
	if bytes.Equal(e.Data, done) {
		s.sawDone = true
		s.out.DoneAt = e.At
		return false
	}
	c := &s.chunk
	if err := s.parser.parse(e.Data, c); err != nil {
		if string(e.Name) == "error" {
			return s.fail(e.At, record.StatusHTTPError, string(e.Data))
		}
		return s.fail(e.At, record.StatusProtocolError, err.Error())
	}
	switch {
	case c.failed:
		s.first(e.At)
		return s.fail(e.At, record.StatusHTTPError, c.failure)
	case string(e.Name) == "error":
		s.first(e.At)
		return s.fail(e.At, record.StatusHTTPError, string(e.Data))
	}
	return s.take(e.At)
}

// first notes that a chunk was parsed.
func (s *Stream) first(at time.Time) {
	if s.chunksParsed++; s.chunksParsed == 1 {
		s.out.FirstChunkAt = at
	}
}

// take takes a chunk that was parsed and is no error, and reports whether the stream goes on.
func (s *Stream) take(at time.Time) (more bool) {
	s.first(at)
	c := &s.chunk
	if c.hasUsage {
		switch {
		case c.fault != "":
			return s.miscounted(at, c.fault)
		case c.usage.CompletionTokens < s.usage.CompletionTokens:
			return s.miscounted(at, fmt.Sprintf("usage falls from %d to %d completion_tokens, expected a count that grows", s.usage.CompletionTokens, c.usage.CompletionTokens))
		}
		s.hasUsage = true
		s.usage = c.usage
		s.cached, s.thought = c.cached, c.thought
	}
	if len(c.finish) > 0 {
		s.out.FinishReason = string(c.finish)
	}
	if c.output() {
		s.output(at, c)
	}
	return true
}

// miscounted ends the answer for a usage that cannot be: what the server said before counts
// no more than that.
func (s *Stream) miscounted(at time.Time, why string) (more bool) {
	s.hasUsage = false
	return s.fail(at, record.StatusProtocolError, why)
}

func (s *Stream) output(at time.Time, c *chunk) {
	s.out.Chunks++
	if s.out.Chunks == 1 {
		s.out.FirstTokenAt = at
	}
	s.out.LastTokenAt = at

	tokens := 1
	if c.hasUsage {
		s.withUsage++
		tokens = max(0, c.usage.CompletionTokens-s.counted)
	}
	s.counted += tokens
	if s.OnChunk != nil {
		s.OnChunk(at, tokens)
	}
	if s.OnText != nil {
		s.OnText(c.content, c.reasoning)
	}
	s.sum.add(c.content)
}

// fail ends the answer for what it said.
func (s *Stream) fail(at time.Time, status, why string) (more bool) {
	s.failed = true
	s.out.Status, s.out.Error = status, shorten(why)
	s.out.DoneAt = at
	return false
}

// cut ends the answer where the decoder ended. A clean end of the connection may
// stand in for [DONE] once the finish reason is there; a broken one may not.
func (s *Stream) cut(d *Decoder, err error) {
	s.out.DoneAt = d.LastRead()
	switch {
	case errors.Is(err, io.EOF):
		// Some servers end on [DONE] without the empty line that completes the event.
		s.sawDone = bytes.Equal(d.Unfinished(), done)
		if s.sawDone || s.out.FinishReason != "" {
			return
		}
		why := "stream ended without a finish reason and [DONE]"
		if s.chunksParsed == 0 {
			why = "stream ended without an event"
		}
		s.fail(s.out.DoneAt, record.StatusProtocolError, why)
	case errors.Is(err, ErrEventTooLarge), errors.Is(err, errAnswerTooLarge):
		s.fail(s.out.DoneAt, record.StatusProtocolError, err.Error())
	default:
		s.fail(s.out.DoneAt, record.StatusTransportError, fmt.Sprintf("stream broke after %d chunks: %v", s.out.Chunks, err))
	}
}

// outcome draws the sum.
func (s *Stream) outcome() Outcome {
	out := s.out
	if s.hasUsage {
		out.PromptTokens = count(s.usage.PromptTokens)
		if s.cached >= 0 {
			out.CachedTokens = count(s.cached)
		}
		if s.thought >= 0 {
			out.ReasoningTokens = count(s.thought)
		}
		out.OutputTokens = count(s.usage.CompletionTokens)
		out.TokenSource = record.TokensFromUsage
		if s.withUsage > 0 && s.withUsage == out.Chunks {
			out.TokenSource = record.TokensFromContinuousUsage
		}
	} else if out.Chunks > 0 {
		out.OutputTokens = count(out.Chunks)
		out.TokenSource = record.TokensFromChunks
	}
	out.TextSHA256 = s.sum.text()
	if !s.failed {
		out.Status, out.Error = s.judge()
	}
	return out
}

// judge decides about an answer that ended by its own word.
func (s *Stream) judge() (status, why string) {
	if why := unfinished(s.out.FinishReason); why != "" {
		return record.StatusProtocolError, why
	}
	// An answer may hold tokens without text, an end-of-sequence token for one.
	generated := s.out.Chunks > 0 || s.out.FinishReason != "" && s.hasUsage && s.usage.CompletionTokens > 0
	if !generated {
		return record.StatusProtocolError, "stream ended without output"
	}
	return record.StatusOK, ""
}

// unfinished says why an answer with this finish reason is only a part of one: vLLM
// ends requests so that its engine dropped.
func unfinished(reason string) string {
	switch reason {
	case "abort", "error":
		return "server ended the answer with finish reason " + reason
	}
	return ""
}

func count(n int) *int64 {
	c := int64(n)
	return &c
}

// errorTextLimit is the length in bytes of the error column's texts: long enough
// for vLLM's longest message about the context length.
const errorTextLimit = 400

// shorten makes one short line of what a server wrote.
func shorten(text string) string {
	text = printable.Line(strings.Join(strings.Fields(text), " "))
	if len(text) <= errorTextLimit {
		return text
	}
	cut := errorTextLimit
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
