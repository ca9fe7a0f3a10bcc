package standin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/spec"
)

func config(t *testing.T, text string) Gateway {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Gateway{ConfigFile: file}
}

const head = `
poll_interval: "5s"
task_wait_time: "1s"
num_workers: 3
db_client: {type: postgresql}
concurrency: {global: 60, per_endpoint: 30, aimd: {enabled: true, min: 5, backoff_factor: 0.5, additive_increase: 1}}
`

const one = `{url: "http://router:8081", inference_objective: "batch", request_timeout: "30s", max_retries: 2, initial_backoff: "1s", max_backoff: "10s"}`

func TestTheProcessorsConfigurationIsRead(t *testing.T) {
	c, target, err := config(t, head+"dispatch_mode: sync\nglobal_inference_gateway: "+one).config()
	if err != nil {
		t.Fatal(err)
	}
	if target != "http://router:8081" || c.NumWorkers != 3 || c.Concurrency.PerEndpoint != 30 || !c.Concurrency.AIMD.Enabled ||
		c.RequestTimeout.Std() != 30*time.Second || c.MaxRetries != 2 || c.InferenceObjective != "batch" || len(c.ModelGateways) != 0 {
		t.Errorf("got %s, %+v", target, c)
	}
	c, target, err = config(t, head+"dispatch_mode: sync\nmodel_gateways: {m: "+one+"}").config()
	if err != nil || target != "http://router:8081" || len(c.ModelGateways) != 1 || c.ModelGateways[0].Model != "m" {
		t.Errorf("per model: %s, %+v, %v", target, c.ModelGateways, err)
	}
	c, target, err = config(t, head+"dispatch_mode: async\nasync_dispatch: {models: {m: {inference_objective: batch}}}").config()
	if err != nil || target != "" || c.Concurrency.AIMD.Enabled || c.InferenceObjective != "batch" || len(c.ModelGateways) != 1 {
		t.Errorf("async: %s, %+v, %v", target, c, err)
	}
}

func TestAConfigurationThatTheProcessorWouldRefuseIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no gateway":        {head + "dispatch_mode: sync", "found neither global_inference_gateway nor model_gateways"},
		"no duration":       {strings.Replace(head, `"5s"`, `"5"`, 1) + "dispatch_mode: async", "poll_interval: time: missing unit"},
		"no YAML":           {"a: [", "config.yaml: "},
		"a limit too small": {strings.Replace(head, "global: 60", "global: 6", 1) + "dispatch_mode: sync\nglobal_inference_gateway: " + one, "concurrency.per_endpoint (30) must be <= concurrency.global (6)"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := config(t, tt.text).config(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTheGateOfAQueueIsRead(t *testing.T) {
	for name, tt := range map[string]struct {
		queue queueFile
		gate  string
		page  string
		err   string
	}{
		"none": {queueFile{}, spec.GateConstant, "", ""},
		"the router's queue": {queueFile{URL: "http://bgbench-epp.ns.svc:8081", GateType: "prometheus-budget", GateParams: map[string]string{"max_concurrency": "10", "baseline": "0.05", "fallback": "0"}},
			spec.GatePrometheusBudget, "http://bgbench-epp.ns.svc:9090", ""},
		"a server's page": {queueFile{GateType: "endpoint-scrape", GateParams: map[string]string{"url": "http://vllm.ns.svc:8000/metrics", "metric": "vllm:num_requests_waiting"}},
			spec.GateEndpointScrape, "http://vllm.ns.svc:8000", ""},
		"a gate that is not emulated": {queueFile{GateType: "redis-quota"}, "", "", `gate_type: found "redis-quota"`},
		"a number that is none":       {queueFile{GateType: "endpoint-scrape", GateParams: map[string]string{"baseline": "x"}}, "", "", `gate_params.baseline: found "x", expected a number`},
	} {
		t.Run(name, func(t *testing.T) {
			gate, page, err := tt.queue.gate(time.Second)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || gate.Type != tt.gate || page != tt.page {
				t.Errorf("got %s of %q, %v", gate.Type, page, err)
			}
		})
	}
}
