package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Who makes the pods of the pool.
const (
	PoolDeployment = "deployment" // a Deployment of ours
	PoolKServe     = "kserve"     // KServe, from an LLMInferenceService
)

// kserveContainer is the container that KServe lays its presets under (KServe,
// config-llm-template.yaml).
const kserveContainer = "main"

var kindLLMInferenceService = schema.GroupVersionKind{Group: "serving.kserve.io", Version: "v1alpha1", Kind: "LLMInferenceService"}

// engineContainer is the name of the container that serves the model.
func (c Cell) engineContainer() string {
	if c.Pool == PoolKServe {
		return kserveContainer
	}
	return engineName
}

// llmInferenceService is the pool where KServe makes it. It has no router: the pool of
// the router's chart finds the pods, which carry the service's name as
// app.kubernetes.io/name (KServe, workload_single_node.go).
func (c Cell) llmInferenceService(pod corev1.PodSpec) (*unstructured.Unstructured, error) {
	main := &pod.Containers[0]
	// A preset lies under what is written here, field by field: one with TLS would have
	// its probes ask vLLM, which has none, over HTTPS. Its liveness probe ends a server
	// that is late three times; one that is measured under overload may be late.
	main.LivenessProbe = httpProbe("/health", enginePort, 10, 30)
	for _, probe := range []*corev1.Probe{main.ReadinessProbe, main.StartupProbe, main.LivenessProbe} {
		probe.HTTPGet.Scheme = corev1.URISchemeHTTP
	}
	template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod)
	if err != nil {
		return nil, fmt.Errorf("converting the pod of the pool: %w", err)
	}
	strip(template)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kindLLMInferenceService.GroupVersion().String(),
		"kind":       kindLLMInferenceService.Kind,
		"metadata":   map[string]any{"name": engineName},
		"spec": map[string]any{
			"model":    map[string]any{"uri": "hf://" + c.Plan.Model, "name": c.Plan.Model},
			"replicas": int64(c.Plan.Arm.Engine.Replicas),
			// vLLM fetches the weights itself, as in a Deployment of ours, at the commit
			// that its flags name.
			"storageInitializer": map[string]any{"enabled": false},
			"template":           template,
		},
	}}, nil
}

// lookAtLLMInferenceService is one look at a pool of KServe's. Its condition Ready
// follows a Deployment that is available, which it is before its last pod is.
func (c *Cluster) lookAtLLMInferenceService(ctx context.Context, step string, o *unstructured.Unstructured) (string, error) {
	live, err := c.get(ctx, kindLLMInferenceService, o.GetNamespace(), o.GetName())
	if err != nil {
		return "", err
	}
	if live == nil {
		return "", fmt.Errorf("%s: %s has gone", step, title(o))
	}
	want, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	pods, err := c.pods(ctx, o.GetNamespace(), labelComponent+"="+o.GetName())
	if err != nil {
		return "", err
	}
	var served int64
	waits := ""
	for _, pod := range pods {
		if container, reason := stuck(pod); reason != "" {
			return "", c.explain(ctx, step, pod, container, reason)
		}
		if ready(pod) {
			served++
		} else {
			waits = fmt.Sprintf(", %s: %s", pod.Name, waiting(pod))
		}
	}
	state := serviceState(live)
	if state == poolReady && served == want {
		return "", nil
	}
	return fmt.Sprintf("%s: %s, %d of %d pods ready%s", title(o), state, served, want, waits), errNotYet
}

// poolReady is the state of an LLMInferenceService that is ready.
const poolReady = "ready"

// serviceState says how an LLMInferenceService is, and why it is not ready.
func serviceState(live *unstructured.Unstructured) string {
	status, why, ok := condition(live, "Ready")
	observed, counts, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	switch {
	case !ok:
		return "not ready: no controller of KServe has taken it yet"
	case counts && observed < live.GetGeneration():
		return "not ready: KServe has not seen its last change yet"
	case status != "True":
		return "not ready: " + why
	}
	return poolReady
}

// condition finds a condition of an object; why is its reason with its message.
func condition(o *unstructured.Unstructured, kind string) (status, why string, ok bool) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range conditions {
		c, is := item.(map[string]any)
		if !is || c["type"] != kind {
			continue
		}
		status, _ = c["status"].(string)
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		return status, strings.Trim(reason+": "+message, ": "), true
	}
	return "", "", false
}

// poolState is how the pool that KServe makes is.
func (c *Cluster) poolState(ctx context.Context, namespace string) (string, error) {
	live, err := c.get(ctx, kindLLMInferenceService, namespace, engineName)
	if err != nil || live == nil {
		return "not there", err
	}
	return serviceState(live), nil
}
