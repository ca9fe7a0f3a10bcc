package stack

import (
	"strings"
	"testing"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

func TestAGateReadsAMetricThatItsPageHas(t *testing.T) {
	for name, test := range map[string]struct {
		endpoint, metric string
		refused          bool
	}{
		"a gauge of a model server":           {"vllm-0", "vllm:num_requests_waiting", false},
		"a count of a model server":           {"vllm-0", "vllm:num_preemptions_total", false},
		"a name that is misspelled":           {"vllm-0", "vllm:num_requests_waitin", true},
		"a histogram has no value":            {"vllm-0", "vllm:time_to_first_token_seconds", true},
		"a gauge of the router":               {"router", "llm_d_epp_flow_control_queue_size", false},
		"its old name":                        {"router", "inference_extension_flow_control_queue_size", false},
		"a model server's metric, the router": {"router", "vllm:num_requests_waiting", true},
		"a histogram of the router":           {"router", "llm_d_epp_flow_control_request_queue_duration_seconds", true},
	} {
		t.Run(name, func(t *testing.T) {
			arm, err := spec.LoadArm("h1-unprotected", []string{"async.gate.type=endpoint-scrape", "async.gate.endpoint=" + test.endpoint, "async.gate.metric=" + test.metric})
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(kernel.NewVirtual(), Config{Arm: arm, Model: "Qwen/Qwen3-8B", MaxModelLen: 2048})
			if refused := err != nil && strings.Contains(err.Error(), "async.gate.metric: found"); refused != test.refused || err != nil && !refused {
				t.Errorf("found error %v, expected it refused: %t", err, test.refused)
			}
		})
	}
}
