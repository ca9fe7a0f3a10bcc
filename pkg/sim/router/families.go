package router

// family is a metric of the endpoint picker under its name and, where it has one,
// the deprecated name that is exposed beside it (llm-d-router v0.10, pkg/epp/metrics).
type family struct {
	name, help       string
	oldName, oldHelp string
	bounds           []float64
}

var (
	queueDurationBounds      = []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	enqueueDurationBounds    = []float64{0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1}
	confirmationBounds       = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	requestDurationBounds    = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}
	requestSizeBounds        = []float64{64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1.048576e+06, 2.097152e+06, 4.194304e+06, 8.388608e+06, 1.6777216e+07, 3.3554432e+07, 6.7108864e+07, 1.34217728e+08, 2.68435456e+08, 5.36870912e+08, 1.073741824e+09}
	inputTokensBounds        = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32778, 65536, 131072, 262144, 524288, 1.048576e+06}
	outputTokensBounds       = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}
	ntpotBounds              = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}
	ttftBounds               = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60, 120}
	tpotBounds               = []float64{0.0005, 0.00205, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 2}
	itlBounds                = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2}
	requestProcessingBounds  = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.025, 0.04, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	responseProcessingBounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
)

var (
	queueSizeFamily = family{
		name: "llm_d_epp_flow_control_queue_size", help: "[ALPHA] Current number of requests actively held in the Flow Control queue.",
		oldName: "inference_extension_flow_control_queue_size", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_flow_control_queue_size] Current number of requests actively held in the Flow Control queue.",
	}
	queueBytesFamily = family{
		name: "llm_d_epp_flow_control_queue_bytes", help: "[ALPHA] Current total size in bytes of requests actively held in the Flow Control queue.",
		oldName: "inference_extension_flow_control_queue_bytes", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_flow_control_queue_bytes] Current total size in bytes of requests actively held in the Flow Control queue.",
	}
	queueDurationFamily = family{
		name: "llm_d_epp_flow_control_request_queue_duration_seconds", help: "[ALPHA] Distribution of total time requests spend in the Flow Control layer (from enqueue to final outcome).",
		oldName: "inference_extension_flow_control_request_queue_duration_seconds", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_flow_control_request_queue_duration_seconds] Distribution of total time requests spend in the Flow Control layer (from enqueue to final outcome).",
		bounds: queueDurationBounds,
	}
	enqueueDurationFamily = family{
		name: "llm_d_epp_flow_control_request_enqueue_duration_seconds", help: "[ALPHA] Distribution of time taken to enqueue requests into the Flow Control layer.",
		oldName: "inference_extension_flow_control_request_enqueue_duration_seconds", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_flow_control_request_enqueue_duration_seconds] Distribution of time taken to enqueue requests into the Flow Control layer.",
		bounds: enqueueDurationBounds,
	}
	cycleDurationFamily = family{
		name: "llm_d_epp_flow_control_dispatch_cycle_duration_seconds", help: "[ALPHA] Distribution of time taken for each internal dispatch cycle in the Flow Control layer.",
		oldName: "inference_extension_flow_control_dispatch_cycle_duration_seconds", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_flow_control_dispatch_cycle_duration_seconds] Distribution of time taken for each internal dispatch cycle in the Flow Control layer.",
		bounds: enqueueDurationBounds,
	}
	poolSaturationFamily = family{
		name: "llm_d_epp_flow_control_pool_saturation", help: "[ALPHA] Pool saturation signal gating Flow Control dispatch. 1.0 is the gating set point; values above 1.0 indicate the magnitude of oversubscription past it. An empty pool reads as 1.0. With the default utilization detector, endpoints with missing or stale metrics score as fully saturated (fail-closed; see flow_control_stale_endpoints).",
		oldName: "inference_extension_flow_control_pool_saturation", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_flow_control_pool_saturation] Pool saturation signal gating Flow Control dispatch. 1.0 is the gating set point; values above 1.0 indicate the magnitude of oversubscription past it. An empty pool reads as 1.0. With the default utilization detector, endpoints with missing or stale metrics score as fully saturated (fail-closed; see llm_d_epp_flow_control_stale_endpoints).",
	}
	staleEndpointsFamily = family{
		name: "llm_d_epp_flow_control_stale_endpoints", help: "[ALPHA] Number of candidate endpoints whose metrics are missing or older than the staleness threshold, as of the most recent saturation evaluation. Recorded by the utilization saturation detector, which scores these endpoints as fully saturated in flow_control_pool_saturation (fail-closed): a nonzero value during a dispatch stall indicates a metrics collection problem rather than genuine overload.",
	}
	flowRequestsFamily = family{
		name: "llm_d_epp_flow_control_requests_total", help: "[ALPHA] Total number of requests processed by the Flow Control layer.",
	}
	revocationsIssuedFamily = family{
		name: "llm_d_epp_flow_control_revocations_issued_total", help: "[ALPHA] Total number of in-flight eviction revocations issued, labeled by the demand band's priority.",
	}
	revocationsFamily = family{
		name: "llm_d_epp_flow_control_revocations_total", help: "[ALPHA] Total number of in-flight eviction revocations by terminal outcome (confirmed, timed_out). Every issued revocation eventually increments exactly one outcome.",
	}
	reclaimTargetFamily = family{
		name: "llm_d_epp_flow_control_reclaim_target", help: "[ALPHA] Last computed reclamation deficit, in saturation-gauge units.",
	}
	pendingReclaimFamily = family{
		name: "llm_d_epp_flow_control_pending_reclaim", help: "[ALPHA] Sum of outstanding and cooling pending-reclaim debits, in saturation-gauge units.",
	}
	confirmationFamily = family{
		name: "llm_d_epp_flow_control_revocation_confirmation_seconds", help: "[ALPHA] Time from revocation issue to confirmed stream termination.",
		bounds: confirmationBounds,
	}
	inflightRequestsFamily = family{
		name: "llm_d_epp_inflight_requests", help: "[ALPHA] Current number of in-flight requests per endpoint, as tracked by the in-flight load producer.",
	}
	inflightTokensFamily = family{
		name: "llm_d_epp_inflight_tokens", help: "[ALPHA] Current number of in-flight tokens per endpoint (uncached prompt tokens, optionally plus estimated output), as tracked by the in-flight load producer.",
	}
	requestTotalFamily = family{
		name: "llm_d_epp_request_total", help: "[ALPHA] Total number of processed requests.",
		oldName: "inference_objective_request_total", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_total] Counter of inference objective requests broken out for each model and target model.",
	}
	requestErrorsFamily = family{
		name: "llm_d_epp_request_error_total", help: "[ALPHA] Total number of request errors.",
		oldName: "inference_objective_request_error_total", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_error_total] Counter of inference objective requests errors broken out for each model and target model.",
	}
	requestDurationFamily = family{
		name: "llm_d_epp_request_duration_seconds", help: "[ALPHA] End-to-end request latency distribution in seconds.",
		oldName: "inference_objective_request_duration_seconds", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_duration_seconds] Inference objective response latency distribution in seconds for each model and target model.",
		bounds: requestDurationBounds,
	}
	requestSizeFamily = family{
		name: "llm_d_epp_request_size_bytes", help: "[ALPHA] Incoming request body size distribution in bytes.",
		oldName: "inference_objective_request_sizes", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_size_bytes] Inference objective requests size distribution in bytes for each model and target model.",
		bounds: requestSizeBounds,
	}
	inputTokensFamily = family{
		name: "llm_d_epp_request_input_tokens", help: "[ALPHA] Input token count distribution per request.",
		oldName: "inference_objective_input_tokens", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_input_tokens] Inference objective input token count distribution for requests in each model.",
		bounds: inputTokensBounds,
	}
	outputTokensFamily = family{
		name: "llm_d_epp_request_output_tokens", help: "[ALPHA] Output token count distribution per request.",
		oldName: "inference_objective_output_tokens", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_output_tokens] Inference objective output token count distribution for requests in each model.",
		bounds: outputTokensBounds,
	}
	cachedTokensFamily = family{
		name: "llm_d_epp_request_cached_tokens", help: "[ALPHA] Distribution of prompt tokens read from cache per request, as reported by the model server in the response.",
		oldName: "inference_objective_prompt_cached_tokens", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_cached_tokens] Inference objective prompt cached token count distribution for requests in each model.",
		bounds: inputTokensBounds,
	}
	runningFamily = family{
		name: "llm_d_epp_request_running", help: "[ALPHA] Current number of active running requests.",
		oldName: "inference_objective_running_requests", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_running] Inference objective number of running requests in each model.",
	}
	ntpotFamily = family{
		name: "llm_d_epp_request_ntpot_seconds", help: "[ALPHA] Normalized time per output token in seconds (end-to-end latency divided by output token count).",
		oldName: "inference_objective_normalized_time_per_output_token_seconds", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_request_ntpot_seconds] Inference objective latency divided by number of output tokens in seconds for each model and target model.",
		bounds: ntpotBounds,
	}
	ttftFamily = family{
		name: "llm_d_epp_request_ttft_seconds", help: "[ALPHA] Time to first token in seconds, measured from request received to first response byte. For non-streaming requests, this equals total request duration.",
		bounds: ttftBounds,
	}
	tpotFamily = family{
		name: "llm_d_epp_request_streaming_tpot_seconds", help: "[ALPHA] Average time per output token in seconds for streaming requests, computed as (e2e - TTFT) / (output_tokens - 1).",
		bounds: tpotBounds,
	}
	itlFamily = family{
		name: "llm_d_epp_request_streaming_itl_seconds", help: "[ALPHA] Inter-token latency in seconds for streaming requests, measured as the time between consecutive response body chunks.",
		bounds: itlBounds,
	}
	requestProcessingFamily = family{
		name: "llm_d_epp_request_processing_duration_seconds", help: "[ALPHA] EPP request processing latency distribution in seconds, from request receipt until the request body has been handled, including admission control.",
		bounds: requestProcessingBounds,
	}
	responseProcessingFamily = family{
		name: "llm_d_epp_response_processing_duration_seconds", help: "[ALPHA] EPP response processing latency distribution in seconds: the sum of per-chunk handler time for a streamed response, or the interval from response headers to completion for a non-streaming response.",
		bounds: responseProcessingBounds,
	}
	attemptsFamily = family{
		name: "llm_d_epp_scheduler_attempts_total", help: "[ALPHA] Total number of scheduling attempts.",
		oldName: "inference_extension_scheduler_attempts_total", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_scheduler_attempts_total] Total number of scheduling attempts.",
	}
	schedulerDurationFamily = family{
		name: "llm_d_epp_scheduler_e2e_duration_seconds", help: "[ALPHA] End-to-end scheduling latency distribution in seconds.",
		oldName: "inference_extension_scheduler_e2e_duration_seconds", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_scheduler_e2e_duration_seconds] End-to-end scheduling latency distribution in seconds.",
		bounds: enqueueDurationBounds,
	}
	infoFamily = family{
		name: "llm_d_epp_info", help: "[ALPHA] General information of the current build of Inference Extension.",
		oldName: "inference_extension_info", oldHelp: "[ALPHA] General information of the current build of Inference Extension.",
	}
	readyEndpointsFamily = family{
		name: "llm_d_epp_ready_endpoints", help: "[ALPHA] The number of ready endpoints in the inference server pool.",
		oldName: "inference_pool_ready_pods", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_ready_endpoints] The number of ready pods in the inference server pool.",
	}
	averageQueueFamily = family{
		name: "llm_d_epp_average_queue_size", help: "[ALPHA] The average number of requests pending in the model server queue.",
		oldName: "inference_pool_average_queue_size", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_average_queue_size] The average number of requests pending in the model server queue.",
	}
	averageRunningFamily = family{
		name: "llm_d_epp_average_running_requests", help: "[ALPHA] The average number of running requests across model servers in the pool.",
		oldName: "inference_pool_average_running_requests", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_average_running_requests] The average number of running requests across model servers in the pool.",
	}
	averageKVFamily = family{
		name: "llm_d_epp_average_kv_cache_utilization", help: "[ALPHA] The average kv cache utilization for an inference server pool.",
		oldName: "inference_pool_average_kv_cache_utilization", oldHelp: "[ALPHA] [Deprecated: Use llm_d_epp_average_kv_cache_utilization] The average kv cache utilization for an inference server pool.",
	}
	deviationQueueFamily = family{
		name: "llm_d_epp_std_dev_queue_size", help: "[ALPHA] The standard deviation number of requests pending in the model server queue.",
	}
	deviationRunningFamily = family{
		name: "llm_d_epp_std_dev_running_requests", help: "[ALPHA] The standard deviation number of running requests across model servers in the pool.",
	}
	deviationKVFamily = family{
		name: "llm_d_epp_std_dev_kv_cache_utilization", help: "[ALPHA] The standard deviation kv cache utilization for an inference server pool.",
	}
	endpointQueueFamily = family{
		name: "llm_d_epp_per_endpoint_queue_size", help: "[ALPHA] The total number of requests pending in the model server queue for each underlying endpoint.",
		oldName: "inference_pool_per_pod_queue_size", oldHelp: "[ALPHA] The total number of requests pending in the model server queue for each underlying pod.",
	}
)
