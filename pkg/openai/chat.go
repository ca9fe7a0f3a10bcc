package openai

import (
	"fmt"
	"math"
)

// ChatRequest is the body of POST /v1/chat/completions, with vLLM's extensions.
type ChatRequest struct {
	Model         string         `json:"model"`
	Messages      []Message      `json:"messages"`
	MaxTokens     int            `json:"max_tokens,omitempty"`
	MinTokens     int            `json:"min_tokens,omitempty"`
	IgnoreEOS     bool           `json:"ignore_eos,omitempty"`
	Stream        bool           `json:"stream,omitempty"`
	StreamOptions *StreamOptions `json:"stream_options,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	Priority      int            `json:"priority,omitempty"`
	CacheSalt     string         `json:"cache_salt,omitempty"`
}

// Message is one turn. Content is always a plain string: the batch gateway's
// planner refuses arrays of parts.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// StreamOptions ask for token counts in a stream.
type StreamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats,omitempty"`
}

// Usage is the server's count of tokens.
type Usage struct {
	PromptTokens            int                      `json:"prompt_tokens"`
	TotalTokens             int                      `json:"total_tokens"`
	CompletionTokens        int                      `json:"completion_tokens"`
	PromptTokensDetails     *PromptTokensDetails     `json:"prompt_tokens_details,omitempty"`
	CompletionTokensDetails *CompletionTokensDetails `json:"completion_tokens_details,omitempty"`
}

// maxTokens is more than any answer has, and as much as a row says of a chunk.
const maxTokens = math.MaxInt32

// Fault says which count cannot be one, empty for none.
func (u Usage) Fault() string {
	var cached, thought int
	if d := u.PromptTokensDetails; d != nil {
		cached = d.CachedTokens
	}
	if d := u.CompletionTokensDetails; d != nil {
		thought = d.ReasoningTokens
	}
	for _, c := range [...]struct {
		name string
		n    int
	}{
		{"prompt_tokens", u.PromptTokens}, {"completion_tokens", u.CompletionTokens}, {"total_tokens", u.TotalTokens},
		{"cached_tokens", cached}, {"reasoning_tokens", thought},
	} {
		if c.n < 0 || c.n > maxTokens {
			return fmt.Sprintf("usage has %d %s, expected 0 to %d", c.n, c.name, maxTokens)
		}
	}
	return ""
}

// PromptTokensDetails is sent with vLLM's --enable-prompt-tokens-details.
type PromptTokensDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// CompletionTokensDetails tells reasoning tokens apart.
type CompletionTokensDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// ErrorBody is the body of an answer that is not 200, and of an error inside a stream.
type ErrorBody struct {
	Error Error `json:"error"`
}

// Error is the OpenAI error object as vLLM fills it.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"` // a number from vLLM, a string from others
}

// Headers of llm-d on inference requests and answers.
const (
	HeaderObjective     = "x-gateway-inference-objective"
	HeaderFairnessID    = "x-gateway-inference-fairness-id"
	HeaderDroppedReason = "x-llm-d-request-dropped-reason"
	HeaderRequestID     = "x-request-id"
	// HeaderInferencePod names the server that answered (llm-d-inference-sim).
	HeaderInferencePod = "x-inference-pod"
)

// ChatCompletion is the answer to a chat request that does not stream.
type ChatCompletion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"` // chat.completion
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
	Usage   Usage    `json:"usage"`
}

// Choice is the one answer in a ChatCompletion.
type Choice struct {
	Index        int     `json:"index"`
	Message      Message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}
