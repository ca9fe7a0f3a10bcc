package router

import (
	"math"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
)

// request is a call on its way through the router.
type request struct {
	r        *Router
	call     *sim.Call
	reply    sim.Reply
	patient  sim.Patient // reply, where it is patient
	id       string
	fairness string
	priority int
	labels   *flowMetrics
	stage    stage
	received kernel.Time
	timer    kernel.Timer // to the next stage, or to the end of waiting

	// While it waits.
	enqueued kernel.Time
	deadline kernel.Time // for the first token; math.MaxInt64 without a budget
	seq      uint64
	bytes    int64
	band     *band
	flow     *flow
	place    int  // in the flow's heap
	dead     bool // its place is kept until the sweep

	// While it runs.
	endpoint *endpoint
	forced   bool // no other endpoint could have been picked
	stop     func()
	headers  bool
	first    kernel.Time // of its first tokens, 0 before
	last     kernel.Time // of its latest
}

type stage uint8

const (
	stageIntake stage = iota
	stageQueued
	stageScheduling
	stageRunning
	stageEnded
)

// enter is when the request has been read: it is admitted or queued.
func (q *request) enter() {
	now := q.r.k.Now()
	f := q.r.flow
	if f == nil {
		q.admit(now)
		return
	}
	q.enqueued = now
	b := f.bands.of(q.priority)
	if !f.bands.room(b, q.bytes) {
		q.turnAway(b)
	} else {
		q.stage = stageQueued
		q.labels.queued(1, q.bytes)
		q.labels.enqueued(notYetFinalized, b.priority)
		f.bands.push(b, q)
		if f.ttl > 0 && f.ttl < noDeadline-now {
			q.timer = q.r.k.After(f.ttl, q.expire)
		}
	}
	q.r.cycle()
}

// turnAway refuses a request for which its queue has no place.
func (q *request) turnAway(b *band) {
	o, answer := rejectedCapacity, refusedFull
	// A queue before an empty pool is a waiting room for the first server.
	if len(q.r.candidates) == 0 {
		o, answer = rejectedNoEndpoints, refusedFullEmpty
	}
	q.labels.queued(0, 0)
	q.labels.enqueued(o, b.priority)
	q.labels.left(o, 0)
	q.refuse(answer)
}

// admit is admission without flow control: only requests below priority 0 are
// turned away, when the pool is full.
func (q *request) admit(now kernel.Time) {
	if q.priority < 0 {
		pool := q.r.pool(q.call.Subset)
		if d, ok := q.r.settings.detector.(utilizationDetector); ok {
			q.r.metrics.stale(q.r.settings.detectorID).Set(float64(d.staleEndpoints(now, pool)))
		}
		if q.r.settings.detector.saturation(now, pool) >= 1 {
			q.refuse(refusedSaturated)
			return
		}
	}
	q.schedule()
}

// expire ends the waiting.
func (q *request) expire() {
	q.die(evictedTTL)
	if len(q.r.candidates) == 0 {
		q.refuse(refusedTTLEmpty)
		return
	}
	q.refuse(refusedTTL)
}

// die leaves a dead request in its place in the queue.
func (q *request) die(o outcome) {
	q.dead = true
	q.labels.left(o, q.r.k.Now()-q.enqueued)
	q.labels.queued(-1, -q.bytes)
	q.r.sweepLater()
}

// dispatched is when flow control lets the request go.
func (q *request) dispatched() {
	q.timer.Stop()
	q.labels.left(dispatched, q.r.k.Now()-q.enqueued)
	q.labels.queued(-1, -q.bytes)
	q.schedule()
}

// schedule picks an endpoint and sends the request there, which takes the dispatch
// lag.
func (q *request) schedule() {
	q.stage = stageScheduling
	k := q.r.k
	now := k.Now()
	at := q.r.lag.dispatch(now, q.band != nil && now > q.enqueued)
	switch {
	case q.r.lag.mean == 0:
		q.chooseAndSend()
	case q.r.settings.profile.readsLoad():
		looked := time.Duration(filterShare * float64(at-now))
		q.timer = k.After(looked, func() {
			if q.choose() {
				q.timer = k.At(at, q.send)
			}
		})
	default:
		q.timer = k.At(at, q.chooseAndSend)
	}
}

func (q *request) chooseAndSend() {
	if q.choose() {
		q.send()
	}
}

// choose picks the endpoint, or refuses the request when there is none.
func (q *request) choose() bool {
	r := q.r
	pool := r.pool(q.call.Subset)
	if len(pool) == 0 {
		q.refuse(refusedNoPool)
		return false
	}
	q.endpoint, q.forced = r.profile.pick(r.k.Now(), pool, r.tokens(q))
	r.metrics.scheduled(q.call.Model, q.endpoint)
	if q.endpoint == nil {
		q.refuse(refusedProfile(r.profile.name))
		return false
	}
	return true
}

// send counts the request as in flight and hands it over.
func (q *request) send() {
	r := q.r
	now := r.k.Now()
	q.stage = stageRunning
	r.inflight.add(q.id, q.endpoint, q.prompt(), q.outputLimit(), q.labels)
	if r.flow != nil && r.flow.eviction != nil {
		r.seq++
		r.flow.tracked.track(q, now, r.seq)
	}
	q.labels.sent(q.bytes)
	r.processed(now - q.received)
	q.stop = q.endpoint.Backend.Submit(q.call, q)
	r.wake()
}

// prompt is the number of tokens that the router takes the prompt for.
func (q *request) prompt() int64 {
	if q.call.PromptEstimate > 0 && !q.r.settings.exactTokens {
		return int64(q.call.PromptEstimate)
	}
	return int64(q.call.Prompt.Len())
}

// outputLimit is the client's, -1 when there is none.
func (q *request) outputLimit() int64 {
	if q.call.MaxTokens > 0 || q.call.NoOutput {
		return int64(q.call.MaxTokens)
	}
	return -1
}

// Headers implements sim.Reply.
func (q *request) Headers(at kernel.Time, endpoint string) {
	if q.stage != stageRunning {
		return
	}
	q.headers = true
	q.reply.Headers(at, endpoint)
}

// Tokens implements sim.Reply. The first of a stream end the prefill.
func (q *request) Tokens(at kernel.Time, n int) {
	if q.stage != stageRunning {
		return
	}
	if q.first == 0 {
		q.first = at
		if q.call.Stream {
			q.r.inflight.started(q.id, q.endpoint)
			q.r.wake()
		}
	} else if q.call.Stream {
		q.labels.histogram(&q.labels.itl, itlFamily).observe((at - q.last).Seconds())
	}
	q.last = at
	q.reply.Tokens(at, n)
}

// IsPatient implements sim.Patient.
func (q *request) IsPatient() bool { return q.patient != nil }

// Stretch implements sim.Patient.
func (q *request) Stretch(s sim.Stretch) {
	if q.stage != stageRunning {
		return
	}
	if q.call.Stream {
		itl := q.labels.histogram(&q.labels.itl, itlFamily)
		metric.ObserveGaps(itl[:], q.last, s.At)
	}
	q.last = s.End()
	q.patient.Stretch(s)
}

// End implements sim.Reply.
func (q *request) End(at kernel.Time, end sim.End) {
	if q.stage != stageRunning {
		return
	}
	q.finish()
	if end.Status != sim.StatusAborted && end.Status != sim.StatusNoAnswer {
		first := at
		if q.first > 0 {
			first = q.first
		}
		q.labels.completed(q.call.Stream, first-q.received, at-q.received, end.Usage)
	}
	q.reply.End(at, end)
}

// finish gives back what a running request holds.
func (q *request) finish() {
	q.end()
	q.labels.running.add(-1)
	q.r.inflight.ended(q.id)
	q.r.streamEnded(q.id)
	q.r.wake()
}

func (q *request) end() {
	q.stage = stageEnded
	q.r.active--
}

// refuse answers a request that was not sent.
func (q *request) refuse(answer refusal) {
	now := q.r.k.Now()
	q.end()
	q.labels.refused(answer.code)
	q.r.processed(now - q.received)
	q.reply.End(now, answer.end())
}

// revoke ends a running request that has to make room.
func (q *request) revoke() {
	if q.stage != stageRunning {
		return
	}
	q.stop()
	q.finish()
	if q.call.Stream && q.headers {
		q.reply.End(q.r.k.Now(), cutEnd())
		return
	}
	q.reply.End(q.r.k.Now(), evictedEnd())
}

// abandon is the client's disconnect.
func (q *request) abandon() {
	switch q.stage {
	case stageEnded:
		return
	case stageIntake, stageScheduling:
		q.timer.Stop()
		q.end()
	case stageQueued:
		q.timer.Stop()
		q.die(evictedContextCancelled)
		q.labels.refused(serviceUnavailable)
		q.end()
	case stageRunning:
		q.stop()
		q.finish()
	}
	q.r.k.At(q.r.k.Now(), func() {
		q.reply.End(q.r.k.Now(), sim.End{Status: sim.StatusAborted, FinishReason: "abort"})
	})
}

// noDeadline comes after every deadline that is reached.
const noDeadline = kernel.Time(math.MaxInt64)
