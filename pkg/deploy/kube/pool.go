package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// Pool is what an endpoint picker reads of the cluster.
type Pool struct {
	Servers    map[string]string // base URLs by pod
	Objectives map[string]int    // priorities
}

// Pool reads an InferencePool, the ready pods that it selects and the objectives that
// name it. false is a pool that is not there.
func (c *Cluster) Pool(ctx context.Context, namespace, name string) (Pool, bool, error) {
	p := Pool{Servers: map[string]string{}, Objectives: map[string]int{}}
	pool, err := c.get(ctx, kindPool, namespace, name)
	if err != nil || pool == nil {
		return p, false, err
	}
	match, _, err := unstructured.NestedStringMap(pool.Object, "spec", "selector", "matchLabels")
	if err != nil || len(match) == 0 {
		return p, false, fmt.Errorf("%s: found no selector", title(pool))
	}
	ports, _, err := unstructured.NestedSlice(pool.Object, "spec", "targetPorts")
	if err != nil || len(ports) == 0 {
		return p, false, fmt.Errorf("%s: found no target port", title(pool))
	}
	port, _ := ports[0].(map[string]any)
	pods, err := c.pods(ctx, namespace, labels.FormatLabels(match))
	if err != nil {
		return p, false, err
	}
	for _, pod := range pods {
		if ready(pod) {
			p.Servers[pod.Name] = fmt.Sprintf("http://%s:%v", pod.Status.PodIP, port["number"])
		}
	}
	objectives, err := c.list(ctx, kindObjective, namespace, "")
	if err != nil {
		return p, false, err
	}
	for _, o := range objectives {
		of, _, _ := unstructured.NestedString(o.Object, "spec", "poolRef", "name")
		group, _, _ := unstructured.NestedString(o.Object, "spec", "poolRef", "group")
		if of == name && (group == "" || group == poolGroup) {
			priority, _, _ := unstructured.NestedInt64(o.Object, "spec", "priority")
			p.Objectives[o.GetName()] = int(priority)
		}
	}
	return p, true, nil
}
