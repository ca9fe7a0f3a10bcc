package load

import (
	"bgbench/pkg/openai"
	"bgbench/pkg/record"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// ModelTransport carries requests to a stack model on the same kernel.
type ModelTransport struct {
	K       *kernel.Kernel
	Backend sim.Backend
}

// Start implements Transport.
func (t ModelTransport) Start(req *Request, done func(Attempt)) (cancel func()) {
	f := &modelFlight{call: sim.NewCall(req.ID, req.Chat), done: done}
	f.a.Sent = At(t.K.Now())
	return t.Backend.Submit(f.call, f)
}

// modelFlight is the sim.Reply that makes an Attempt.
type modelFlight struct {
	call *sim.Call
	done func(Attempt)
	a    Attempt
}

// Headers implements sim.Reply.
func (f *modelFlight) Headers(at kernel.Time, endpoint string) {
	f.a.Headers = At(at)
	f.a.Endpoint = endpoint
}

// Tokens implements sim.Reply. The model sends one chunk for the tokens of one
// instant, as vLLM does.
func (f *modelFlight) Tokens(at kernel.Time, n int) { f.a.Content(at, n) }

// End implements sim.Reply.
func (f *modelFlight) End(at kernel.Time, end sim.End) {
	a := &f.a
	a.Done = At(at)
	a.DroppedReason = end.DroppedReason
	a.FinishReason = end.FinishReason
	if end.Status == sim.StatusAborted {
		a.Status = record.StatusCancelled
	} else {
		a.HTTPStatus = end.Status
		a.finish(f.call.Prompt, end)
	}
	// What was generated is known from the chunks, even of a call that was aborted.
	if len(a.ChunkTokens) > 0 {
		var n int64
		for _, k := range a.ChunkTokens {
			n += int64(k)
		}
		a.OutputTokens, a.TokenSource = &n, record.TokensFromContinuousUsage
	}
	f.done(*a)
}

// finish takes an end that the stack gave.
func (a *Attempt) finish(prompt []uint32, end sim.End) {
	if end.Status != 200 {
		a.Status = openai.RefusalStatus(end.Status, end.DroppedReason)
		a.Error = end.Message
		return
	}
	a.Status = record.StatusOK
	a.PromptTokens = ptr(int64(end.Usage.PromptTokens))
	a.CachedTokens = ptr(int64(end.Usage.CachedTokens))
	a.OutputSHA256 = hashOf(sim.OutputOf(prompt).Text(end.Usage.OutputTokens))
}
