package spec

import (
	"errors"
	"strings"
	"testing"
)

func TestAsyncFaultsNameTheKeyAndWhatWasExpected(t *testing.T) {
	budget := "async.gate.type=prometheus-budget"
	scrape := "async.gate.type=endpoint-scrape"
	for name, test := range map[string]struct {
		arm  string
		set  []string
		want string // empty where nothing is wrong
	}{
		"one inference gateway for all models": {"h1-unprotected", []string{"gateway.inferenceGateway=global"},
			"gateway.inferenceGateway: found global, expected per-model where dispatch is async: the processor finds the queue of a request by its model"},
		"an unknown kind of inference gateway":      {"s2-ungated", []string{"gateway.inferenceGateway=all"}, `found "all", expected one of global, per-model`},
		"a gateway for each model in dispatch sync": {"s2-ungated", []string{"gateway.inferenceGateway=per-model"}, ""},
		"no workers":                              {"h1-unprotected", []string{"async.concurrency=0"}, "async.concurrency: found 0, expected 1 or more workers"},
		"no poll interval":                        {"h1-unprotected", []string{"async.pollInterval=0s"}, "async.pollInterval: found 0s, expected more than 0"},
		"an empty batch":                          {"h1-unprotected", []string{"async.batchSize=0"}, "async.batchSize: found 0, expected 1 or more"},
		"no request timeout":                      {"h1-unprotected", []string{"async.requestTimeout=0s"}, "async.requestTimeout: found 0s"},
		"an unknown gate":                         {"h1-unprotected", []string{"async.gate.type=redis"}, `found "redis", expected one of constant, prometheus-budget, endpoint-scrape`},
		"a pod that holds nothing":                {"h1-unprotected", []string{budget, "async.gate.maxConcurrency=0"}, "async.gate.maxConcurrency: found 0, expected 1 or more requests a pod"},
		"a baseline of everything":                {"h1-unprotected", []string{budget, "async.gate.baseline=1"}, "async.gate.baseline: found 1, expected 0 or more and below 1"},
		"a fallback above all":                    {"h1-unprotected", []string{budget, "async.gate.fallback=1.5"}, "async.gate.fallback: found 1.5, expected a budget from 0"},
		"a negative cache":                        {"h1-unprotected", []string{budget, "async.gate.cacheTTL=-1s"}, "async.gate.cacheTTL: found -1s"},
		"no scrape interval":                      {"h1-unprotected", []string{budget, "async.gate.scrapeInterval=0s"}, "async.gate.scrapeInterval: found 0s"},
		"a budget of a router without metrics":    {"h1-unprotected", []string{budget, "router.kind=round-robin"}, "async.gate.type: prometheus-budget reads the endpoint picker's metrics, which router.kind round-robin does not have"},
		"the same with a fallback that opens it":  {"h1-unprotected", []string{budget, "router.kind=round-robin", "async.gate.fallback=1"}, ""},
		"the first replica's page":                {"h1-unprotected", []string{scrape}, ""},
		"the router's page":                       {"h1-unprotected", []string{scrape, "async.gate.endpoint=router"}, ""},
		"the page of a router without one":        {"h1-unprotected", []string{scrape, "async.gate.endpoint=router", "router.kind=round-robin"}, "async.gate.endpoint: found router, but router.kind round-robin has no metrics"},
		"the page of a replica that is not there": {"h1-unprotected", []string{scrape, "async.gate.endpoint=vllm-1"}, `async.gate.endpoint: found "vllm-1", expected router or one of vllm-0 to vllm-0`},
		"a page by no name":                       {"h1-unprotected", []string{scrape, "async.gate.endpoint=vllm-00"}, `async.gate.endpoint: found "vllm-00"`},
		"no metric":                               {"h1-unprotected", []string{scrape, "async.gate.metric="}, "async.gate.metric: found none, expected the name of a metric"},
		"a negative count":                        {"h1-unprotected", []string{scrape, "async.gate.maxCountPerPod=-1"}, "async.gate.maxCountPerPod: found -1"},
		"a pod that holds nothing, under a gate that does not ask": {"h1-unprotected", []string{scrape, "async.gate.maxConcurrency=0"}, "async.gate.maxConcurrency: found 0, expected 1 or more requests a pod"},
		"no scrape interval under a gate that scrapes itself":      {"h1-unprotected", []string{scrape, "async.gate.scrapeInterval=0s"}, "async.gate.scrapeInterval: found 0s, expected more than 0"},
		"a negative count under a constant gate":                   {"h1-unprotected", []string{"async.gate.maxCountPerPod=-1"}, "async.gate.maxCountPerPod: found -1"},
		"no metric of a gate that reads none":                      {"h1-unprotected", []string{"async.gate.metric="}, ""},
		"faults of a processor that is not there":                  {"s2-ungated", []string{"async.concurrency=0"}, ""},
		"a retry that the backlog does not have":                   {"s1-no-gateway", []string{"backlog.retry=true"}, "retry"},
		"an objective that the router does not have":               {"h1-unprotected", []string{"gateway.inferenceObjective=x"}, `gateway.inferenceObjective: found "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadArm(test.arm, test.set)
			if test.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			// A key that an assignment set is named by the assignment.
			key, text, _ := strings.Cut(test.want, ": ")
			if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestAGlobalGatewayInDispatchAsyncComesWithItsRemedy(t *testing.T) {
	_, err := LoadArm("h1-unprotected", []string{"gateway.inferenceGateway=global"})
	var hinted HintedError
	if !errors.As(err, &hinted) || hinted.Hint() != "set gateway.inferenceGateway: per-model" {
		t.Errorf("got %#v", err)
	}
}
