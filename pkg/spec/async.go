package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Async is the configuration of llm-d's async processor, which dispatch async puts
// between batch gateway and inference gateway. The keys are those of its transport
// configuration and flags in camel case.
type Async struct {
	Concurrency  int      `yaml:"concurrency" json:"concurrency" unit:"requests"` // workers
	PollInterval Duration `yaml:"pollInterval" json:"pollInterval"`               // between two looks into the queue
	// BatchSize x the gate's budget, rounded down, is what one poll takes at most.
	BatchSize      int      `yaml:"batchSize" json:"batchSize" unit:"requests"`
	RequestTimeout Duration `yaml:"requestTimeout" json:"requestTimeout"` // of an attempt
	// Resume is what the experimental Rust processor does: an interrupted request goes
	// on from the tokens that it has. Without it a request starts from scratch.
	Resume bool `yaml:"resume" json:"resume"`
	Gate   Gate `yaml:"gate" json:"gate"` // decides how much a poll takes
}

// Gate is the dispatch gate of the queue.
type Gate struct {
	Type string `yaml:"type" json:"type"` // constant, prometheus-budget or endpoint-scrape
	// Baseline is the share of capacity that is never given away, Fallback the budget
	// while there is no value.
	Baseline float64  `yaml:"baseline" json:"baseline"`
	Fallback float64  `yaml:"fallback" json:"fallback"` // the budget while there is no value: 0 is closed, 1 open
	CacheTTL Duration `yaml:"cacheTTL" json:"cacheTTL"` // how long a value is used again
	// MaxConcurrency is what a ready pod holds. Of prometheus-budget, as the next one.
	MaxConcurrency int      `yaml:"maxConcurrency" json:"maxConcurrency" unit:"requests"`
	ScrapeInterval Duration `yaml:"scrapeInterval" json:"scrapeInterval"` // of the Prometheus server
	// Endpoint names the page that endpoint-scrape reads: router or one of vllm-0,
	// vllm-1, … Its Metric is a count of which a pod holds MaxCountPerPod at most; with
	// 0 it is a share already.
	Endpoint       string  `yaml:"endpoint" json:"endpoint"`
	Metric         string  `yaml:"metric" json:"metric"`                 // the name of the metric on that page
	MaxCountPerPod float64 `yaml:"maxCountPerPod" json:"maxCountPerPod"` // what a pod holds at most of what Metric counts; 0 if it is a share already
}

// Dispatch gates of the async processor.
const (
	GateConstant         = "constant"
	GatePrometheusBudget = "prometheus-budget"
	GateEndpointScrape   = "endpoint-scrape"
)

// EndpointRouter is the page of the router, EngineName that of a replica.
const EndpointRouter = "router"

// EngineName names replica i, which counts from 0.
func EngineName(i int) string { return engineNamePrefix + strconv.Itoa(i) }

const engineNamePrefix = "vllm-"

func (a Arm) asyncProblems(is *problems) {
	c := a.Async
	const path = "async"
	if a.Gateway.InferenceGateway != InferenceGatewayPerModel {
		is.addf("gateway.inferenceGateway", "found %s, expected %s where dispatch is %s: the processor finds the queue of a request by its model",
			a.Gateway.InferenceGateway, InferenceGatewayPerModel, DispatchAsync)
		is.hintLast("set gateway.inferenceGateway: %s", InferenceGatewayPerModel)
	}
	is.check(c.Concurrency >= 1, join(path, "concurrency"), "found %d, expected 1 or more workers", c.Concurrency)
	is.check(c.PollInterval > 0, join(path, "pollInterval"), "found %s, expected more than 0", c.PollInterval)
	is.check(c.BatchSize >= 1, join(path, "batchSize"), "found %d, expected 1 or more", c.BatchSize)
	is.check(c.RequestTimeout > 0, join(path, "requestTimeout"), "found %s, expected more than 0", c.RequestTimeout)
	a.gateProblems(is, join(path, "gate"))
}

func (a Arm) gateProblems(is *problems, path string) {
	g := a.Async.Gate
	is.oneOf(join(path, "type"), g.Type, GateConstant, GatePrometheusBudget, GateEndpointScrape)
	// A number out of its range is a slip of the pen whatever gate reads it.
	is.check(g.Baseline >= 0 && g.Baseline < 1, join(path, "baseline"), "found %s, expected 0 or more and below 1", decimal(g.Baseline))
	is.check(g.Fallback >= 0 && g.Fallback <= 1, join(path, "fallback"), "found %s, expected a budget from 0 (closed) to 1 (open)", decimal(g.Fallback))
	is.check(g.CacheTTL >= 0, join(path, "cacheTTL"), "found %s, expected 0 (no cache) or more", g.CacheTTL)
	is.check(g.MaxConcurrency >= 1, join(path, "maxConcurrency"), "found %d, expected 1 or more requests a pod", g.MaxConcurrency)
	is.check(g.ScrapeInterval > 0, join(path, "scrapeInterval"), "found %s, expected more than 0", g.ScrapeInterval)
	is.check(g.MaxCountPerPod >= 0, join(path, "maxCountPerPod"), "found %s, expected 0 (the metric is a share) or more", decimal(g.MaxCountPerPod))
	switch g.Type {
	case GatePrometheusBudget:
		if a.Router.Kind != RouterEPP && g.Fallback == 0 {
			is.addf(join(path, "type"), "%s reads the endpoint picker's metrics, which router.kind %s does not have: with fallback 0 the gate never opens",
				g.Type, a.Router.Kind)
			is.hintLast("set router.kind: %s, or a fallback above 0", RouterEPP)
		}
	case GateEndpointScrape:
		is.check(g.Metric != "", join(path, "metric"), "found none, expected the name of a metric such as vllm:num_requests_waiting")
		if err := a.gateEndpoint(g.Endpoint); err != nil {
			is.addf(join(path, "endpoint"), "%s", err)
		}
	}
}

// gateEndpoint says what is wrong with the page that a gate reads.
func (a Arm) gateEndpoint(name string) error {
	if name == EndpointRouter {
		if a.Router.Kind != RouterEPP {
			return fmt.Errorf("found %s, but router.kind %s has no metrics", name, a.Router.Kind)
		}
		return nil
	}
	digits, ok := strings.CutPrefix(name, engineNamePrefix)
	i, err := strconv.Atoi(digits)
	if !ok || err != nil || i < 0 || i >= a.Engine.Replicas || EngineName(i) != name {
		return fmt.Errorf("found %q, expected %s or one of %s to %s", name, EndpointRouter, EngineName(0), EngineName(max(a.Engine.Replicas-1, 0)))
	}
	return nil
}
