package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// objectives are the InferenceObjectives of the pool in both API groups: the endpoint
// picker reads the new one where its CRD is installed and the old one elsewhere, and
// says nothing of those in the other (llm-d-router v0.10).
func (c Cell) objectives() []runtime.Object {
	var objects []runtime.Object
	for _, group := range []string{objectiveGroup, legacyObjective} {
		for _, o := range c.Plan.Arm.Router.Objectives {
			objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": group + "/v1alpha2",
				"kind":       "InferenceObjective",
				"metadata":   map[string]any{"name": o.Name},
				"spec": map[string]any{
					"priority": int64(o.Priority),
					"poolRef":  map[string]any{"group": poolGroup, "kind": "InferencePool", "name": routerRelease},
				},
			}})
		}
	}
	return objects
}
