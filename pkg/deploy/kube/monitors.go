package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// monitors tell a Prometheus operator of the model servers. The charts have monitors of
// their own for the other components.
func (c Cell) monitors() []runtime.Object {
	labels := map[string]any{}
	for k, v := range c.MonitorLabels {
		labels[k] = v
	}
	return []runtime.Object{&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "monitoring.coreos.com/v1",
		"kind":       "PodMonitor",
		"metadata":   map[string]any{"name": engineName, "labels": labels},
		"spec": map[string]any{
			"selector":            map[string]any{"matchLabels": map[string]any{labelComponent: engineName}},
			"podMetricsEndpoints": []any{map[string]any{"port": "modelserver", "path": "/metrics", "interval": "5s"}},
		},
	}}}
}
