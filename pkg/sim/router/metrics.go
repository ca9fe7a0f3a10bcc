package router

import (
	"math"
	"strconv"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/metric"
)

// metrics is the endpoint picker's own page. Left out are the families that time
// its code (plugin_duration_seconds), count bytes of answers (response_size_bytes)
// or faults of scraping (datalayer_*): the model's code takes no time, its answers
// are tokens, and its pages parse. Other durations of the router's own work are
// there, and 0.
type metrics struct {
	registry   metric.Registry
	pool       string
	flows      map[flowKey]*flowMetrics
	bySource   map[heldKey]*heldMetrics
	attempts   map[*endpoint]counters // nil is a failed attempt
	cycles     histograms
	processing histograms
	responding histograms
	scheduling histograms
}

// flowKey is what the labels of a request are made of.
type flowKey struct {
	model, fairness string
	priority        int
}

func newMetrics(pool string) *metrics {
	m := &metrics{
		pool:     pool,
		flows:    map[flowKey]*flowMetrics{},
		bySource: map[heldKey]*heldMetrics{},
		attempts: map[*endpoint]counters{},
	}
	m.gauges(infoFamily, pairs("build_ref", "", "commit", ""), nil).add(1)
	return m
}

type labels []metric.Label

// pairs makes labels of names and values in turn.
func pairs(namesAndValues ...string) labels {
	l := make(labels, 0, len(namesAndValues)/2)
	for i := 0; i < len(namesAndValues); i += 2 {
		l = append(l, metric.Label{Name: namesAndValues[i], Value: namesAndValues[i+1]})
	}
	return l
}

// A metric and its deprecated twin, which may be nil.
type (
	counters   [2]*metric.Counter
	gauges     [2]*metric.Gauge
	histograms [2]*metric.Histogram
)

func (c counters) add(v float64) {
	for _, c := range c {
		if c != nil {
			c.Add(v)
		}
	}
}

func (g gauges) add(v float64) {
	for _, g := range g {
		if g != nil {
			g.Add(v)
		}
	}
}

func (h histograms) observe(v float64) { h.observeN(v, 1) }

func (h histograms) observeN(v float64, n int) {
	for _, h := range h {
		if h != nil {
			h.ObserveN(v, n)
		}
	}
}

// counters makes a counter and its twin, whose labels are those of the former
// unless old gives others.
func (m *metrics) counters(f family, now, old labels) (c counters) {
	c[0] = m.registry.Counter(f.name, f.help, now...)
	if f.oldName != "" {
		c[1] = m.registry.Counter(f.oldName, f.oldHelp, twin(now, old)...)
	}
	return c
}

func (m *metrics) gauges(f family, now, old labels) (g gauges) {
	g[0] = m.registry.Gauge(f.name, f.help, now...)
	if f.oldName != "" {
		g[1] = m.registry.Gauge(f.oldName, f.oldHelp, twin(now, old)...)
	}
	return g
}

func (m *metrics) histograms(f family, now, old labels) (h histograms) {
	h[0] = m.registry.Histogram(f.name, f.help, f.bounds, now...)
	if f.oldName != "" {
		h[1] = m.registry.Histogram(f.oldName, f.oldHelp, f.bounds, twin(now, old)...)
	}
	return h
}

func (m *metrics) gaugeFunc(f family, value func() float64, now, old labels) {
	m.registry.GaugeFunc(f.name, f.help, value, now...)
	if f.oldName != "" {
		m.registry.GaugeFunc(f.oldName, f.oldHelp, value, twin(now, old)...)
	}
}

func twin(now, old labels) labels {
	if old == nil {
		return now
	}
	return old
}

// once makes h at its first use.
func (m *metrics) once(h *histograms, f family) histograms {
	if h[0] == nil {
		*h = m.histograms(f, nil, nil)
	}
	return *h
}

// gate registers the gauges of flow control.
func (m *metrics) gate(saturation func() float64, detectorName string, stale func() float64) {
	m.gaugeFunc(poolSaturationFamily, saturation, pairs("inference_pool", m.pool), nil)
	if stale != nil {
		m.gaugeFunc(staleEndpointsFamily, stale, pairs("detector", detectorName), nil)
	}
}

// stale is the gauge of stale endpoints where no dispatch cycle keeps it current.
func (m *metrics) stale(detectorName string) *metric.Gauge {
	return m.registry.Gauge(staleEndpointsFamily.name, staleEndpointsFamily.help, pairs("detector", detectorName)...)
}

// cycled counts dispatch cycles.
func (m *metrics) cycled(n int) { m.once(&m.cycles, cycleDurationFamily).observeN(0, n) }

// reclaimed notes an eviction decision.
func (m *metrics) reclaimed(demand int, target float64, issued int, pending func() float64) {
	pool := metric.Label{Name: "inference_pool", Value: m.pool}
	m.registry.Gauge(reclaimTargetFamily.name, reclaimTargetFamily.help, pool).Set(target)
	m.registry.GaugeFunc(pendingReclaimFamily.name, pendingReclaimFamily.help, pending, pool)
	m.registry.Counter(revocationsIssuedFamily.name, revocationsIssuedFamily.help,
		pool, metric.Label{Name: "priority", Value: strconv.Itoa(demand)}).Add(float64(issued))
}

// confirmed notes that an evicted stream has ended.
func (m *metrics) confirmed(after time.Duration) {
	pool := metric.Label{Name: "inference_pool", Value: m.pool}
	m.registry.Counter(revocationsFamily.name, revocationsFamily.help, pool, metric.Label{Name: "outcome", Value: "confirmed"}).Add(1)
	m.registry.Histogram(confirmationFamily.name, confirmationFamily.help, confirmationFamily.bounds, pool).Observe(after.Seconds())
}

// scheduled counts a scheduling attempt; e is nil when the filters left nothing.
func (m *metrics) scheduled(model string, e *endpoint) {
	c, ok := m.attempts[e]
	if !ok {
		name, namespace, port, status := "", "", "", "failure"
		if e != nil {
			name, namespace, port, status = e.Name, "default", "8000", "success"
		}
		c = m.counters(attemptsFamily,
			pairs("endpoint_name", name, "namespace", namespace, "port", port, "status", status, "target_model_name", model),
			pairs("namespace", namespace, "pod_name", name, "port", port, "status", status, "target_model_name", model))
		m.attempts[e] = c
	}
	c.add(1)
	m.once(&m.scheduling, schedulerDurationFamily).observe(0)
}

// poolGauges registers what is known of the endpoints. live lists them.
func (m *metrics) poolGauges(live func() []*endpoint, page func(*endpoint) Page) {
	name := pairs("name", m.pool)
	waiting := func(p Page) float64 { return float64(p.Waiting) }
	running := func(p Page) float64 { return float64(p.Running) }
	usage := func(p Page) float64 { return p.KVUsage }
	mean := func(of func(Page) float64) func() float64 {
		return func() float64 { mean, _ := moments(live(), page, of); return mean }
	}
	deviation := func(of func(Page) float64) func() float64 {
		return func() float64 { _, deviation := moments(live(), page, of); return deviation }
	}
	m.gaugeFunc(readyEndpointsFamily, func() float64 { return float64(len(live())) }, name, nil)
	m.gaugeFunc(averageQueueFamily, mean(waiting), name, nil)
	m.gaugeFunc(averageRunningFamily, mean(running), name, nil)
	m.gaugeFunc(averageKVFamily, mean(usage), name, nil)
	m.gaugeFunc(deviationQueueFamily, deviation(waiting), name, nil)
	m.gaugeFunc(deviationRunningFamily, deviation(running), name, nil)
	m.gaugeFunc(deviationKVFamily, deviation(usage), name, nil)
}

func (m *metrics) endpointGauge(e *endpoint, page func(*endpoint) Page) {
	m.gaugeFunc(endpointQueueFamily, func() float64 { return float64(page(e).Waiting) },
		pairs("model_server_endpoint", e.Name, "name", m.pool), pairs("model_server_pod", e.Name, "name", m.pool))
}

// moments are mean and standard deviation (of the population) over endpoints.
func moments(pool []*endpoint, page func(*endpoint) Page, of func(Page) float64) (mean, deviation float64) {
	if len(pool) == 0 {
		return 0, 0
	}
	n := float64(len(pool))
	for _, e := range pool {
		mean += of(page(e)) / n
	}
	for _, e := range pool {
		d := of(page(e)) - mean
		deviation += d * d / n
	}
	return mean, math.Sqrt(deviation)
}

// heldKey tells apart the gauges of what is in flight.
type heldKey struct {
	endpoint *endpoint
	producer string
	flow     *flowMetrics
}

type heldMetrics struct{ requests, tokens *metric.Gauge }

// flowMetrics are the series of one model, tenant and priority.
type flowMetrics struct {
	*metrics
	key      flowKey
	priority string

	queueSize, queueBytes, running gauges
	total                          counters
	sizes, duration                histograms
	input, output, cached          histograms
	ntpot, tpot, itl               histograms
	ttft                           [2]histograms // whole answers, streams
	outcomes                       map[outcome]departures
	enqueues                       map[enqueueKey]histograms
	errors                         map[code]counters
}

// departures are the requests that left flow control in one way.
type departures struct {
	waited histograms
	total  counters
}

type enqueueKey struct {
	outcome  outcome
	priority int
}

func (m *metrics) flow(key flowKey) *flowMetrics {
	f, ok := m.flows[key]
	if !ok {
		f = &flowMetrics{
			metrics: m, key: key, priority: strconv.Itoa(key.priority),
			outcomes: map[outcome]departures{}, enqueues: map[enqueueKey]histograms{}, errors: map[code]counters{},
		}
		m.flows[key] = f
	}
	return f
}

// now are the labels of most metrics, old those of their twins; more goes in front.
func (f *flowMetrics) now(more ...metric.Label) labels {
	return append(more, pairs("fairness_id", f.key.fairness, "model_name", f.key.model, "priority", f.priority, "target_model_name", f.key.model)...)
}

func (f *flowMetrics) old(more ...metric.Label) labels {
	return append(more, pairs("model_name", f.key.model, "target_model_name", f.key.model)...)
}

func (f *flowMetrics) histogram(h *histograms, of family) histograms {
	if h[0] == nil {
		*h = f.histograms(of, f.now(), f.old())
	}
	return *h
}

func (f *flowMetrics) queueLabels(more ...metric.Label) labels {
	l := pairs("fairness_id", f.key.fairness, "inference_pool", f.pool, "model_name", f.key.model)
	return append(append(l, more...), pairs("priority", f.priority, "target_model_name", f.key.model)...)
}

// queued follows the requests that are held in the queue.
func (f *flowMetrics) queued(requests, bytes int64) {
	if f.queueSize[0] == nil {
		f.queueSize = f.gauges(queueSizeFamily, f.queueLabels(), nil)
		f.queueBytes = f.gauges(queueBytesFamily, f.queueLabels(), nil)
	}
	f.queueSize.add(float64(requests))
	f.queueBytes.add(float64(bytes))
}

// enqueued notes how an attempt to enter the queue of a band ended.
func (f *flowMetrics) enqueued(o outcome, band int) {
	key := enqueueKey{o, band}
	h, ok := f.enqueues[key]
	if !ok {
		h = f.histograms(enqueueDurationFamily, pairs("fairness_id", f.key.fairness, "outcome", string(o), "priority", strconv.Itoa(band)), nil)
		f.enqueues[key] = h
	}
	h.observe(0)
}

// left notes how a request left the queue after waiting.
func (f *flowMetrics) left(o outcome, waited time.Duration) {
	d, ok := f.outcomes[o]
	if !ok {
		d = departures{
			f.histograms(queueDurationFamily, f.queueLabels(metric.Label{Name: "outcome", Value: string(o)}), nil),
			f.counters(flowRequestsFamily, pairs("inference_pool", f.pool, "outcome", string(o), "priority", f.priority), nil),
		}
		f.outcomes[o] = d
	}
	d.waited.observe(waited.Seconds())
	d.total.add(1)
}

// refused counts a request that got an error from the router itself.
func (f *flowMetrics) refused(c code) {
	n, ok := f.errors[c]
	if !ok {
		label := metric.Label{Name: "error_code", Value: string(c)}
		n = f.counters(requestErrorsFamily, f.now(label), f.old(label))
		f.errors[c] = n
	}
	n.add(1)
}

// sent counts a request that goes to its endpoint.
func (f *flowMetrics) sent(bytes int64) {
	if f.total[0] == nil {
		f.total = f.counters(requestTotalFamily, f.now(),
			pairs("model_name", f.key.model, "priority", f.priority, "target_model_name", f.key.model))
		f.running = f.gauges(runningFamily, f.now(), pairs("model_name", f.key.model))
	}
	f.total.add(1)
	f.running.add(1)
	f.histogram(&f.sizes, requestSizeFamily).observe(float64(bytes))
}

// held follows what a producer counts in flight.
func (f *flowMetrics) held(e *endpoint, producer string, requests, tokens int64) {
	key := heldKey{e, producer, f}
	h, ok := f.bySource[key]
	if !ok {
		l := pairs("endpoint_name", e.Name, "fairness_id", f.key.fairness, "namespace", "default", "priority", f.priority, "producer_name", producer)
		h = &heldMetrics{
			f.registry.Gauge(inflightRequestsFamily.name, inflightRequestsFamily.help, l...),
			f.registry.Gauge(inflightTokensFamily.name, inflightTokensFamily.help, l...),
		}
		f.bySource[key] = h
	}
	h.requests.Add(float64(requests))
	h.tokens.Add(float64(tokens))
}

// completed notes an answer that came to its end. first is the time to the first
// token and total that to the last.
func (f *flowMetrics) completed(stream bool, first, total time.Duration, u sim.Usage) {
	f.histogram(&f.duration, requestDurationFamily).observe(total.Seconds())
	f.once(&f.responding, responseProcessingFamily).observe(0)
	which, name := &f.ttft[0], "false"
	if stream {
		which, name = &f.ttft[1], "true"
	} else {
		first = total
	}
	if which[0] == nil {
		l := f.now()
		l = append(l[:3:3], metric.Label{Name: "streaming", Value: name}, l[3])
		*which = f.histograms(ttftFamily, l, nil)
	}
	which.observe(first.Seconds())
	if u.PromptTokens > 0 {
		f.histogram(&f.input, inputTokensFamily).observe(float64(u.PromptTokens))
		f.histogram(&f.cached, cachedTokensFamily).observe(float64(u.CachedTokens))
	}
	if u.OutputTokens == 0 {
		return
	}
	f.histogram(&f.output, outputTokensFamily).observe(float64(u.OutputTokens))
	f.histogram(&f.ntpot, ntpotFamily).observe(total.Seconds() / float64(u.OutputTokens))
	if stream && u.OutputTokens > 1 && total > first {
		f.histogram(&f.tpot, tpotFamily).observe((total - first).Seconds() / float64(u.OutputTokens-1))
	}
}
