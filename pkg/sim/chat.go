package sim

import "bgbench/pkg/openai"

// NewCall turns the body of a chat request into a Call, as vLLM's front end does:
// it renders the chat template and tokenises. Headers are the caller's to add.
func NewCall(id string, req *openai.ChatRequest) *Call { return new(Tokenizer).NewCall(id, req) }

// NewCall is the function NewCall.
func (t *Tokenizer) NewCall(id string, req *openai.ChatRequest) *Call {
	chars, roles := 0, 0
	for _, m := range req.Messages {
		chars += len(m.Content)
		roles += len(m.Role)
	}
	kept, known := t.kept(req.Messages)
	prompt, output, shared := kept.prompt, kept.output, kept.shared
	if !known {
		prompt, output, shared = t.prompt(req.Messages)
	}
	return &Call{
		ID:        id,
		Model:     req.Model,
		Prompt:    prompt,
		output:    output,
		shared:    shared,
		kept:      known,
		MaxTokens: req.MaxTokens,
		IgnoreEOS: req.IgnoreEOS,
		Priority:  req.Priority,
		CacheSalt: req.CacheSalt,
		Stream:    req.Stream,
		// llm-d's router packs roles and contents into tokens of four bytes.
		PromptEstimate: (chars + roles + 3) / 4,
	}
}

// Completion builds the body of the answer to a call that ended with status 200.
// created is in Unix seconds.
func Completion(call *Call, end End, created int64) openai.ChatCompletion {
	return openai.ChatCompletion{
		ID:      "chatcmpl-" + call.ID,
		Object:  "chat.completion",
		Created: created,
		Model:   call.Model,
		Choices: []openai.Choice{{
			Message:      openai.Message{Role: "assistant", Content: call.Output().Text(end.Usage.OutputTokens)},
			FinishReason: end.FinishReason,
		}},
		Usage: WireUsage(end.Usage),
	}
}

// WireUsage converts u to the wire format.
func WireUsage(u Usage) openai.Usage {
	return openai.Usage{
		PromptTokens:        u.PromptTokens,
		CompletionTokens:    u.OutputTokens,
		TotalTokens:         u.PromptTokens + u.OutputTokens,
		PromptTokensDetails: &openai.PromptTokensDetails{CachedTokens: u.CachedTokens},
	}
}

// ErrorBody is the body of the answer to a call that ended with another status.
func ErrorBody(end End) openai.ErrorBody {
	body := openai.ErrorBody{Error: openai.Error{Message: end.Message, Type: end.ErrorType, Code: end.Status}}
	if end.Param != "" {
		body.Error.Param = &end.Param
	}
	return body
}
