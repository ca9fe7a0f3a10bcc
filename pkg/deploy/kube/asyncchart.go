package kube

import (
	"fmt"
	"strconv"

	"bgbench/pkg/spec"
)

// asyncChart is llm-d's async processor with one queue, through the router like every
// other request.
func (c Cell) asyncChart() Chart {
	a := c.Plan.Arm.Async
	image := c.image(imageAsync)
	queue := map[string]any{
		"queue_name":       requestQueue,
		"igw_base_url":     c.inferenceURL(),
		"request_path_url": "/v1/chat/completions",
	}
	if o := c.Plan.Arm.Gateway.InferenceObjective; o != "" {
		queue["inference_objective"] = o
	}
	if gate := c.gateParams(); gate != nil {
		queue["gate_type"], queue["gate_params"] = a.Gate.Type, gate
	}
	ap := map[string]any{
		"image":           map[string]any{"repository": image.Repository, "tag": tagOf(image)},
		"imagePullPolicy": "IfNotPresent",
		"concurrency":     a.Concurrency,
		"metrics":         map[string]any{"enabled": true, "port": asyncPort, "secure": false},
		"redis": map[string]any{
			"enabled":        true,
			"secretName":     secretName,
			"secretKey":      keyRedisURL,
			"pollIntervalMs": int(a.PollInterval.Std().Milliseconds()),
			"batchSize":      a.BatchSize,
			// The processor of the batch gateway appends itself to the name of its results.
			"resultQueueName": resultQueue,
			"queuesConfig":    []any{queue},
		},
		"messageQueueImpl": "redis-sortedset",
		"podMonitor":       c.monitored(map[string]any{"interval": "5s"}, "labels"),
	}
	if a.Gate.Type == spec.GatePrometheusBudget {
		ap["prometheusURL"] = c.PrometheusURL
		ap["prometheusCacheTTL"] = a.Gate.CacheTTL.String()
	}
	return Chart{
		Name: chartAsync, Release: asyncRelease, Version: c.Versions.Charts[chartAsync],
		Values: map[string]any{"ap": ap},
	}
}

// gateParams are the parameters of the queue's gate, all of them texts; nil for a gate
// that is always open.
func (c Cell) gateParams() map[string]any {
	g := c.Plan.Arm.Async.Gate
	decimal := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch g.Type {
	case spec.GatePrometheusBudget:
		return map[string]any{
			"pool": routerRelease, "max_concurrency": strconv.Itoa(g.MaxConcurrency),
			"baseline": decimal(g.Baseline), "fallback": decimal(g.Fallback),
		}
	case spec.GateEndpointScrape:
		url := fmt.Sprintf("http://%s:%d/metrics", c.host(engineName), enginePort)
		if g.Endpoint == spec.EndpointRouter {
			url = fmt.Sprintf("http://%s:%d/metrics", c.host(routerName), eppMetricsPort)
		}
		params := map[string]any{"url": url, "metric": g.Metric, "baseline": decimal(g.Baseline), "fallback": decimal(g.Fallback)}
		if g.MaxCountPerPod > 0 {
			params["max_count_per_pod"] = decimal(g.MaxCountPerPod)
		}
		return params
	}
	return nil
}
