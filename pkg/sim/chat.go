package sim

import (
	"bgbench/pkg/openai"
	"bgbench/pkg/token"
)

// NewCall turns the body of a chat request into a Call, as vLLM's front end does:
// it renders the chat template and tokenises. Headers are the caller's to add.
func NewCall(id string, req *openai.ChatRequest) *Call {
	messages := make([]token.Message, len(req.Messages))
	chars, roles := 0, 0
	for i, m := range req.Messages {
		messages[i] = token.Message{Role: m.Role, Content: m.Content}
		chars += len(m.Content)
		roles += len(m.Role)
	}
	// Tokens of generated text are some six characters long; a guess that is too
	// small only costs a copy.
	prompt := make([]uint32, 0, chars/5+16)
	return &Call{
		ID:        id,
		Model:     req.Model,
		Prompt:    token.AppendChat(prompt, messages),
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
			Message:      openai.Message{Role: "assistant", Content: OutputOf(call.Prompt).Text(end.Usage.OutputTokens)},
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
