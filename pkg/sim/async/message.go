package async

import (
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// Message is one request for the queue.
type Message struct {
	ID string // unique among the messages that have not ended
	// Deadline is in whole Unix seconds: it is the score in the queue.
	Deadline int64
	// Call is the request; its objective is replaced by that of the queue.
	Call *sim.Call
}

// Result is what became of a message: an answer of the inference gateway or, with a
// Code, a failure without one.
type Result struct {
	End           sim.End
	Code, Message string
}

// Codes of failures without an answer (llm-d-async, api).
const (
	CodeDeadlineExceeded = "DEADLINE_EXCEEDED"
	CodeInferenceError   = "INFERENCE_ERROR"
	CodeCancelled        = "CANCELLED"
)

// message is a Message on its way.
type message struct {
	Message
	done func(Result)

	score float64 // in the set that it is in
	place int     // in that set's heap, -1 outside

	ingested  kernel.Time // when it was popped
	retries   int
	withdrawn bool
	saved     int  // tokens of the output that are kept
	prefilled bool // an attempt has computed the prompt
}

// complete reports whether the kept tokens are all that the request may generate.
func (m *message) complete() bool { return m.Call.MaxTokens > 0 && m.saved >= m.Call.MaxTokens }
