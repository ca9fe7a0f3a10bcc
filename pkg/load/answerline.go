package load

import (
	"bytes"
	"strconv"

	"bgbench/pkg/openai"
	"bgbench/pkg/record"
)

// scanAnswer does what decodeResult does for the line of an answer as the llm-d batch
// gateway writes it, keys sorted and strings without escapes, and leaves any other
// line alone. Nearly all lines are like that, and encoding/json goes over their texts
// five times (BenchmarkReadResults).
func scanAnswer(line []byte) (result Result, ok bool) {
	c := answerCursor{bytes.TrimSuffix(line, []byte("\n")), true}
	var usage openai.Usage
	var details openai.PromptTokensDetails
	id := c.between(`{"id":"`)
	result.CustomID = c.between(`,"custom_id":"`)
	result.RequestID = c.between(`,"response":{"status_code":200,"request_id":"`)
	result.FinishReason = c.between(`,"body":{"choices":[{"finish_reason":"`)
	content := c.text(`,"index":0,"message":{"content":"`)
	c.number(`,"role":"assistant"}}],"created":`)
	c.text(`,"id":"`)
	c.text(`,"model":"`)
	c.text(`,"object":"`)
	usage.CompletionTokens = c.number(`,"usage":{"completion_tokens":`)
	usage.PromptTokens = c.number(`,"prompt_tokens":`)
	details.CachedTokens = c.number(`,"prompt_tokens_details":{"cached_tokens":`)
	usage.TotalTokens = c.number(`},"total_tokens":`)
	usage.PromptTokensDetails = &details
	if !c.ok || string(c.rest) != `}}},"error":null}` || usage.Fault() != "" {
		return Result{}, false
	}
	if result.RequestID == "" {
		result.RequestID = id
	}
	result.Status, result.HTTPStatus = record.StatusOK, 200
	result.Usage = &usage
	result.OutputSHA256 = hashOf(content)
	return result, true
}

// answerCursor reads a line from left to right; ok turns false where it is not as
// expected.
type answerCursor struct {
	rest []byte
	ok   bool
}

// text takes head, and then a string without escapes up to its quote.
func (c *answerCursor) text(head string) []byte {
	rest, ok := bytes.CutPrefix(c.rest, []byte(head))
	end := bytes.IndexByte(rest, '"')
	if !c.ok || !ok || end < 0 || !plainID(rest[:end]) {
		c.ok = false
		return nil
	}
	c.rest = rest[end+1:]
	return rest[:end]
}

func (c *answerCursor) between(head string) string { return string(c.text(head)) }

// number takes head and an integer of at most twelve digits.
func (c *answerCursor) number(head string) int {
	rest, ok := bytes.CutPrefix(c.rest, []byte(head))
	end := 0
	for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(string(rest[:end]))
	if !c.ok || !ok || err != nil || end > 12 || end > 1 && rest[0] == '0' {
		c.ok = false
		return 0
	}
	c.rest = rest[end:]
	return n
}
