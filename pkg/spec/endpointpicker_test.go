package spec

import (
	"strings"
	"testing"
)

func TestEndpointPickerConfigSaysWhatTheArmSays(t *testing.T) {
	tests := []struct {
		arm  string
		sets []string
		want []string // lines that must be there, in this order
		not  []string
	}{
		{
			arm:  "s3-admission-aimd",
			want: []string{"type: concurrency-detector", "maxConcurrency: 50", "schedulingProfiles:", "pluginRef: saturation"},
			not:  []string{"featureGates", "defaultRequestTTL", "priorityBands", "maxTokenConcurrency"},
		},
		{
			arm: "s4-flow-control-aimd",
			want: []string{"- flowControl", "maxConcurrency: 1000", "type: round-robin-fairness-policy", "type: slo-deadline-ordering-policy",
				"defaultRequestTTL: 5m", "priority: 100", "priority: -1", `maxRequests: "2000"`, "orderingPolicyRef: slo-deadline-ordering-policy"},
			not: []string{"fcfs-ordering-policy\n  parameters", "enableEviction", "holdback"},
		},
		{
			arm:  "h3-holdback-evict",
			want: []string{"name: holdback", "type: priority-holdback-policy", "domain: rank", "minCeiling: 0.5", "usageLimitPolicyPluginRef: holdback", "enableEviction: true"},
		},
		{
			arm:  "e-evict-hybrid",
			want: []string{"addEstimatedOutputTokens: true", "concurrencyMode: hybrid", "maxConcurrency: 32", "maxTokenConcurrency: 204800"},
		},
		{
			arm:  "e-evict-utilization",
			want: []string{"type: utilization-detector", "queueDepthThreshold: 5", "kvCacheUtilThreshold: 0.8"},
			not:  []string{"concurrencyMode"},
		},
		{arm: "s3-admission-aimd", sets: []string{"router.config=kind: X"}, want: []string{"kind: X"}, not: []string{"plugins"}},
	}
	for _, tt := range tests {
		t.Run(tt.arm+" "+strings.Join(tt.sets, " "), func(t *testing.T) {
			arm, err := LoadArm(tt.arm, tt.sets)
			if err != nil {
				t.Fatal(err)
			}
			text, err := arm.Router.EndpointPickerConfig()
			if err != nil {
				t.Fatal(err)
			}
			rest := text
			for _, w := range tt.want {
				_, after, found := strings.Cut(rest, w)
				if !found {
					t.Errorf("%q is missing or out of order in\n%s", w, text)
					continue
				}
				rest = after
			}
			for _, n := range tt.not {
				if strings.Contains(text, n) {
					t.Errorf("%q stands in\n%s", n, text)
				}
			}
		})
	}
}
