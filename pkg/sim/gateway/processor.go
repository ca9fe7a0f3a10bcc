package gateway

import (
	"math/rand/v2"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
)

// processor takes jobs from the queue while workers are free and runs them.
type processor struct {
	g         *Gateway
	metrics   *processorMetrics
	endpoints map[string]*endpoint // by model; the key "" stands for all models
	backoff   backoff
	models    *rand.Rand // the order of a job's models
	busy      int        // workers that are not free
	waiting   bool       // for a worker: the loop goes on when one is free
	runs      []*run
	heldUntil kernel.Time // the last worker that is held after its job is free then
	stopped   bool        // by a signal
	// global is the semaphore of all jobs, nil when each job has its own.
	global *semaphore
}

func newProcessor(g *Gateway) *processor {
	p := &processor{
		g:         g,
		metrics:   newProcessorMetrics(&g.cfg, g.processorPage),
		endpoints: map[string]*endpoint{},
		backoff: backoff{
			initial: g.cfg.InitialBackoff.Std(), max: g.cfg.MaxBackoff.Std(),
			random: stream(g.cfg.Seed, "gateway retry jitter"), quirks: g.cfg.Quirks,
		},
		models: stream(g.cfg.Seed, "gateway model order"),
	}
	p.addEndpoints()
	if !g.cfg.Quirks.GlobalPerJob {
		p.global = &semaphore{limit: g.cfg.Concurrency.Global}
	}
	g.k.After(0, p.poll)
	return p
}

func (p *processor) addEndpoints() {
	cfg := &p.g.cfg
	if len(cfg.ModelGateways) == 0 {
		p.endpoints[""] = newEndpoint(cfg, cfg.EndpointURL, p.metrics)
		return
	}
	byURL := map[string]*endpoint{}
	for _, mg := range cfg.ModelGateways {
		if byURL[mg.URL] == nil {
			byURL[mg.URL] = newEndpoint(cfg, mg.URL, p.metrics)
		}
		p.endpoints[mg.Model] = byURL[mg.URL]
	}
}

// endpoint returns the client for model, nil when its model has none.
func (p *processor) endpoint(model string) *endpoint {
	if e, ok := p.endpoints[model]; ok {
		return e
	}
	return p.endpoints[""]
}

// poll starts jobs back to back while workers are free. It waits for a poll
// interval only when the queue is empty, for a free worker otherwise.
func (p *processor) poll() {
	for !p.stopped {
		if p.busy >= p.g.cfg.NumWorkers {
			p.waiting = true
			return
		}
		b := p.g.queue.pop()
		if b == nil {
			p.g.k.After(p.g.cfg.PollInterval.Std(), p.poll)
			return
		}
		p.take(b)
	}
}

func (p *processor) take(b *batch) {
	now := p.g.k.Now()
	p.metrics.queueWait(p.instant(), b.CreatedAt)
	if now >= b.deadline {
		b.Status = openai.BatchExpired
		b.ExpiredAt = p.g.unixPtr()
		p.metrics.jobE2E(openai.BatchExpired, p.instant(), b.CreatedAt)
		p.metrics.jobProcessed("expired", "expired_dequeue")
		return
	}
	p.busy++
	p.metrics.activeWorkers.Add(1)
	startRun(p, b)
}

// slotHold is how long the read for cancel events blocks that keeps a worker taken
// after its job.
const slotHold = 20 * time.Second

// release frees the worker of a job that has ended. listening is when the read of
// its cancel listener began that was in progress at the end of the job; the reads
// follow one another, 20 s each.
func (p *processor) release(listening kernel.Time) {
	if !p.g.cfg.Quirks.WorkerHeldAfterJob {
		p.free()
		return
	}
	end := p.readEnd(listening)
	p.heldUntil = max(p.heldUntil, end)
	p.g.k.At(end, p.free)
}

// readEnd is when the read ends that is in progress now. The first read of the
// listener began at listening, or the first after an event of a cancel.
func (p *processor) readEnd(listening kernel.Time) kernel.Time {
	reads := (p.g.k.Now()-listening)/slotHold + 1
	return listening + reads*slotHold
}

func (p *processor) free() {
	p.busy--
	p.metrics.activeWorkers.Add(-1)
	if p.waiting {
		p.waiting = false
		p.poll()
	}
}

func (p *processor) instant() time.Time { return p.g.k.Instant(p.g.k.Now()) }
