package gateway

import (
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
)

// Durations of what the processor does beside waiting for answers, as observed on
// one machine with a local database. A replay needs the first of them.
const (
	IngestTime   = 10 * time.Millisecond // reading the input and building the plan
	finalizeTime = 30 * time.Millisecond // storing the files of a job that ran to its end
	abortTime    = 25 * time.Millisecond // the same after a deadline or a cancel
	// progressPeriod is how often the processor pushes counts.
	progressPeriod = time.Second
)

// run is a job in the hands of a worker.
type run struct {
	p         *processor
	b         *batch
	started   kernel.Time
	listening kernel.Time // when the cancel listener's present read began

	plan    plan
	read    int        // entries that the reader has taken
	ahead   []*request // read and not in flight, at most readAhead
	waiter  *waiter    // of the first of ahead, nil when it waits for nothing
	holding bool       // the first of ahead has its endpoint slot
	flying  map[*request]struct{}
	global  *semaphore

	left     int // lines without a result
	counts   openai.RequestCounts
	outputs  resultFile
	errors   resultFile
	ingested bool   // the input is read, lines are being sent
	halted   bool   // its process has got a signal
	ended    bool   // no results are taken any more
	abort    string // the code of undispatched lines once the job is cut off
	deadline kernel.Timer
	progress kernel.Timer
}

func startRun(p *processor, b *batch) {
	now := p.g.k.Now()
	r := &run{p: p, b: b, started: now, listening: now, flying: map[*request]struct{}{}, global: p.global}
	if r.global == nil {
		r.global = &semaphore{limit: p.g.cfg.Concurrency.Global}
	}
	b.run = r
	p.runs = append(p.runs, r)
	r.deadline = p.g.k.At(b.deadline, func() { r.cut(codeExpired) })
	p.g.k.After(IngestTime, r.ingest)
}

// ingest reads the input file and starts execution.
func (r *run) ingest() {
	if r.halted {
		return
	}
	if r.abort != "" {
		r.finish()
		return
	}
	f, ok := r.p.g.files[r.b.InputFileID]
	if !ok {
		r.fail("open input file stream \"" + r.b.InputFileID + "\": file not found")
		return
	}
	r.p.metrics.storage("retrieve")
	known := func(model string) bool { return r.p.endpoint(model) != nil }
	plan, err := ingest(f.content, known, r.p.models)
	if err != nil {
		r.fail(err.Error())
		return
	}
	r.plan = plan
	r.ingested = true
	r.p.metrics.planBuilt(IngestTime, plan.lines)
	r.resume()
	r.left = len(r.plan.entries)
	r.counts.Total = int64(plan.lines)
	for _, l := range r.plan.rejected {
		res := failure(codeModelNotFound, `model "`+l.model+`" is not configured in any gateway`)
		r.p.metrics.model(l.model).failed()
		r.write(res, r.p.g.requestID(), l.customID)
	}
	r.b.Status = openai.BatchInProgress
	r.b.InProgressAt = r.p.g.unixPtr()
	r.progress = r.p.g.k.After(progressPeriod, r.pushProgress)
	if r.left == 0 {
		r.finish()
		return
	}
	if r.p.g.cfg.Async != nil {
		r.enqueue()
		return
	}
	r.feed()
}

func (r *run) pushProgress() {
	r.b.progress = r.counts
	r.progress = r.p.g.k.After(progressPeriod, r.pushProgress)
}

// readAhead is how many lines are read before they get a slot. Their
// x-slo-ttft-ms is stamped when they are read, and all but the last of them count
// as in flight in the gauges.
const readAhead = 3

// feed reads lines ahead and sends the first of them as long as there are slots:
// first that of the endpoint, then the global one.
func (r *run) feed() {
	for r.abort == "" && r.waiter == nil {
		r.fill()
		if len(r.ahead) == 0 {
			return
		}
		if !r.holding {
			if r.waiter = r.ahead[0].endpoint.semaphore.acquire(r.gotEndpoint); r.waiter != nil {
				return
			}
			r.holding = true
		}
		if r.waiter = r.global.acquire(r.gotGlobal); r.waiter != nil {
			return
		}
		r.send()
	}
}

func (r *run) gotEndpoint() {
	r.waiter = nil
	r.holding = true
	r.feed()
}

func (r *run) gotGlobal() {
	r.waiter = nil
	r.send()
	r.feed()
}

// send sends the first of ahead, which has both its slots.
func (r *run) send() {
	q := r.ahead[0]
	r.ahead = append(r.ahead[:0], r.ahead[1:]...)
	r.holding = false
	r.flying[q] = struct{}{}
	q.send()
}

// fill reads lines until readAhead of them wait.
func (r *run) fill() {
	for len(r.ahead) < readAhead && r.read < len(r.plan.entries) {
		r.ahead = append(r.ahead, newRequest(r, &r.plan.entries[r.read]))
		r.read++
	}
	for i, q := range r.ahead {
		if i < readAhead-1 {
			q.submit()
		}
	}
}

// done takes the result of a request that was in flight.
func (r *run) done(q *request, res result) {
	delete(r.flying, q)
	r.write(res, q.id, q.entry.line.customID)
	r.left--
	s := signalOf(res, q.capacityRetry, q.evicted, r.p.g.cfg.Quirks)
	q.endpoint.done(s, q.slots.endpoint, q.sentAt, r.p.g.k.Now())
	if q.slots.global {
		r.global.release()
	}
	if r.abort == "" && r.left == 0 {
		r.finish()
	}
}

// write appends a line to its file and counts it.
func (r *run) write(res result, id, customID string) {
	if res.hasResponse {
		r.outputs.add(res, id, customID)
	} else {
		r.errors.add(res, id, customID)
	}
	if res.succeeded() {
		r.counts.Completed++
	} else {
		r.counts.Failed++
	}
}

// cut ends the job before its time: what was not sent gets code, what is in flight
// is aborted and gets it too.
func (r *run) cut(code string) {
	if r.abort != "" || r.ended {
		return
	}
	r.abort = code
	if !r.ingested {
		return // ingest sees it
	}
	r.drop(code)
	r.finish()
}

// drop ends all lines that have no result.
func (r *run) drop(code string) {
	res := failure(code, errorMessage(code))
	r.withdraw()
	r.withdrawQueued()
	for _, q := range r.ahead {
		q.withdraw()
		r.write(res, q.id, q.entry.line.customID)
	}
	r.ahead = nil
	for ; r.read < len(r.plan.entries); r.read++ {
		r.write(res, r.p.g.requestID(), r.plan.entries[r.read].line.customID)
	}
	for _, q := range r.inFlight() {
		q.cut(res)
	}
}

// withdraw takes the first of ahead out of the queues for slots.
func (r *run) withdraw() {
	if r.waiter != nil {
		r.waiter.gone = true
		r.waiter = nil
	}
	if r.holding {
		r.holding = false
		r.ahead[0].endpoint.semaphore.release()
	}
}

// cancelRun passes the event of a cancel on to the worker that has b.
func (g *Gateway) cancelRun(b *batch) {
	if b.run == nil {
		return
	}
	// The event ends the listener's read; the next one begins at once.
	r := b.run
	r.listening = g.k.Now()
	g.k.After(0, func() { r.cut(codeCancelled) })
}
