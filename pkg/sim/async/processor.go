package async

import (
	"math/rand/v2"
	"time"

	dto "github.com/prometheus/client_model/go"

	"bgbench/pkg/random"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
	"bgbench/pkg/spec"
)

// Config is the configuration of the processor.
type Config struct {
	spec.Async
	Objective string // x-gateway-inference-objective of the queue; none when empty
	// Pool is the InferencePool whose requests the queue holds.
	Pool string
	// Targets are the metrics pages that gates read.
	Targets []Target
	Seed    int64 // of retry delays and scrape instants
}

// Target is a metrics page of the stack under the name that a gate knows it by.
type Target struct {
	Name     string
	Registry Gatherer
}

// Gatherer reads a metrics page: a registry of the model, or what was last scraped.
type Gatherer interface{ Gather() []*dto.MetricFamily }

// Processor is one async processor.
type Processor struct {
	k       *kernel.Kernel
	cfg     Config
	backend sim.Backend
	gate    gate
	metrics *metrics
	random  *rand.Rand // of retry delays

	known map[string]*message // that have not ended
	queue sortedSet           // by deadline
	retry sortedSet           // by the instant at which they are due

	start    kernel.Time // of the ticks of polling
	tick     int64       // the last one that was taken
	left     int         // what the present poll may still take
	polled   int64       // the second in which it began
	inHand   *message    // popped, and no place in the buffer
	buffered []*message  // wait for a worker
	busy     int         // workers
}

// New returns a processor that polls from the kernel's present on and sends to
// backend.
func New(k *kernel.Kernel, cfg Config, backend sim.Backend) *Processor {
	p := &Processor{
		k: k, cfg: cfg, backend: backend,
		random: rand.New(random.Stream(cfg.Seed, "async", "retry")),
		known:  map[string]*message{},
		start:  k.Now(),
	}
	p.metrics = newMetrics(cfg, &p.queue)
	p.gate = newGate(p)
	p.nextPoll()
	return p
}

// Metrics is what the processor exposes at /metrics.
func (p *Processor) Metrics() *metric.Registry { return &p.metrics.registry }

// Submit adds m to the queue. done is called once, when m has ended; it must not
// block.
func (p *Processor) Submit(m Message, done func(Result)) {
	added := &message{Message: m, done: done, place: -1}
	p.known[m.ID] = added
	p.queue.add(added, float64(m.Deadline))
}

// Withdraw cancels messages. What waits ends at once; what a worker has in flight
// runs on, but is not sent again. Ids that are not known are ignored.
func (p *Processor) Withdraw(ids []string) {
	for _, id := range ids {
		m, ok := p.known[id]
		if !ok {
			continue
		}
		m.withdrawn = true
		if p.queue.remove(m) || p.retry.remove(m) {
			p.end(m, cancelled())
		}
	}
}

func cancelled() Result { return Result{Code: CodeCancelled, Message: "request cancelled"} }

// end hands back the result of m.
func (p *Processor) end(m *message, r Result) {
	delete(p.known, m.ID)
	m.done(r)
}

// unix is the present in whole seconds, with which deadlines are compared.
func (p *Processor) unix() int64 { return p.k.Instant(p.k.Now()).Unix() }

// at is the instant of a deadline.
func (p *Processor) at(deadline int64) kernel.Time {
	return time.Unix(deadline, 0).Sub(p.k.Instant(0))
}
