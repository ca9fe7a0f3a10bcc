package scrape

import (
	"os"
	"strings"
	"testing"
)

func TestNamesLeadToTheCanonicalName(t *testing.T) {
	for _, c := range []struct {
		name    string
		counter bool
		want    string
	}{
		{"vllm:kv_cache_usage_perc", false, "vllm:kv_cache_usage_perc"},
		{"vllm:gpu_cache_usage_perc", false, "vllm:kv_cache_usage_perc"},
		{"vllm:gpu_prefix_cache_hits", true, "vllm:prefix_cache_hits_total"},
		{"vllm:gpu_prefix_cache_hits_total", true, "vllm:prefix_cache_hits_total"},
		{"inference_extension_flow_control_pool_saturation", false, "llm_d_epp_flow_control_pool_saturation"},
		{"inference_pool_average_queue_size", false, "llm_d_epp_average_queue_size"},
		{"inference_pool_ready_pods", false, "llm_d_epp_ready_endpoints"},
		{"inference_objective_normalized_time_per_output_token_seconds", false, "llm_d_epp_request_ntpot_seconds"},
		{"llm_d_router_epp_input_tokens", false, "llm_d_epp_request_input_tokens"}, // two renames
		{"batch_processor_aimd_decreases_total", true, "batch_processor_aimd_decreases_total"},
		{"batch_processor_aimd_concurrency_limit", false, "batch_processor_aimd_concurrency_limit"},
		{"vllm:num_requests_running", false, "vllm:num_requests_running"},
		{"vllm:num_requests_waiting", false, "vllm:num_requests_waiting"},
		{"vllm:time_per_output_token_seconds", false, "vllm:inter_token_latency_seconds"},
		{"vllm:time_to_first_token_seconds", false, "vllm:time_to_first_token_seconds"},
		{"inference_extension_flow_control_queue_size", false, "llm_d_epp_flow_control_queue_size"},
		{"llm_d_router_epp_flow_control_revocations_issued_total", true, "llm_d_epp_flow_control_revocations_issued_total"},
		{"llm_d_async_async_dispatch_budget", false, "llm_d_async_async_dispatch_budget"},
	} {
		if got := renamed.canonical(c.name, c.counter); got != c.want {
			t.Errorf("%s: found %s, expected %s", c.name, got, c.want)
		}
	}
}

// router-names.txt holds the TYPE lines of a page of llm-d router 0.10, which exposes
// old and new names side by side.
func TestOldNamesOfTheRouterLeadToNamesThatItExposesToo(t *testing.T) {
	page, err := os.ReadFile("testdata/router-names.txt")
	if err != nil {
		t.Fatal(err)
	}
	old, exposed := 0, make(map[string]bool)
	for line := range strings.Lines(string(page)) {
		exposed[strings.Fields(line)[2]] = true
	}
	for name := range exposed {
		if strings.HasPrefix(name, "llm_d_epp_") {
			continue
		}
		old++
		if to := renamed.canonical(name, false); !exposed[to] || !strings.HasPrefix(to, "llm_d_epp_") {
			t.Errorf("%s leads to %s, which is not on the page", name, to)
		}
	}
	if old != 25 {
		t.Errorf("found %d old names, expected 25", old)
	}
}

func TestNoRenameLeadsBackToItsOldName(t *testing.T) {
	for name := range renamed.exact {
		steps := 0
		for next, ok := renamed.next(name); ok; next, ok = renamed.next(next) {
			if steps++; steps > 5 {
				t.Fatalf("%s: the renames go on at %s", name, next)
			}
		}
	}
	for _, p := range renamed.prefixes {
		if next, ok := renamed.next(p[1] + "x"); ok {
			t.Errorf("%s*: leads on to %s", p[0], next)
		}
	}
}

func TestLineWithoutATabIsRefused(t *testing.T) {
	for _, tsv := range []string{"old new\n", "old*\tnew\n"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", tsv)
				}
			}()
			mustParseNames(tsv)
		}()
	}
}
