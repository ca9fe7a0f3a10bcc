package openai

import (
	"encoding/json"
	"fmt"
)

// chunk is what the client needs of one JSON object of an answer stream. Its
// slices are valid until the next chunk is parsed.
type chunk struct {
	content   []byte
	reasoning []byte
	toolCall  bool
	finish    []byte
	usage     Usage
	hasUsage  bool
	cached    int    // -1: not said
	thought   int    // reasoning tokens; -1: not said
	fault     string // of the usage; the scanner gives up on counts that have one
	failed    bool
	failure   string // the message of an error object
}

// output reports whether the chunk carries something that a model generated.
func (c *chunk) output() bool {
	return len(c.content) > 0 || len(c.reasoning) > 0 || c.toolCall
}

// chunkParser parses chunks and keeps buffers between them. Chunks of the shapes
// that servers send are scanned in one pass without allocation, and compared with the
// last one before that; anything else goes to encoding/json, which also decides what is
// an error.
type chunkParser struct {
	scan     chunkScanner
	template template
}

func (p *chunkParser) parse(data []byte, c *chunk) error {
	if p.template.read(&p.scan, data, c) {
		return nil
	}
	p.template.in = nil
	if p.scan.chunk(data, c) {
		p.template.learn(&p.scan, data, c)
		return nil
	}
	return decodeChunk(data, c)
}

// decodeChunk is the meaning of a chunk, by encoding/json. The scanner must agree
// with it wherever the scanner does not give up (FuzzChunkScanner).
func decodeChunk(data []byte, c *chunk) error {
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("chunk is not the JSON of a completion: %w", err)
	}
	*c = chunk{cached: -1, thought: -1}
	for _, choice := range w.Choices {
		c.content = append(append(c.content, choice.Delta.Content...), choice.Text...)
		c.reasoning = append(c.reasoning, thoughts(choice.Delta.Reasoning, choice.Delta.ReasoningContent)...)
		c.toolCall = c.toolCall || len(choice.Delta.ToolCalls) > 0
		if choice.FinishReason != "" {
			c.finish = []byte(choice.FinishReason)
		}
	}
	if w.Usage != nil {
		c.hasUsage = true
		c.usage = *w.Usage
		c.fault = w.Usage.Fault()
		if d := w.Usage.PromptTokensDetails; d != nil {
			c.cached = d.CachedTokens
		}
		if d := w.Usage.CompletionTokensDetails; d != nil {
			c.thought = d.ReasoningTokens
		}
		c.usage.PromptTokensDetails, c.usage.CompletionTokensDetails = nil, nil
	}
	if message, failed := errorIn(data, w.Error, w.Object); failed {
		c.failed, c.failure = true, message
	}
	return nil
}

// thoughts picks the field that holds the reasoning: vLLM renamed it, and sends
// both with the same text for a while.
func thoughts(reasoning, reasoningContent string) string {
	if reasoning != "" {
		return reasoning
	}
	return reasoningContent
}

type wireChunk struct {
	Object  string          `json:"object"`
	Choices []wireChoice    `json:"choices"`
	Usage   *Usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type wireChoice struct {
	Delta        wireDelta `json:"delta"`
	Text         string    `json:"text"` // of /v1/completions
	FinishReason string    `json:"finish_reason"`
}

type wireDelta struct {
	Content          string            `json:"content"`
	Reasoning        string            `json:"reasoning"`
	ReasoningContent string            `json:"reasoning_content"`
	ToolCalls        []json.RawMessage `json:"tool_calls"`
}

// errorIn finds the message of an error object: {"error":{"message":…}} as vLLM
// and OpenAI send it, {"error":"…"} as others do, and the bare
// {"object":"error","message":…} of vLLM before 0.10.
func errorIn(data []byte, field json.RawMessage, object string) (message string, failed bool) {
	if len(field) > 0 && string(field) != "null" {
		var e struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(field, &e) == nil && e.Message != "" {
			return e.Message, true
		}
		var text string
		if json.Unmarshal(field, &text) == nil {
			return text, true
		}
		return string(field), true
	}
	if object != "error" {
		return "", false
	}
	var bare struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &bare) == nil && bare.Message != "" {
		return bare.Message, true
	}
	return string(data), true
}
