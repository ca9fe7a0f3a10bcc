package gateway

import (
	"math"
	"strconv"
	"time"

	"bgbench/pkg/sim/metric"
)

// Bucket bounds of the processor's histograms: exponential, as its configuration
// has them by default.
var (
	processBuckets = exponential(0.1, 2, 15)
	queueBuckets   = exponential(0.1, 2, 10)
	e2eBuckets     = exponential(1, 3, 12)
	// httpBuckets are client_golang's default buckets.
	httpBuckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
)

func exponential(start, factor float64, count int) []float64 {
	bounds := make([]float64, count)
	for i := range bounds {
		// One decimal is exact here and hides the error of repeated products.
		bounds[i] = math.Round(start*math.Pow(factor, float64(i))*10) / 10
	}
	return bounds
}

// processorMetrics are the processor's series. Those with labels appear when they
// are first used, as with a Prometheus vector.
type processorMetrics struct {
	registry      *metric.Registry
	activeWorkers *metric.Gauge
	inflight      *metric.Gauge
	models        map[string]*modelMetrics
}

// modelMetrics are the series of one model, looked up once.
type modelMetrics struct {
	inflight  *metric.Gauge
	execution *metric.Histogram // nil until the first request ended
	p         *processorMetrics
	model     string
}

// newProcessorMetrics starts the page r anew, as a new process does.
func newProcessorMetrics(cfg *Config, r *metric.Registry) *processorMetrics {
	r.Reset()
	m := &processorMetrics{
		registry:      r,
		activeWorkers: r.Gauge("active_workers", "Current number of active workers processing jobs"),
		inflight:      r.Gauge("processor_inflight_requests", "Current number of in-flight inference requests for the processor"),
		models:        map[string]*modelMetrics{},
	}
	r.Gauge("total_workers", "Total number of configured workers").Set(float64(cfg.NumWorkers))
	r.Gauge("processor_max_inflight_concurrency", "Configured maximum number of concurrent in-flight inference requests (GlobalConcurrency)").
		Set(float64(cfg.Concurrency.Global))
	return m
}

// jobProcessed counts a job that ended.
func (m *processorMetrics) jobProcessed(result, reason string) {
	m.registry.Counter("jobs_processed_total", "Total number of jobs processed",
		metric.Label{Name: "reason", Value: reason}, metric.Label{Name: "result", Value: result}).Add(1)
}

// jobE2E records how long a job took from its creation, whose instant is known in
// whole seconds only: the figure is up to a second too large.
func (m *processorMetrics) jobE2E(status string, now time.Time, createdAt int64) {
	m.registry.Histogram("batch_job_e2e_latency_seconds",
		"End-to-end job latency from submission to terminal state (completed, cancelled, expired, failed)",
		e2eBuckets, metric.Label{Name: "status", Value: status}).Observe(now.Sub(time.Unix(createdAt, 0)).Seconds())
}

// queueWait has jobE2E's error.
func (m *processorMetrics) queueWait(now time.Time, createdAt int64) {
	m.registry.Histogram("job_queue_wait_duration_seconds", "Time spent in the priority queue before being picked up",
		queueBuckets).Observe(now.Sub(time.Unix(createdAt, 0)).Seconds())
}

func (m *processorMetrics) planBuilt(d time.Duration, lines int) {
	m.registry.Histogram("plan_build_duration_seconds", "Duration of ingestion and plan build in seconds",
		processBuckets, metric.Label{Name: "size_bucket", Value: sizeBucket(lines)}).Observe(d.Seconds())
}

func (m *processorMetrics) jobDuration(d time.Duration, lines int) {
	m.registry.Histogram("job_processing_duration_seconds", "Duration of job processing in seconds",
		processBuckets, metric.Label{Name: "size_bucket", Value: sizeBucket(lines)}).Observe(d.Seconds())
}

func (m *processorMetrics) cancellation(phase string) {
	m.registry.Counter("batch_cancellation_total", "Total number of batch job cancellations",
		metric.Label{Name: "phase", Value: phase}).Add(1)
}

// recovered counts a job that a process before this one left behind.
func (m *processorMetrics) recovered(action, status string) {
	m.registry.Counter("batch_startup_recovery_total", "Total number of jobs recovered at processor startup",
		metric.Label{Name: "action", Value: action}, metric.Label{Name: "status", Value: status}).Add(1)
}

func (m *processorMetrics) storage(operation string) {
	m.registry.Counter("file_storage_operations_total", "Total number of file storage operations by outcome",
		metric.Label{Name: "component", Value: "processor"},
		metric.Label{Name: "operation", Value: operation},
		metric.Label{Name: "status", Value: "success"}).Add(1)
}

func sizeBucket(lines int) string {
	for _, bound := range [...]int{100, 1000, 10_000, 30_000} {
		if lines < bound {
			return strconv.Itoa(bound)
		}
	}
	return "large"
}

func (m *processorMetrics) model(name string) *modelMetrics {
	mm, ok := m.models[name]
	if !ok {
		mm = &modelMetrics{p: m, model: name}
		m.models[name] = mm
	}
	return mm
}

func (m *modelMetrics) label() metric.Label { return metric.Label{Name: "model", Value: m.model} }

// submitted and ended bracket a request from before it waits for its slot to its
// end: the gauges count up to two requests of a job that are not in flight yet.
func (m *modelMetrics) submitted() {
	if m.inflight == nil {
		m.inflight = m.p.registry.Gauge("model_inflight_requests", "Current number of in-flight inference requests per model", m.label())
	}
	m.inflight.Add(1)
	m.p.inflight.Add(1)
}

func (m *modelMetrics) withdrawn() {
	m.inflight.Add(-1)
	m.p.inflight.Add(-1)
}

func (m *modelMetrics) ended(d time.Duration) {
	m.withdrawn()
	if m.execution == nil {
		m.execution = m.p.registry.Histogram("model_request_execution_duration_seconds",
			"Per-request execution duration in seconds by model", processBuckets, m.label())
	}
	m.execution.Observe(d.Seconds())
}

func (m *modelMetrics) failed() {
	m.p.registry.Counter("request_errors_by_model_total", "Total number of request errors by model", m.label()).Add(1)
}

// tokens adds the usage of an answer.
func (m *modelMetrics) tokens(prompt, generation float64) {
	m.p.registry.Counter("batch_request_prompt_tokens_total",
		"Total prompt tokens consumed by batch inference requests. Only counted when the inference response includes usage data.",
		m.label()).Add(prompt)
	m.p.registry.Counter("batch_request_generation_tokens_total",
		"Total generation tokens produced by batch inference requests. Only counted when the inference response includes usage data.",
		m.label()).Add(generation)
}

// endpointMetrics are the AIMD series of one endpoint.
type endpointMetrics struct {
	registry *metric.Registry
	url      string
	limit    *metric.Gauge
}

func (m *processorMetrics) endpoint(url string) *endpointMetrics {
	return &endpointMetrics{
		registry: m.registry,
		url:      url,
		limit: m.registry.Gauge("batch_processor_aimd_concurrency_limit",
			"Current effective AIMD concurrency limit per inference endpoint", metric.Label{Name: "endpoint", Value: url}),
	}
}

func (e *endpointMetrics) increases() *metric.Counter {
	return e.registry.Counter("batch_processor_aimd_increases_total", "Additive increases after sustained success windows",
		metric.Label{Name: "endpoint", Value: e.url})
}

func (e *endpointMetrics) decreases(s signal) *metric.Counter {
	return e.registry.Counter("batch_processor_aimd_decreases_total",
		"Backpressure signals that trigger multiplicative decrease (429, 5xx, capacity_retry). Increments on every signal, even when the limit is already at the AIMD floor.",
		metric.Label{Name: "endpoint", Value: e.url}, metric.Label{Name: "signal", Value: string(s)})
}

// ObserveHTTPStart and ObserveHTTPEnd record a request to the apiserver. route is
// the pattern that matched, such as /v1/batches/{batch_id}. They are for whoever
// puts the API on a socket; calling its methods records nothing.
func (g *Gateway) ObserveHTTPStart(method, route string) { g.httpInFlight(method, route).Add(1) }

// ObserveHTTPEnd belongs to ObserveHTTPStart.
func (g *Gateway) ObserveHTTPEnd(method, route string, status int, d time.Duration) {
	g.httpInFlight(method, route).Add(-1)
	labels := []metric.Label{
		{Name: "method", Value: method}, {Name: "path", Value: route}, {Name: "status", Value: strconv.Itoa(status)},
	}
	g.apiserver.Counter("http_requests_total", "Total number of HTTP requests to the api server", labels...).Add(1)
	g.apiserver.Histogram("http_request_duration_seconds", "HTTP request duration in seconds for the api server",
		httpBuckets, labels...).Observe(d.Seconds())
}

func (g *Gateway) httpInFlight(method, route string) *metric.Gauge {
	return g.apiserver.Gauge("http_requests_in_flight", "Current number of HTTP requests being processed by the api server",
		metric.Label{Name: "method", Value: method}, metric.Label{Name: "path", Value: route})
}
