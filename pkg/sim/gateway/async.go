package gateway

import (
	"encoding/json"
	"net/http"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/async"
)

// Queue is what dispatch async hands lines to: an async processor in the same process
// or the way to one.
type Queue interface {
	// Submit adds m to the queue. done is called once, when m has ended.
	Submit(m async.Message, done func(async.Result))
	// Withdraw cancels messages.
	Withdraw(ids []string)
}

// submitTime is a round trip to the queue, which each line takes; the model's guess
// for a Redis in the same cluster.
const submitTime = 100 * time.Microsecond

// enqueue submits the lines of a job one after the other to the queue of the async
// processor. There is no bound on how many are there, and no feedback but results.
func (r *run) enqueue() {
	if r.abort != "" || r.read == len(r.plan.entries) {
		return
	}
	q := newRequest(r, &r.plan.entries[r.read])
	r.read++
	r.flying[q] = struct{}{}
	if q.prepare() {
		r.p.g.cfg.Async.Submit(async.Message{ID: q.id, Deadline: r.unixDeadline(), Call: q.call}, q.returned)
	}
	r.p.g.k.After(submitTime, r.enqueue)
}

// unixDeadline is the job's deadline, cut off to seconds as the queue has it.
func (r *run) unixDeadline() int64 { return r.p.g.k.Instant(r.b.deadline).Unix() }

// returned takes the result of a request from the list of results, which the
// processor reads with a blocking pop: it arrives when it is written. One that comes
// after its job was cut off is of no use any more.
func (q *request) returned(res async.Result) {
	if q.call == nil || q.run.abort != "" {
		return
	}
	out := queuedResult(q.call, res, q.run.p.g.unix())
	if out.usage != nil {
		q.metrics.tokens(float64(out.usage.PromptTokens), float64(out.usage.CompletionTokens))
	}
	q.finish(out)
}

// queuedResult turns a result of the queue into a line: whatever has a status goes to
// the output file.
func queuedResult(call *sim.Call, res async.Result, created int64) result {
	switch {
	case res.Code != "":
		return failure(res.Code, res.Message)
	case res.End.Status == http.StatusOK:
		return resultOf(call, res.End, "", created)
	}
	return result{hasResponse: true, status: res.End.Status, body: queuedRefusal(res.End)}
}

// queuedRefusal is the body of an answer that is not 200. A text is wrapped in an
// error object that has a message and no type.
func queuedRefusal(end sim.End) []byte {
	object := map[string]any{}
	if end.Body == nil || json.Unmarshal(end.Body, &object) == nil {
		return refusalBody(end)
	}
	text, err := json.Marshal(map[string]any{"error": map[string]any{"message": string(end.Body)}})
	if err != nil { // a string always has a JSON form
		panic(err)
	}
	return text
}

// withdrawQueued has the queue drop what has no result. What a worker of the async
// processor has in flight runs on for nobody.
func (r *run) withdrawQueued() {
	queue := r.p.g.cfg.Async
	if queue == nil {
		return
	}
	ids := make([]string, 0, len(r.flying))
	for _, q := range r.inFlight() {
		ids = append(ids, q.id)
	}
	queue.Withdraw(ids)
}
