package router

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"bgbench/pkg/random"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
)

// Config is what a Router is made from.
type Config struct {
	EndpointPicker string // the EndpointPickerConfig, YAML
	Flags          Flags
	// Objectives are the InferenceObjectives of the pool: name to priority. A request
	// that names none of them has priority 0.
	Objectives map[string]int
	// FixedBands leaves out the bands that objectives create on Kubernetes. With file
	// discovery only the configured bands exist.
	FixedBands bool
	// DispatchLag is the mean time from dispatch to count, DefaultDispatchLag on a
	// machine like a real one. 0 is a router whose count never lags: it lets in
	// exactly what its limits say.
	DispatchLag time.Duration
	// SteadyScrapes goes on reading metrics pages while the router is idle, for
	// servers whose metrics change by themselves.
	SteadyScrapes bool
	Pool          string // name of the InferencePool in metrics
	Seed          int64
}

// Router is llm-d's router before model servers. It implements sim.Backend. Replies
// are never called from inside Submit or an abort function.
type Router struct {
	k        *kernel.Kernel
	cfg      Config
	settings Settings
	lag      lag
	started  kernel.Time
	seq      uint64
	active   int // requests that have not ended

	known      map[string]*endpoint
	live       []*endpoint
	candidates []*endpoint // live, as of the last refresh of the cached list
	subset     []*endpoint // buffer
	polls      bool

	flow     *flowControl // nil without the feature gate
	profile  profile
	inflight *inflight
	counted  []int64 // buffer
	metrics  *metrics

	tick     kernel.Timer
	tickAt   kernel.Time
	ticking  bool
	onTick   func()
	cycled   kernel.Time
	sweeping bool
	caching  bool
}

// Periods of the real router's own clocks (v0.10).
const (
	sweepPeriod = time.Second           // dead requests leave the queue
	cachePeriod = 50 * time.Millisecond // the list of endpoints is looked up again
)

// New returns a router over endpoints, or a *StartupError when the endpoint picker
// would not start.
func New(k *kernel.Kernel, cfg Config, endpoints []Endpoint) (*Router, error) {
	settings, err := Parse(cfg.EndpointPicker, cfg.Flags)
	if err != nil {
		return nil, fmt.Errorf("endpoint picker config: %w", err)
	}
	r := &Router{
		k:        k,
		cfg:      cfg,
		settings: settings,
		lag:      newLag(cfg.DispatchLag, cfg.Seed),
		started:  k.Now(),
		known:    map[string]*endpoint{},
		profile:  profile{profileSettings: settings.profile, rng: rand.New(random.Stream(cfg.Seed, "router", "picker"))},
		inflight: newInflight(settings.producers),
		counted:  make([]int64, len(settings.producers)),
		metrics:  newMetrics(cfg.Pool),
	}
	r.onTick = r.ticked
	utilization, scraped := settings.detector.(utilizationDetector)
	r.polls = settings.scraped && (scraped || settings.profile.readsPages())
	if settings.flowControl {
		var priorities []int
		if !cfg.FixedBands {
			for _, p := range cfg.Objectives {
				priorities = append(priorities, p)
			}
			slices.Sort(priorities)
		}
		r.flow = newFlowControl(settings, priorities)
		var stale func() float64
		if scraped {
			stale = func() float64 { return float64(utilization.staleEndpoints(k.Now(), r.candidates)) }
		}
		r.metrics.gate(func() float64 { return settings.detector.saturation(k.Now(), r.candidates) }, settings.detectorID, stale)
	}
	r.metrics.poolGauges(func() []*endpoint { return r.live }, r.page)
	r.list(endpoints)
	r.candidates = r.live
	return r, nil
}

// Metrics is what the router exposes at /metrics.
func (r *Router) Metrics() *metric.Registry { return &r.metrics.registry }

// SetEndpoints replaces the list of endpoints. Counts of those that are gone are
// dropped at once, but the cached list still offers them for up to 50 ms.
func (r *Router) SetEndpoints(endpoints []Endpoint) {
	r.list(endpoints)
	if r.flow == nil {
		r.candidates = r.live
	} else if !r.caching {
		r.caching = true
		r.k.At(after(r.started, cachePeriod, r.k.Now()), func() {
			r.caching = false
			r.candidates = r.live
			r.wake()
		})
	}
	r.wake()
}

func (r *Router) list(endpoints []Endpoint) {
	for _, e := range r.live {
		e.listed = false
	}
	old := r.live
	r.live = nil
	for _, config := range endpoints {
		e := r.known[config.Name]
		if e == nil {
			e = newEndpoint(config, len(r.settings.producers))
			r.known[config.Name] = e
			r.metrics.endpointGauge(e, r.page)
		}
		e.Endpoint = config
		e.listed = true
		r.live = append(r.live, e)
		if !slices.Contains(old, e) {
			e.first = r.k.Now() + r.settings.refresh
			e.ever = false
			if r.active > 0 || r.cfg.SteadyScrapes {
				r.resume(e)
			}
		}
	}
	for _, e := range old {
		if !e.listed {
			e.forget()
			e.poll.Stop()
			e.poll = kernel.Timer{}
		}
	}
}

// after is the first instant after now on a clock that started at start.
func after(start kernel.Time, period time.Duration, now kernel.Time) kernel.Time {
	return start + (now-start)/period*period + period
}

// pool is the candidates that a request may go to.
func (r *Router) pool(names []string) []*endpoint {
	if len(names) == 0 {
		return r.candidates
	}
	r.subset = r.subset[:0]
	for _, e := range r.candidates {
		if slices.Contains(names, e.Name) {
			r.subset = append(r.subset, e)
		}
	}
	return r.subset
}

// Submit implements sim.Backend.
func (r *Router) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	now := r.k.Now()
	r.seq++
	r.active++
	q := &request{
		r: r, call: call, reply: reply, patient: sim.AsPatient(reply), seq: r.seq, received: now, place: -1,
		id: call.ID, fairness: call.FairnessID, priority: r.cfg.Objectives[call.Objective],
		deadline: noDeadline, bytes: int64(call.BodyBytes),
	}
	if q.id == "" {
		q.id = "generated " + strconv.FormatUint(q.seq, 10)
	}
	if q.fairness == "" {
		q.fairness = "default-flow"
	}
	if call.TTFTBudget > 0 && call.TTFTBudget < noDeadline-now {
		q.deadline = now + call.TTFTBudget
	}
	if q.bytes == 0 {
		q.bytes = 4 * max(int64(call.PromptEstimate), int64(call.Prompt.Len()))
	}
	q.labels = r.metrics.flow(flowKey{call.Model, q.fairness, q.priority})
	if r.polls {
		for _, e := range r.live {
			r.resume(e)
		}
	}
	enter := now
	if r.lag.mean > 0 {
		enter = r.lag.intake(now)
	}
	q.timer = r.k.At(enter, q.enter)
	return q.abandon
}

// RefuseBody answers a request whose body ReadBody did not accept.
func (r *Router) RefuseBody(err error) sim.End {
	r.metrics.flow(flowKey{"", "default-flow", 0}).refused(badRequest)
	return refusal{badRequest, err.Error(), ""}.end()
}

func (r *Router) processed(after time.Duration) {
	r.metrics.once(&r.metrics.processing, requestProcessingFamily).observe(after.Seconds())
}

// tokens is what a request adds to the count of each producer.
func (r *Router) tokens(q *request) []int64 {
	for i, p := range r.settings.producers {
		r.counted[i] = p.estimate.of(q.prompt(), q.outputLimit())
	}
	return r.counted
}

// streamEnded is when the stream of a running request has ended, however it did.
func (r *Router) streamEnded(id string) {
	f := r.flow
	if f == nil || f.eviction == nil {
		return
	}
	f.tracked.untrack(id)
	if issued, ok := f.eviction.confirmed(id, r.k.Now()); ok {
		r.metrics.confirmed(r.k.Now() - issued)
	}
}

// cycle runs one dispatch cycle and arranges for the next.
func (r *Router) cycle() {
	now := r.k.Now()
	f := r.flow
	r.metrics.cycled(1 + max(0, int((now-1)/tickPeriod-r.cycled/tickPeriod)))
	r.cycled = now
	d := f.cycle(now, r.candidates)
	if d.decided {
		r.metrics.reclaimed(d.demand, d.target, d.evicted, func() float64 { return f.eviction.pending })
	}
	for _, q := range d.evict[:d.evicted] {
		r.k.After(r.lag.teardown(), q.revoke)
	}
	if q := d.dispatch; q != nil && !q.dead {
		q.dispatched()
	}
	switch {
	case d.dispatch != nil || f.restless():
		r.wake()
	case f.eviction != nil:
		// The gate may stay shut only because an eviction has to show first.
		if at, ok := f.eviction.opens(); ok && at > now {
			r.arm((at + tickPeriod - 1) / tickPeriod * tickPeriod)
		}
	}
}

// wake arranges for a cycle at the next tick, because something has changed that it
// looks at. While nothing changes no ticks are run: the real router's would find
// what the last one found.
func (r *Router) wake() {
	if f := r.flow; f != nil && (f.bands.count > 0 || f.unsettled()) {
		r.arm(after(0, tickPeriod, r.k.Now()))
	}
}

func (r *Router) arm(at kernel.Time) {
	if r.ticking {
		if r.tickAt <= at {
			return
		}
		r.tick.Stop()
	}
	r.ticking, r.tickAt = true, at
	r.tick = r.k.At(at, r.onTick)
}

func (r *Router) ticked() {
	r.ticking = false
	r.cycle()
}

// sweepLater arranges for the next sweep.
func (r *Router) sweepLater() {
	if r.sweeping {
		return
	}
	r.sweeping = true
	r.k.At(after(r.started, sweepPeriod, r.k.Now()), func() {
		r.sweeping = false
		r.flow.bands.sweep()
	})
}

// page is what is known of a model server: the last page read or, where the router
// needs none, a look.
func (r *Router) page(e *endpoint) Page {
	if !r.polls && e.Scrape != nil && r.settings.scraped {
		return e.Scrape()
	}
	return e.page
}

// resume goes on reading the metrics of an endpoint. While the router was idle
// nothing changed, so the page that it would have read last is the one of now.
func (r *Router) resume(e *endpoint) {
	if !r.polls || e.Scrape == nil || e.poll != (kernel.Timer{}) {
		return
	}
	now := r.k.Now()
	next := e.first
	if now >= e.first {
		next = after(e.first, r.settings.refresh, now)
		e.read(e.Scrape(), next-r.settings.refresh)
	}
	e.poll = r.k.At(next, func() { r.scrape(e) })
}

// scrape reads a page at its time. One that hangs holds up the next.
func (r *Router) scrape(e *endpoint) {
	now := r.k.Now()
	p := e.Scrape()
	e.read(p, now)
	r.wake()
	if r.active == 0 && !r.cfg.SteadyScrapes {
		e.poll = kernel.Timer{}
		return
	}
	next := after(e.first, r.settings.refresh, now)
	if p.Hung {
		next = now + scrapeTimeout
	}
	e.poll = r.k.At(next, func() { r.scrape(e) })
}

// Ceiling is how far a band may fill the pool.
type Ceiling struct {
	Priority int
	Ceiling  float64
	// Requests is how many of the band's requests run when they arrive one by one,
	// -1 where the router does not count requests.
	Requests int64
}

// Ceilings lists the bands, highest first, with the ceilings of an idle pool; none
// without flow control.
func (r *Router) Ceilings() []Ceiling {
	if r.flow == nil {
		return nil
	}
	priorities := r.flow.bands.priorities
	ceilings := make([]float64, len(priorities))
	r.settings.limit.ceilings(0, priorities, 0, ceilings)
	list := make([]Ceiling, len(priorities))
	for i, p := range priorities {
		list[i] = Ceiling{p, ceilings[i], -1}
		if d, ok := r.settings.detector.(concurrencyDetector); ok && d.mode != modeTokens {
			list[i].Requests = requestsBelow(ceilings[i], d.maxRequests*int64(len(r.live)))
		}
	}
	return list
}

// requestsBelow is the first count whose share of capacity is not below ceiling.
func requestsBelow(ceiling float64, capacity int64) int64 {
	if ceiling <= 0 || capacity <= 0 {
		return 0
	}
	if ceiling*float64(capacity) > 1<<52 {
		return math.MaxInt64
	}
	n := int64(ceiling * float64(capacity))
	for n > 0 && float64(n-1)/float64(capacity) >= ceiling {
		n--
	}
	for float64(n)/float64(capacity) < ceiling {
		n++
	}
	return n
}
