package kube

import (
	"context"

	"bgbench/pkg/deploy"
)

// PodStatus is how a pod of a cell is, or the LLMInferenceService that makes some.
type PodStatus struct {
	Name, State string
	Ready       bool
	Restarts    int
}

// Status lists the pods of a cell, and before them the LLMInferenceService of a pool of
// KServe's.
func (c *Cluster) Status(ctx context.Context, cell deploy.Kube) ([]PodStatus, error) {
	pods, err := c.pods(ctx, cell.Namespace, "!"+labelJob)
	if err != nil {
		return nil, err
	}
	var list []PodStatus
	if cell.Pool == PoolKServe {
		pool, err := c.poolState(ctx, cell.Namespace)
		if err != nil {
			return nil, err
		}
		list = append(list, PodStatus{Name: kindLLMInferenceService.Kind + " " + engineName, State: pool, Ready: pool == poolReady})
	}
	for _, pod := range pods {
		s := PodStatus{Name: pod.Name, Ready: ready(pod), State: "ready"}
		if !s.Ready {
			s.State = waiting(pod)
		}
		for _, container := range pod.Status.ContainerStatuses {
			s.Restarts += int(container.RestartCount)
		}
		list = append(list, s)
	}
	return list, nil
}
