package kube

import "bgbench/pkg/spec"

// gatewayChart is the batch gateway. Every key of the arm is written out, numWorkers
// above all: the default has been 20, 5 and 1, and the number decides whether jobs run
// one after the other.
func (c Cell) gatewayChart() Chart {
	g := c.Plan.Arm.Gateway
	config := map[string]any{
		"numWorkers":   g.NumWorkers,
		"pollInterval": g.PollInterval.String(),
		"taskWaitTime": g.TaskWaitTime.String(),
		// The chart bounds workers by the disk that their input files may take: 10 % of
		// 10 GiB are room for five.
		"inputFileDiskBudgetPercent": 100,
		"concurrency": map[string]any{
			"global":      g.Concurrency.Global,
			"perEndpoint": g.Concurrency.PerEndpoint,
			"aimd": map[string]any{
				"enabled":          g.Concurrency.AIMD.Enabled,
				"min":              g.Concurrency.AIMD.Min,
				"backoffFactor":    g.Concurrency.AIMD.BackoffFactor,
				"additiveIncrease": g.Concurrency.AIMD.AdditiveIncrease,
			},
		},
	}
	gateway := map[string]any{
		"url":            c.inferenceURL(),
		"requestTimeout": g.RequestTimeout.String(),
		"maxRetries":     g.MaxRetries,
		"initialBackoff": g.InitialBackoff.String(),
		"maxBackoff":     g.MaxBackoff.String(),
	}
	if g.InferenceObjective != "" {
		gateway["inferenceObjective"] = g.InferenceObjective
	}
	switch {
	case c.hasAsync():
		config["dispatchMode"] = "async"
		queue := map[string]any{
			"inferencePoolName": routerRelease,
			"requestQueueName":  requestQueue,
			"resultQueueName":   resultQueue,
		}
		if g.InferenceObjective != "" {
			queue["inferenceObjective"] = g.InferenceObjective
		}
		config["asyncDispatch"] = map[string]any{"models": map[string]any{c.Plan.Model: queue}}
	case g.InferenceGateway == spec.InferenceGatewayPerModel:
		config["dispatchMode"] = "sync"
		config["modelGateways"] = map[string]any{c.Plan.Model: gateway}
	default:
		config["dispatchMode"] = "sync"
		config["globalInferenceGateway"] = gateway
	}
	return Chart{
		Name: chartBatchGateway, Release: gatewayRelease, Version: c.Versions.Charts[chartBatchGateway],
		Values: map[string]any{
			"global": map[string]any{
				"secretName": secretName,
				"dbClient":   map[string]any{"type": "postgresql"},
				"fileClient": map[string]any{"type": "fs", "fs": map[string]any{"pvcName": filesVolume}},
				// A volume of its own belongs to root until a group is named.
				"podSecurityContext": map[string]any{"runAsNonRoot": true, "fsGroup": 65532},
			},
			"apiserver": map[string]any{
				"image": chartImage(c.image(imageAPIServer)),
				// An upload above 32 MiB needs a place, and the root file system is read-only.
				"volumes":        []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}},
				"volumeMounts":   []any{map[string]any{"name": "tmp", "mountPath": "/tmp"}},
				"serviceMonitor": c.monitored(map[string]any{"interval": "5s"}, "labels"),
			},
			"processor": map[string]any{
				"replicaCount": 1, // AIMD and the queue of an async dispatch are a replica's own
				"image":        chartImage(c.image(imageProcessor)),
				"config":       config,
				"podMonitor":   c.monitored(map[string]any{"interval": "5s"}, "labels"),
			},
			"gc": map[string]any{"enabled": false}, // it collects after an hour what a cell reads at its end
		},
	}
}

func chartImage(i Image) map[string]any {
	return map[string]any{"repository": i.Repository, "tag": i.Tag, "digest": i.Digest, "pullPolicy": "IfNotPresent"}
}
