package async

import (
	"cmp"
	"slices"
	"time"

	"bgbench/pkg/sim/metric"
)

// metrics is the processor's /metrics page: names, texts and buckets are those of
// llm-d-async's pkg/metrics. Left out are the families of other transports
// (message_latency) and the snapshot of deadlines (deadline_proximity). The backlog is
// read when the page is, upstream every 15 s; counters are there from the start,
// upstream from their first event.
//
// Upstream has nothing for work that was done twice: redone_tokens_total is ours.
type metrics struct {
	registry metric.Registry
	labels   []metric.Label

	requests, succeeded, failed, shed, exceeded, retries *metric.Counter
	input, output                                        *metric.Counter
	redonePrompt, redoneOutput                           *metric.Counter
	gateClosed                                           *metric.Counter
	latency, residence                                   *metric.Histogram
	depth, inflight, budget                              *metric.Gauge
}

const (
	subsystem = "llm_d_async_"
	// workerPool is the pool of an installation that configures none.
	workerPool = "default"
)

// Bucket bounds in milliseconds.
var (
	latencyBounds   = []float64{10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000}
	residenceBounds = []float64{500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000,
		1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000}
)

func newMetrics(cfg Config, queue *sortedSet) *metrics {
	name := "llm-d-async:requests:" + cfg.Pool
	m := &metrics{labels: []metric.Label{
		{Name: "pool_name", Value: workerPool}, {Name: "queue_id", Value: name}, {Name: "queue_name", Value: name},
	}}
	r := &m.registry
	counter := func(name, help string, more ...metric.Label) *metric.Counter {
		return r.Counter(subsystem+name, help, m.with(more...)...)
	}
	m.requests = counter("async_request_total", "Total number of async requests.")
	m.succeeded = counter("async_successful_requests_total", "Total number of async requests that succeeded.")
	m.failed = counter("async_failed_requests_total", "Total number of async requests that failed.")
	m.shed = counter("async_shedded_requests_total", "Total number of async requests that were shedded.")
	m.exceeded = counter("async_exceeded_deadline_requests_total", "Total number of async requests that exceeded their deadline.")
	m.retries = counter("async_request_retries_total", "Total number of async request retries.")
	const tokens = "Tokens processed by successfully-dispatched requests, by direction."
	m.input = counter("async_tokens_total", tokens, metric.Label{Name: "direction", Value: "input"})
	m.output = counter("async_tokens_total", tokens, metric.Label{Name: "direction", Value: "output"})
	const redone = "Tokens that were computed again after an interruption (of the model, not upstream's): prompt tokens, the kept output among them, and output tokens that were thrown away."
	m.redonePrompt = r.Counter("bgbench_async_redone_tokens_total", redone, m.with(metric.Label{Name: "kind", Value: "prompt"})...)
	m.redoneOutput = r.Counter("bgbench_async_redone_tokens_total", redone, m.with(metric.Label{Name: "kind", Value: "output"})...)
	for _, reason := range []string{"dropped", "error", "gate_closed", "quota_exhausted"} {
		c := counter("async_gate_decisions_total", "Count of gate decisions that prevented dispatch, by reason.", metric.Label{Name: "reason", Value: reason})
		if reason == "gate_closed" {
			m.gateClosed = c
		}
	}
	m.latency = r.Histogram(subsystem+"async_inference_latency_time_millis",
		"Time spent calling the inference gateway (IGW), separating model time from queue time.", latencyBounds, m.labels...)
	m.residence = r.Histogram(subsystem+"async_queue_residence_time_millis",
		"Time a message spent buffered in-process from broker ingestion until a worker pulled it (the async delay introduced by the system).",
		residenceBounds, m.labels...)
	m.depth = r.Gauge(subsystem+"async_queue_depth", "Number of requests received from the broker and buffered in-process awaiting an available worker.", m.labels...)
	m.inflight = r.Gauge(subsystem+"async_inflight_requests", "Number of requests currently being processed by workers (dispatched to inference, awaiting a response).", m.labels...)
	r.GaugeFunc(subsystem+"async_broker_backlog", "Number of undelivered/pending messages held by the broker queue.",
		func() float64 { return float64(queue.len()) }, m.labels...)
	m.budget = r.Gauge(subsystem+"async_dispatch_budget",
		"Current dispatch budget [0.0-1.0] returned by the queue's gate; the fraction of system capacity available for new requests (0.0 = gate fully closed).", m.labels...)
	r.Gauge(subsystem+"async_pool_worker_limit", "Configured number of concurrent workers (the concurrency limit) for a pool.", m.labels[0]).
		Set(float64(cfg.Concurrency))
	return m
}

// with returns the labels of the queue with more behind them, in the order of names.
func (m *metrics) with(more ...metric.Label) []metric.Label { return byName(m.labels, more...) }

// byName adds labels to others; the page has them in the order of their names.
func byName(labels []metric.Label, more ...metric.Label) []metric.Label {
	all := append(slices.Clone(labels), more...)
	slices.SortFunc(all, func(a, b metric.Label) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// recomputed counts the prompt of an attempt, unless it is the first that had one.
func (m *metrics) recomputed(of *message, tokens int) {
	if of.prefilled {
		m.redonePrompt.Add(float64(tokens))
	}
}

// gateGauges are the series of a gate that asks Prometheus. Value and threshold are
// there once there was a value.
type gateGauges struct {
	registry                    *metric.Registry
	labels                      []metric.Label
	value, threshold, available *metric.Gauge
}

func newGateGauges(r *metric.Registry, labels []metric.Label, cfg Config) *gateGauges {
	g := &gateGauges{registry: r, labels: byName(labels, metric.Label{Name: "inference_pool", Value: cfg.Pool})}
	g.available = g.gauge("async_gate_metric_source_available",
		"Whether the gate's last evaluation got a reading from any metric source (1) or fell back to fallback (0).")
	return g
}

func (g *gateGauges) gauge(name, help string) *metric.Gauge {
	return g.registry.Gauge(subsystem+name, help, g.labels...)
}

func (g *gateGauges) set(value float64, known bool, threshold float64) {
	if !known {
		g.available.Set(0)
		return
	}
	if g.value == nil {
		g.value = g.gauge("async_gate_metric_value", "Raw metric value last read by a metric-based dispatch gate, i.e. the value compared against async_gate_metric_threshold to decide the gate. The gate closes when value <= threshold.")
		g.threshold = g.gauge("async_gate_metric_threshold", "Threshold a metric-based dispatch gate compares async_gate_metric_value against; the gate closes when value <= this threshold.")
	}
	g.available.Set(1)
	g.value.Set(value)
	g.threshold.Set(threshold)
}

func milliseconds(d time.Duration) float64 { return float64(d / time.Millisecond) }
