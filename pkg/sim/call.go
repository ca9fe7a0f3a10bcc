package sim

import (
	"net/http"
	"time"

	"bgbench/pkg/sim/kernel"
)

// Call is one inference request. Nobody changes a Call after it was submitted.
type Call struct {
	ID    string // x-request-id
	Model string
	// Prompt holds the token ids of the rendered chat template (pkg/token). What they
	// are is read until the End of the call; their number stays.
	Prompt    Prompt
	MaxTokens int
	IgnoreEOS bool
	Priority  int    // vLLM's own priority, lower is more urgent; 0 unless the body sets it
	CacheSalt string // isolates the prefix cache
	// Objective and FairnessID are the values of the llm-d request headers
	// x-gateway-inference-objective and x-gateway-inference-fairness-id.
	Objective  string
	FairnessID string
	// Path is the path of the request, empty for /v1/chat/completions.
	Path string
	// TTFTBudget is the value of x-slo-ttft-ms, 0 when the request has none.
	TTFTBudget time.Duration
	// Passed are the headers of the client that the batch gateway passes on beside its
	// own; nil when there are none.
	Passed http.Header
	// Stream asks for the answer token by token.
	Stream bool
	// PromptEstimate is what a router without a tokenizer takes for the prompt's
	// tokens: a quarter of its bytes. 0 means that it counts Prompt, as for a prompt
	// that came as token ids.
	PromptEstimate int
	// NoOutput says that max_tokens is 0, not left out.
	NoOutput bool
	// BodyBytes is the size of the request's body, 0 when it never was one.
	BodyBytes int
	// Body is the request as it came, where it goes on over a socket; nil in the model.
	Body []byte
	// Subset names the endpoints that the call may go to (Envoy's subset hint); all
	// when it is empty.
	Subset []string

	output Output  // of Prompt; the zero Output while nobody has computed it
	shared *Prefix // that Prompt starts with, if it is known
	kept   bool    // Prompt belongs to a Prompts
}

// Shared returns what the prompt is known to start with like other calls, nil when it
// is not. Who reads many prompts can remember what it made of this part.
func (c *Call) Shared() *Prefix { return c.shared }

// Output returns what the call generates.
func (c *Call) Output() Output {
	if c.output != (Output{}) {
		return c.output
	}
	return OutputOf(c.Prompt)
}

// Continue returns the call that generates what c has left to generate after its
// first n tokens: they have become part of its prompt. A call with a limit must have
// more than n tokens of it.
func (c *Call) Continue(n int) *Call {
	next := *c
	output := c.Output()
	next.output = output.Rest(n)
	next.kept = false
	next.Prompt.rest = append(make([]uint32, 0, len(c.Prompt.rest)+n), c.Prompt.rest...)
	for i := range n {
		next.Prompt.rest = append(next.Prompt.rest, output.ID(i))
	}
	if c.MaxTokens > 0 {
		next.MaxTokens -= n
	}
	return &next
}

// Reply receives what becomes of a Call, in the order of the instants. A Call
// ends with exactly one End; after it nothing more is delivered. Methods run on
// the kernel's goroutine and must not block.
type Reply interface {
	// Headers says that the call was accepted by endpoint and the answer starts:
	// on HTTP this is the 200 with its headers, sent when the first token is there.
	Headers(at kernel.Time, endpoint string)
	// Tokens delivers n more output tokens that became ready at one instant.
	Tokens(at kernel.Time, n int)
	// End is the end of the call, good or bad.
	End(at kernel.Time, end End)
}

// End is how a Call ended.
type End struct {
	// Status is the HTTP status: 200 for an answer that was generated to its end,
	// else that of the refusal. Aborted calls have StatusAborted, calls whose
	// connection broke before an answer have StatusNoAnswer and say how in Message.
	Status       int
	FinishReason string // "stop", "length" or "abort"
	Usage        Usage
	// ErrorType and Message fill the OpenAI error object when Status is not 200.
	ErrorType, Message string
	Param              string // of the error object, if any
	// DroppedReason is the value of x-llm-d-request-dropped-reason, if any.
	DroppedReason string
	// RetryAfter is the value of Retry-After, if any.
	RetryAfter string
	// Body is the body of the answer when it is not the one that Completion or
	// ErrorBody builds; a router and a fault injector set it.
	Body []byte
	// Cut says that the connection was closed after a stream had begun: the client
	// holds a 200 and part of an answer. Status is StatusNoAnswer then.
	Cut bool
}

// StatusAborted marks a call that its caller cancelled (nginx's 499).
const StatusAborted = 499

// StatusNoAnswer marks a call that got no answer: its connection was refused or
// closed.
const StatusNoAnswer = 0

// Usage counts tokens as the engine did.
type Usage struct {
	PromptTokens, CachedTokens, OutputTokens int
}

// Backend is anything that takes Calls: an engine, a router before engines, a
// fault injector in a test.
type Backend interface {
	// Submit hands call over. The returned function aborts it; aborting a call
	// that has ended does nothing. Reply.End is delivered for aborted calls too.
	Submit(call *Call, reply Reply) (abort func())
}
