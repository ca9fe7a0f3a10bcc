package gateway

import (
	"net/http"
	"slices"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// request is one line on its way: read, waiting for its slots, in flight, perhaps
// waiting for a retry, done. It keeps its slots until it is done, or between its
// attempts only (spec.Quirks, SlotHeldInBackoff).
type request struct {
	run      *run
	entry    *planEntry
	id       string
	endpoint *endpoint
	metrics  *modelMetrics
	budget   time.Duration // time to the deadline when the line was read

	submitted     bool // counted in the gauges, from submittedAt on
	submittedAt   kernel.Time
	sentAt        kernel.Time
	seq           int // place in the order of sending
	call          *sim.Call
	attempts      int
	attempt       *attempt
	retry         kernel.Timer
	slots         slots
	capacityRetry bool // an attempt before the last one met a 429 or 5xx
	evicted       bool // the router took the last attempt back
}

func newRequest(r *run, entry *planEntry) *request {
	g := r.p.g
	return &request{
		run: r, entry: entry, id: g.requestID(),
		endpoint: r.p.endpoint(entry.line.model),
		metrics:  r.p.metrics.model(entry.line.model),
		budget:   r.b.deadline - g.k.Now(),
	}
}

func (g *Gateway) requestID() string { return g.newID("batch_req_") }

// submit counts the request in the gauges from now on.
func (q *request) submit() {
	if !q.submitted {
		q.submitted = true
		q.submittedAt = q.run.p.g.k.Now()
		q.metrics.submitted()
	}
}

// withdraw takes a request that was not sent out of the gauges.
func (q *request) withdraw() {
	if q.submitted {
		q.metrics.withdrawn()
	}
}

// send makes the first attempt.
func (q *request) send() {
	q.slots = bothSlots
	if q.prepare() {
		q.try()
	}
}

// prepare makes the call of a request that is sent now. It is false for a line that
// the inference server refuses because it cannot read it.
func (q *request) prepare() bool {
	q.submit()
	g := q.run.p.g
	q.sentAt = g.k.Now()
	g.sent++
	q.seq = g.sent
	tokenizer, body, err := &g.tokenizer, q.entry.line.body, error(nil)
	if body == nil {
		tokenizer = &g.copied
		body, err = decodeBody(q.entry.text)
	}
	if err != nil {
		end := sim.End{Status: http.StatusBadRequest, ErrorType: "BadRequestError", Message: err.Error()}
		q.call = &sim.Call{ID: q.id, Model: q.entry.line.model}
		g.k.After(0, func() { q.over(end) })
		return false
	}
	q.call = tokenizer.NewCall(q.id, body)
	q.call.Objective = g.cfg.InferenceObjective
	q.call.TTFTBudget = q.budget
	if g.cfg.KeepBody {
		q.call.Body = bodyOf(q.entry.text)
	}
	q.call.Passed = q.run.b.passed
	if g.cfg.SendFairnessHeader {
		q.call.FairnessID = q.run.b.tenant
	}
	if q.entry.line.url != chatPath {
		q.call.Path = q.entry.line.url
	}
	return true
}

const chatPath = "/v1/chat/completions"

// attempt is one call to the backend. It outlives the request when it is cut off,
// and then stays silent.
type attempt struct {
	q       *request
	settled bool
	abort   func()
	timeout kernel.Timer
}

func (q *request) try() {
	g := q.run.p.g
	q.attempts++
	if !g.cfg.Quirks.BudgetStampedAtRead {
		call := *q.call // the backend may still hold the one before
		call.TTFTBudget = q.run.b.deadline - g.k.Now()
		q.call = &call
	}
	a := &attempt{q: q}
	q.attempt = a
	a.timeout = g.k.After(g.cfg.RequestTimeout.Std(), a.expire)
	a.abort = g.backend.Submit(q.call, a)
}

// errTimeout is what Go's HTTP client most often says of a request that ran out of
// its timeout.
const errTimeout = "net/http: timeout awaiting response headers (Client.Timeout exceeded while awaiting headers)"

func (a *attempt) expire() {
	a.settled = true
	a.abort()
	a.q.answered(sim.End{Status: sim.StatusNoAnswer, Message: errTimeout})
}

// Headers implements sim.Reply.
func (a *attempt) Headers(kernel.Time, string) {}

// Tokens implements sim.Reply.
func (a *attempt) Tokens(kernel.Time, int) {}

// IsPatient implements sim.Patient.
func (a *attempt) IsPatient() bool { return true }

// Stretch implements sim.Patient.
func (a *attempt) Stretch(sim.Stretch) {}

// End implements sim.Reply. The backend is inside one of its own steps here, and
// perhaps inside Submit: the answer is looked at when it is out of it.
func (a *attempt) End(_ kernel.Time, end sim.End) {
	if a.settled {
		return
	}
	a.settled = true
	a.timeout.Stop()
	if end.Status == sim.StatusAborted {
		end = sim.End{Status: sim.StatusNoAnswer, Message: "EOF"}
	}
	a.q.run.p.g.k.After(0, func() { a.q.answered(end) })
}

// answered retries or ends the request after an attempt.
func (q *request) answered(end sim.End) {
	g := q.run.p.g
	if q.call == nil { // cut off in the meantime
		return
	}
	if q.attempts <= g.cfg.MaxRetries && retryable(end) {
		pressure := isCapacity(end.Status) && (g.cfg.Quirks.EvictionIsPressure || !isEvicted(end))
		q.capacityRetry = q.capacityRetry || pressure
		wait := q.run.p.backoff.wait(q.attempts, end, q.run.p.instant())
		if g.cfg.Quirks.SlotHeldInBackoff {
			q.retry = g.k.After(wait, q.try)
		} else {
			q.retry = g.k.After(wait, q.lineUp)
			q.leaveSlots()
		}
		return
	}
	q.evicted = isEvicted(end)
	q.over(end)
}

func (q *request) over(end sim.End) {
	if q.call == nil {
		return
	}
	res := resultOf(q.call, end, q.endpoint.url+q.entry.line.url, q.run.p.g.unix())
	if res.usage != nil {
		q.metrics.tokens(float64(res.usage.PromptTokens), float64(res.usage.CompletionTokens))
	}
	call := q.call
	q.finish(res)
	if end.Status == http.StatusOK { // else an attempt that was given up may not have ended
		q.run.p.g.tokenizer.Reuse(call)
	}
}

// cut ends the request from outside.
func (q *request) cut(res result) {
	q.retry.Stop()
	q.slots.giveUp()
	if a := q.attempt; a != nil && !a.settled {
		a.settled = true
		a.timeout.Stop()
		a.abort()
	}
	q.finish(res)
}

func (q *request) finish(res result) {
	q.call = nil
	q.metrics.ended(q.run.p.g.k.Now() - q.submittedAt)
	if !res.succeeded() {
		q.metrics.failed()
	}
	q.run.done(q, res)
}

// inFlight lists the requests in flight in the order in which they were sent.
func (r *run) inFlight() []*request {
	list := make([]*request, 0, len(r.flying))
	for q := range r.flying {
		list = append(list, q)
	}
	slices.SortFunc(list, func(a, b *request) int { return a.seq - b.seq })
	return list
}
