package async

import (
	"net/http"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// work has a worker take m up and reports whether it is busy with it from now on.
func (p *Processor) work(m *message) bool {
	p.metrics.residence.Observe(milliseconds(p.k.Now() - m.ingested))
	if m.retries == 0 {
		p.metrics.requests.Add(1)
	}
	switch {
	case m.withdrawn:
		p.end(m, cancelled())
	case m.Deadline < p.unix():
		p.exceeded(m)
	case m.complete():
		p.succeeded(m, sim.End{
			Status: http.StatusOK, FinishReason: "length", Usage: sim.Usage{PromptTokens: m.Call.Prompt.Len()},
		})
	default:
		p.send(m)
		return true
	}
	return false
}

// attempt is one request to the inference gateway. It implements sim.Reply.
type attempt struct {
	p       *Processor
	m       *message
	call    *sim.Call
	sent    kernel.Time
	tokens  int // generated
	settled bool
	abort   func()
	timeout kernel.Timer
}

func (p *Processor) send(m *message) {
	a := &attempt{p: p, m: m, call: p.call(m), sent: p.k.Now()}
	p.metrics.inflight.Add(1)
	a.timeout = p.k.At(min(p.k.Now()+p.cfg.RequestTimeout.Std(), p.at(m.Deadline)), a.expire)
	a.abort = p.backend.Submit(a.call, a)
}

// call is what the next attempt at m sends.
func (p *Processor) call(m *message) *sim.Call {
	call := *m.Call
	call.Objective = p.cfg.Objective
	if !p.cfg.Resume {
		return &call
	}
	// A request that can be resumed goes through vLLM's token layer: the router sees a
	// stream and counts the ids of the prompt.
	call.Stream = true
	call.PromptEstimate = 0
	if m.saved > 0 {
		return call.Continue(m.saved)
	}
	return &call
}

// errTimeout is what Go's HTTP client says when the context of a request is over.
const errTimeout = "context deadline exceeded"

func (a *attempt) expire() {
	a.settled = true
	a.abort() // tells of the tokens up to now
	// Of a stream that has begun the client holds status and tokens.
	a.ended(sim.End{Status: sim.StatusNoAnswer, Message: errTimeout, Cut: a.call.Stream && a.tokens > 0})
}

// Headers implements sim.Reply.
func (a *attempt) Headers(kernel.Time, string) {}

// Tokens implements sim.Reply. Of an answer that is not streamed only the model knows
// how far it has come.
func (a *attempt) Tokens(_ kernel.Time, n int) {
	if !a.settled {
		a.tokens += n
	}
}

// IsPatient implements sim.Patient.
func (a *attempt) IsPatient() bool { return true }

// Stretch implements sim.Patient. It is told on the abort of what came before.
func (a *attempt) Stretch(s sim.Stretch) { a.tokens += len(s.At) }

// End implements sim.Reply. The backend is inside one of its own steps here, and
// perhaps inside Submit: the answer is looked at when it is out of it.
func (a *attempt) End(_ kernel.Time, end sim.End) {
	if a.settled {
		return
	}
	a.settled = true
	a.timeout.Stop()
	if end.Status == sim.StatusAborted {
		end = sim.End{Status: sim.StatusNoAnswer, Message: "EOF", Cut: a.call.Stream && a.tokens > 0}
	}
	a.p.k.After(0, func() { a.ended(end) })
}

// ended frees the worker and decides what comes after an attempt.
func (a *attempt) ended(end sim.End) {
	p, m := a.p, a.m
	p.metrics.inflight.Add(-1)
	p.metrics.latency.Observe(milliseconds(p.k.Now() - a.sent))
	defer p.freed()
	if end.Status == http.StatusOK {
		p.metrics.recomputed(m, end.Usage.PromptTokens-end.Usage.CachedTokens)
		p.succeeded(m, end)
		return
	}
	a.lost()
	switch {
	case m.withdrawn:
		p.end(m, cancelled())
	case !p.retryable(end):
		p.failed(m, end)
	default:
		if end.Status == http.StatusTooManyRequests {
			p.metrics.shed.Add(1)
		}
		p.again(m, end)
	}
}

// lost accounts for the tokens of an attempt that was interrupted.
func (a *attempt) lost() {
	if a.tokens == 0 {
		return
	}
	// How much of the prompt came from the cache is not known without the usage at the
	// end: all of it counts as computed.
	a.p.metrics.recomputed(a.m, a.call.Prompt.Len())
	a.m.prefilled = true
	if a.p.cfg.Resume {
		a.m.saved += a.tokens
	} else {
		a.p.metrics.redoneOutput.Add(float64(a.tokens))
	}
}

// succeeded ends m with the answer to its last attempt, which generated what was
// missing.
func (p *Processor) succeeded(m *message, end sim.End) {
	prompt := m.Call.Prompt.Len()
	end.Usage = sim.Usage{
		PromptTokens: prompt,
		CachedTokens: min(prompt, end.Usage.CachedTokens),
		OutputTokens: m.saved + end.Usage.OutputTokens,
	}
	p.metrics.succeeded.Add(1)
	p.metrics.input.Add(float64(prompt))
	p.metrics.output.Add(float64(end.Usage.OutputTokens))
	p.end(m, Result{End: end})
}

// failed ends m with an answer that no retry can change.
func (p *Processor) failed(m *message, end sim.End) {
	p.metrics.failed.Add(1)
	if end.Status == sim.StatusNoAnswer {
		p.end(m, Result{Code: CodeInferenceError, Message: "Failed to send request to inference: " + end.Message})
		return
	}
	p.end(m, Result{End: end})
}

// exceeded ends m because its deadline has passed.
func (p *Processor) exceeded(m *message) {
	p.metrics.exceeded.Add(1)
	p.end(m, Result{Code: CodeDeadlineExceeded, Message: "deadline exceeded"})
}
