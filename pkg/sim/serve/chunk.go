package serve

import (
	"encoding/json"
	"fmt"
	"strconv"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
)

// chunkWriter builds the server-sent events of a chat stream as vLLM writes them:
// a role chunk with empty content at the first token, content chunks of one or
// more tokens, the finish reason on the last of them, a usage chunk without
// choices if asked for, [DONE]. It appends bytes rather than marshalling because
// every streamed token of the emulated stack passes here.
type chunkWriter struct {
	buf        []byte
	prefix     string // of every chunk, up to the choices
	output     sim.Output
	prompt     int // prompt tokens
	usage      bool
	continuous bool
}

func newChunkWriter(req *openai.ChatRequest, call *sim.Call, created int64) *chunkWriter {
	id, _ := json.Marshal("chatcmpl-" + call.ID) // strings always marshal
	model, _ := json.Marshal(call.Model)
	c := &chunkWriter{
		prefix: fmt.Sprintf(`data: {"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,"choices":[`, id, created, model),
		output: call.Output(),
		prompt: call.Prompt.Len(),
	}
	if o := req.StreamOptions; o != nil {
		c.usage = o.IncludeUsage
		c.continuous = o.IncludeUsage && o.ContinuousUsageStats
	}
	return c
}

// bytes returns what was built since the last call. It is valid until the next build.
func (c *chunkWriter) bytes() []byte {
	b := c.buf
	c.buf = c.buf[:0]
	return b
}

// role builds the first chunk.
func (c *chunkWriter) role() {
	c.buf = append(c.buf, c.prefix...)
	c.buf = append(c.buf, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	c.closeChunk(0)
}

// content builds a chunk with n tokens from token number first on, and the end of
// the stream when end is set.
func (c *chunkWriter) content(first, n int, end *sim.End) {
	c.buf = append(c.buf, c.prefix...)
	c.buf = append(c.buf, `{"index":0,"delta":{"content":"`...)
	for i := range n {
		c.buf = append(c.buf, c.output.Token(first+i)...) // plain words: nothing to escape
	}
	c.buf = append(c.buf, `"},"logprobs":null,"finish_reason":`...)
	if end != nil {
		c.buf = strconv.AppendQuote(c.buf, end.FinishReason)
	} else {
		c.buf = append(c.buf, "null"...)
	}
	c.buf = append(c.buf, "}]"...)
	c.closeChunk(first + n)
	if end == nil {
		return
	}
	if c.usage {
		c.buf = append(c.buf, c.prefix...)
		c.buf = append(c.buf, `],"usage":`...)
		usage, _ := json.Marshal(sim.WireUsage(end.Usage)) // plain numbers always marshal
		c.buf = append(c.buf, usage...)
		c.buf = append(c.buf, "}\n\n"...)
	}
	c.buf = append(c.buf, "data: [DONE]\n\n"...)
}

// failure builds the error that vLLM sends inside a stream that has begun.
func (c *chunkWriter) failure(end sim.End) {
	body, _ := json.Marshal(sim.ErrorBody(end)) // strings and a number always marshal
	c.buf = append(c.buf, "data: "...)
	c.buf = append(c.buf, body...)
	c.buf = append(c.buf, "\n\ndata: [DONE]\n\n"...)
}

func (c *chunkWriter) closeChunk(completion int) {
	if c.continuous {
		c.buf = append(c.buf, `,"usage":{"prompt_tokens":`...)
		c.buf = strconv.AppendInt(c.buf, int64(c.prompt), 10)
		c.buf = append(c.buf, `,"total_tokens":`...)
		c.buf = strconv.AppendInt(c.buf, int64(c.prompt+completion), 10)
		c.buf = append(c.buf, `,"completion_tokens":`...)
		c.buf = strconv.AppendInt(c.buf, int64(completion), 10)
		c.buf = append(c.buf, '}')
	}
	c.buf = append(c.buf, "}\n\n"...)
}
