package gateway

import (
	"strconv"

	"bgbench/pkg/sim"
)

// completion is the answer to a call as the processor writes it, with its keys in the
// order of the alphabet. encoding/json would take longer for it than everything else
// that becomes of a line (see BenchmarkResult); a test holds the two against each other.
type completion struct {
	call    *sim.Call
	end     sim.End
	created int64 // Unix seconds
}

func (c *completion) append(dst []byte) []byte {
	usage := c.end.Usage
	dst = append(dst, `{"choices":[{"finish_reason":`...)
	dst = appendString(dst, c.end.FinishReason)
	dst = append(dst, `,"index":0,"message":{"content":"`...)
	dst = c.call.Output().AppendText(dst, usage.OutputTokens) // words and spaces, nothing to escape
	dst = append(dst, `","role":"assistant"}}],"created":`...)
	dst = strconv.AppendInt(dst, c.created, 10)
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, "chatcmpl-"+c.call.ID)
	dst = append(dst, `,"model":`...)
	dst = appendString(dst, c.call.Model)
	dst = append(dst, `,"object":"chat.completion","usage":{"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(usage.OutputTokens), 10)
	dst = append(dst, `,"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(usage.PromptTokens), 10)
	dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, int64(usage.CachedTokens), 10)
	dst = append(dst, `},"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(usage.PromptTokens+usage.OutputTokens), 10)
	return append(dst, "}}"...)
}

// room is how many bytes append may need.
func (c *completion) room() int {
	return sim.TextRoom(c.end.Usage.OutputTokens) + len(c.call.ID) + len(c.call.Model) + 512
}
