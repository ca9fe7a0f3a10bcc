package engine

import (
	"cmp"
	"slices"
	"strconv"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
)

// metrics is vLLM's /metrics page: names, texts, labels and buckets are those of
// vllm/v1/metrics/loggers.py at commit 017e9f4448b7 (August 2026). Gauges hold the
// value of the last step; a step refreshes them, time alone does not. The *_created
// series that the Prometheus client for Python adds are left out.
type metrics struct {
	registry metric.Registry

	running, waiting, waitingCapacity, kvUsage *metric.Gauge

	prefixQueries, prefixHits, preemptions                       *metric.Counter
	promptTokens, promptCached, promptComputed, promptHit        *metric.Counter
	generationTokens, success, aborted                           *metric.Counter
	ttft, itl, timePerOutput, e2e, queue, prefill, decode, infer *metric.Histogram
	requestPrompt, requestGeneration, requestMaxGeneration       *metric.Histogram
	iterationTokens, paramsMaxTokens, paramsN, prefillComputed   *metric.Histogram

	last Stats // what the counters have taken up
}

func newMetrics(cfg Config) *metrics {
	m := new(metrics)
	base := []metric.Label{{Name: "engine", Value: "0"}, {Name: "model_name", Value: cfg.Model}}
	with := func(name, value string) []metric.Label {
		labels := append(slices.Clone(base), metric.Label{Name: name, Value: value})
		// The Prometheus client for Python sorts labels by name.
		slices.SortFunc(labels, func(a, b metric.Label) int { return cmp.Compare(a.Name, b.Name) })
		return labels
	}
	r := &m.registry
	m.registerGauges(r, base, with)
	m.registerCounters(r, base, with)
	m.registerHistograms(r, base, cfg.Scheduler.MaxModelLen)
	registerInfo(r, cfg)
	return m
}

func (m *metrics) registerGauges(r *metric.Registry, base []metric.Label, with func(name, value string) []metric.Label) {
	m.running = r.Gauge("vllm:num_requests_running", "Number of requests in model execution batches.", base...)
	m.waiting = r.Gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", base...)
	const byReason = "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting."
	m.waitingCapacity = r.Gauge("vllm:num_requests_waiting_by_reason", byReason, with("reason", "capacity")...)
	r.Gauge("vllm:num_requests_waiting_by_reason", byReason, with("reason", "deferred")...)
	m.kvUsage = r.Gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", base...)
	const sleep = "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2."
	r.Gauge("vllm:engine_sleep_state", sleep, with("sleep_state", "awake")...).Set(1)
	r.Gauge("vllm:engine_sleep_state", sleep, with("sleep_state", "weights_offloaded")...)
	r.Gauge("vllm:engine_sleep_state", sleep, with("sleep_state", "discard_all")...)
}

func (m *metrics) registerCounters(r *metric.Registry, base []metric.Label, with func(name, value string) []metric.Label) {
	m.prefixQueries = r.Counter("vllm:prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.", base...)
	m.prefixHits = r.Counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", base...)
	m.preemptions = r.Counter("vllm:num_preemptions_total", "Cumulative number of preemption from the engine.", base...)
	m.promptTokens = r.Counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", base...)
	m.promptCached = r.Counter("vllm:prompt_tokens_cached_total", "Number of cached prompt tokens (local + external).", base...)
	const bySource = "Number of prompt tokens by source."
	m.promptComputed = r.Counter("vllm:prompt_tokens_by_source_total", bySource, with("source", "local_compute")...)
	m.promptHit = r.Counter("vllm:prompt_tokens_by_source_total", bySource, with("source", "local_cache_hit")...)
	r.Counter("vllm:prompt_tokens_by_source_total", bySource, with("source", "external_kv_transfer")...)
	m.generationTokens = r.Counter("vllm:generation_tokens_total", "Number of generation tokens processed.", base...)
	success := func(reason string) *metric.Counter {
		return r.Counter("vllm:request_success_total", "Count of successfully processed requests.", with("finished_reason", reason)...)
	}
	for _, never := range []string{"stop", "error", "repetition"} {
		success(never)
	}
	m.success, m.aborted = success("length"), success("abort")
}

func (m *metrics) registerHistograms(r *metric.Registry, base []metric.Label, maxModelLen int) {
	h := func(name, help string, buckets []float64) *metric.Histogram {
		return r.Histogram("vllm:"+name, help, buckets, base...)
	}
	counts := buckets125(maxModelLen)
	m.ttft = h("time_to_first_token_seconds", "Histogram of time to first token in seconds.", ttftBuckets())
	m.itl = h("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", itlBuckets())
	m.timePerOutput = h("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", itlBuckets())
	m.e2e = h("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", latencyBuckets())
	m.queue = h("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", latencyBuckets())
	m.infer = h("request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", latencyBuckets())
	m.prefill = h("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", latencyBuckets())
	m.decode = h("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", latencyBuckets())
	m.requestPrompt = h("request_prompt_tokens", "Number of prefill tokens processed.", counts)
	m.requestGeneration = h("request_generation_tokens", "Number of generation tokens processed.", counts)
	m.requestMaxGeneration = h("request_max_num_generation_tokens", "Histogram of maximum number of requested generation tokens.", counts)
	m.iterationTokens = h("iteration_tokens_total", "Histogram of number of tokens per engine_step.",
		[]float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384})
	m.paramsN = h("request_params_n", "Histogram of the n request parameter.", []float64{1, 2, 5, 10, 20})
	m.paramsMaxTokens = h("request_params_max_tokens", "Histogram of the max_tokens request parameter.", counts)
	m.prefillComputed = h("request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding cached tokens).", counts)
}

// registerInfo exposes the cache's configuration in labels, as vLLM's CacheConfig
// prints them: Python's spelling, and no model_name.
func registerInfo(r *metric.Registry, cfg Config) {
	python := func(b bool) string {
		if b {
			return "True"
		}
		return "False"
	}
	s := cfg.Scheduler
	r.Gauge("vllm:cache_config_info", "Information of the LLMEngine CacheConfig",
		metric.Label{Name: "block_size", Value: strconv.Itoa(s.BlockSize)},
		metric.Label{Name: "cache_dtype", Value: "auto"},
		metric.Label{Name: "enable_prefix_caching", Value: python(s.EnablePrefixCaching)},
		metric.Label{Name: "engine", Value: "0"},
		metric.Label{Name: "gpu_memory_utilization", Value: strconv.FormatFloat(cfg.GPUMemoryUtilization, 'g', -1, 64)},
		metric.Label{Name: "num_gpu_blocks", Value: strconv.Itoa(s.NumGPUBlocks)},
		metric.Label{Name: "prefix_caching_hash_algo", Value: "sha256"},
		metric.Label{Name: "sliding_window", Value: "None"},
	).Set(1)
}

// step records one update: outputs are requests that got a token at now, which their
// clients see at seen; decoded others got one, gap after the one before.
func (m *metrics) step(now, seen kernel.Time, s *Scheduler, outputs []*Request, decoded int, gap kernel.Time) {
	m.gauges(s)
	m.counters(s.Stats())
	if len(outputs)+decoded == 0 {
		return
	}
	computed := 0
	gaps := decoded // equal gaps in a row, which most are
	for _, r := range outputs {
		q := r.call
		if r.OutputTokens() == 1 {
			q.first = now
			m.ttft.Observe((seen - q.arrived).Seconds())
			computed += m.firstToken(r)
		} else {
			if now-q.at != gap && gaps > 0 {
				m.itl.ObserveN(gap.Seconds(), gaps)
				gaps = 0
			}
			gap = now - q.at
			gaps++
		}
		q.at = now
		if r.Finished() {
			m.finished(q, seen)
		}
	}
	if gaps > 0 {
		m.itl.ObserveN(gap.Seconds(), gaps)
	}
	m.generationTokens.Add(float64(len(outputs) + decoded))
	m.iterationTokens.Observe(float64(computed + len(outputs) + decoded))
}

func (m *metrics) gauges(s *Scheduler) {
	m.running.Set(float64(s.Running()))
	m.waiting.Set(float64(s.Waiting()))
	m.waitingCapacity.Set(float64(s.Waiting()))
	m.kvUsage.Set(s.KVUsage())
}

func (m *metrics) counters(now Stats) {
	m.prefixQueries.Add(float64(now.PrefixQueries - m.last.PrefixQueries))
	m.prefixHits.Add(float64(now.PrefixHits - m.last.PrefixHits))
	m.preemptions.Add(float64(now.Preemptions - m.last.Preemptions))
	m.last = now
}

// firstToken counts the prompt of r and returns how much of it was computed.
func (m *metrics) firstToken(r *Request) int {
	computed := r.promptTokens - r.CachedTokens()
	m.promptTokens.Add(float64(r.promptTokens))
	m.promptCached.Add(float64(r.CachedTokens()))
	m.promptHit.Add(float64(r.CachedTokens()))
	m.promptComputed.Add(float64(computed))
	return computed
}

// finished records the intervals of a request: queue from its arrival at the
// engine to its first admission, prefill from there to the first token, decode to
// the last; a preemption falls into the interval in which it happens.
func (m *metrics) finished(q *call, seen kernel.Time) {
	n := q.OutputTokens()
	m.success.Add(1)
	m.e2e.Observe((seen - q.arrived).Seconds())
	m.queue.Observe((q.admitted - q.queued).Seconds())
	m.prefill.Observe((q.first - q.admitted).Seconds())
	m.infer.Observe((q.at - q.admitted).Seconds())
	m.decode.Observe((q.at - q.first).Seconds())
	m.prefillComputed.Observe(float64(q.promptTokens - q.CachedTokens()))
	m.requestPrompt.Observe(float64(q.promptTokens))
	m.requestGeneration.Observe(float64(n))
	m.requestMaxGeneration.Observe(float64(n))
	m.paramsN.Observe(1)
	m.paramsMaxTokens.Observe(float64(q.MaxTokens))
	perToken := 0.0
	if n > 1 {
		perToken = (q.at - q.first).Seconds() / float64(n-1)
	}
	m.timePerOutput.Observe(perToken)
}

func ttftBuckets() []float64 {
	return []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
}

func itlBuckets() []float64 {
	return []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
}

func latencyBuckets() []float64 {
	return []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
}

// buckets125 is the series 1, 2, 5, 10, … up to limit.
func buckets125(limit int) []float64 {
	var out []float64
	for scale := 1; ; scale *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*scale > limit {
				return out
			}
			out = append(out, float64(m*scale))
		}
	}
}
