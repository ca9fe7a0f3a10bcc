package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"bgbench/pkg/sim"
)

// ReadBody fills what the router takes from a request's body: model, stream, limit
// on output, size, and what it makes of the prompt without a tokenizer. Call.Path
// says which API the body is for: completions, chat completions or vLLM's generate.
// The texts of its errors are those of the endpoint picker's parsers, which answer
// them with 400 before admission.
func ReadBody(call *sim.Call, body []byte) error {
	fields := map[string]any{}
	generate := strings.HasSuffix(call.Path, "/inference/v1/generate")
	if err := json.Unmarshal(body, &fields); err != nil {
		if generate {
			return err
		}
		return fmt.Errorf("error unmarshaling request bodyMap: %w", err)
	}
	call.BodyBytes = len(body)
	call.Model, _ = fields["model"].(string)
	call.Stream, _ = fields["stream"].(bool)
	switch {
	case generate:
		ids, ok := tokenIDs(fields["token_ids"])
		if !ok {
			return errors.New("invalid generate request: must have non-empty token_ids field")
		}
		call.Prompt = sim.PromptOf(ids)
		sampling, _ := fields["sampling_params"].(map[string]any)
		limitOutput(call, sampling, "max_tokens")
	case strings.HasSuffix(call.Path, "/chat/completions") || call.Path == "":
		limitOutput(call, fields, "max_completion_tokens", "max_tokens")
		return readChat(call, body)
	default:
		limitOutput(call, fields, "max_tokens")
		return readPrompt(call, fields["prompt"])
	}
	return nil
}

// readChat estimates roles, contents and tools together.
func readChat(call *sim.Call, body []byte) error {
	var chat struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []any `json:"tools"`
	}
	if err := json.Unmarshal(body, &chat); err != nil || len(chat.Messages) == 0 {
		return errors.New("invalid chat completions request: must have valid messages field")
	}
	n := 0
	if len(chat.Tools) > 0 {
		tools, err := json.Marshal(chat.Tools)
		if err != nil {
			return fmt.Errorf("invalid chat completions request: %w", err)
		}
		n += len(tools)
	}
	for _, m := range chat.Messages {
		size, ok := contentBytes(m.Content)
		if !ok {
			return errors.New("invalid chat completions request: must have valid messages field")
		}
		n += len(m.Role) + size
	}
	call.PromptEstimate = packed(n)
	return nil
}

// contentBytes counts the text of a message, plain or in blocks.
func contentBytes(content json.RawMessage) (n int, ok bool) {
	if len(content) == 0 || string(content) == "null" {
		return 0, true
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return len(text), true
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return 0, false
	}
	for _, b := range blocks {
		n += len(b.Text)
	}
	return n, true
}

// readPrompt takes the prompt of a completion: text, texts, or token ids.
func readPrompt(call *sim.Call, prompt any) error {
	missing := errors.New("invalid completions request: must have prompt field")
	if text, ok := prompt.(string); ok && text != "" {
		call.PromptEstimate = packed(len(text))
		return nil
	}
	if ids, ok := tokenIDs(prompt); ok {
		call.Prompt = sim.PromptOf(ids)
		return nil
	}
	texts, ok := prompt.([]any)
	if !ok || len(texts) == 0 {
		return missing
	}
	for _, t := range texts {
		text, ok := t.(string)
		if !ok {
			return missing
		}
		call.PromptEstimate += packed(len(text))
	}
	return nil
}

// packed is how many tokens of four bytes hold n bytes.
func packed(n int) int { return (n + 3) / 4 }

// tokenIDs reads a list of token ids that is not empty.
func tokenIDs(v any) ([]uint32, bool) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, false
	}
	ids := make([]uint32, len(list))
	for i, v := range list {
		n, ok := v.(float64)
		if !ok || n < 0 || n > math.MaxUint32 || n != math.Trunc(n) {
			return nil, false
		}
		ids[i] = uint32(n)
	}
	return ids, true
}

// limitOutput takes the first key that holds a whole number of 0 or more.
func limitOutput(call *sim.Call, fields map[string]any, keys ...string) {
	for _, key := range keys {
		n, ok := fields[key].(float64)
		if !ok || n < 0 || n != math.Trunc(n) {
			continue
		}
		call.MaxTokens, call.NoOutput = int(min(n, math.MaxInt32)), n == 0
		return
	}
}
