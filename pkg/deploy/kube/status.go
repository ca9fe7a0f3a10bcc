package kube

import "context"

// PodStatus is how a pod of a cell is.
type PodStatus struct {
	Name, State string
	Ready       bool
	Restarts    int
}

// Status lists the pods of a cell.
func (c *Cluster) Status(ctx context.Context, namespace string) ([]PodStatus, error) {
	pods, err := c.pods(ctx, namespace, "!"+labelJob)
	if err != nil {
		return nil, err
	}
	list := make([]PodStatus, len(pods))
	for i, pod := range pods {
		s := PodStatus{Name: pod.Name, Ready: ready(pod), State: "ready"}
		if !s.Ready {
			s.State = waiting(pod)
		}
		for _, container := range pod.Status.ContainerStatuses {
			s.Restarts += int(container.RestartCount)
		}
		list[i] = s
	}
	return list, nil
}
