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
	// Tokenizer is that of the inference server.
	Tokenizer sim.Tokenizer

	text []byte // scratch
}

// Start implements Transport.
func (t *ModelTransport) Start(req *Request, done func(Attempt)) (cancel func()) {
	f := &modelFlight{of: t, call: t.Tokenizer.NewCall(req.ID, req.Chat), done: done}
	f.call.Objective = req.Objective
	f.a.Sent = At(t.K.Now())
	return t.Backend.Submit(f.call, f)
}

// modelFlight is the sim.Reply that makes an Attempt.
type modelFlight struct {
	of   *ModelTransport
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
func (f *modelFlight) Tokens(at kernel.Time, n int) {
	if f.a.ChunkTokens == nil {
		// There will be a chunk a token. Growing the lists in steps costs more than all
		// the rest that is done for a chunk (BenchmarkModelRun).
		chunks := min(f.call.MaxTokens, maxChunksAhead)
		f.a.ChunkTokens, f.a.ChunkGaps = make([]int32, 0, chunks), make([]float32, 0, chunks)
	}
	f.a.Content(at, n)
}

// IsPatient implements sim.Patient: a row is written when the request has ended.
func (f *modelFlight) IsPatient() bool { return true }

// Stretch implements sim.Patient.
func (f *modelFlight) Stretch(s sim.Stretch) {
	a := &f.a
	a.ChunkGaps = append(a.ChunkGaps, float32((s.At[0] - a.LastToken.Time).Seconds()))
	a.ChunkGaps = append(a.ChunkGaps, s.Gaps[1:]...)
	for range s.At {
		a.ChunkTokens = append(a.ChunkTokens, 1)
	}
	a.LastToken = At(s.End())
}

// maxChunksAhead bounds what an answer takes before its tokens are there.
const maxChunksAhead = 1 << 14

// End implements sim.Reply.
func (f *modelFlight) End(at kernel.Time, end sim.End) {
	a := &f.a
	a.Done = At(at)
	a.DroppedReason = end.DroppedReason
	a.FinishReason = end.FinishReason
	switch end.Status {
	case sim.StatusAborted:
		a.Status = record.StatusCancelled
	case sim.StatusNoAnswer:
		a.Status, a.Error = record.StatusTransportError, end.Message
		if end.Cut {
			a.HTTPStatus = 200 // the client had it before the connection broke
		}
	default:
		a.HTTPStatus = end.Status
		f.finish(end)
	}
	// What was generated is known from the chunks, even of a call that was aborted.
	if len(a.ChunkTokens) > 0 {
		var n int64
		for _, k := range a.ChunkTokens {
			n += int64(k)
		}
		a.OutputTokens, a.TokenSource = &n, record.TokensFromContinuousUsage
	}
	f.of.Tokenizer.Reuse(f.call)
	f.done(*a)
}

// finish takes an end that the stack gave.
func (f *modelFlight) finish(end sim.End) {
	a := &f.a
	if end.Status != 200 {
		a.Status = openai.RefusalStatus(end.Status, end.DroppedReason)
		a.Error = end.Message
		return
	}
	a.Status = record.StatusOK
	a.PromptTokens = ptr(int64(end.Usage.PromptTokens))
	a.CachedTokens = ptr(int64(end.Usage.CachedTokens))
	f.of.text = f.call.Output().AppendText(f.of.text[:0], end.Usage.OutputTokens)
	a.OutputSHA256 = hashOf(f.of.text)
}
