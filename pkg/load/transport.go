package load

import (
	"time"

	"bgbench/pkg/openai"
)

// Transport carries requests to an inference endpoint.
type Transport interface {
	// Start sends req now. It calls done once, on the kernel's goroutine (during
	// Start already, if it likes), with all that it saw. The returned function ends
	// the attempt early; done is then called soon, with StatusCancelled unless the
	// attempt had ended by itself. Calling it after done does nothing.
	Start(req *Request, done func(Attempt)) (cancel func())
}

// Request is one request before it is sent, and where it came from.
type Request struct {
	ID      string // x-request-id
	Attempt int    // 1 for the first
	Chat    *openai.ChatRequest
	// Objective is the InferenceObjective that the request names, empty for none.
	Objective string

	Class       string
	Job         string // empty outside of jobs
	CustomID    string
	PromptIndex int64
	// Due is when the schedule wants the request to leave, on the kernel's clock.
	Due   Stamp
	Phase string // of the due time
	Cycle int
	// Warmup says that the due time is not measured.
	Warmup bool
	// PromptTokens and OutputTokens are what was asked for, 0 when unknown.
	PromptTokens, OutputTokens int64
	Timeout                    time.Duration // 0 for none
}
