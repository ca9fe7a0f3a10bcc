package kube

import (
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bgbench/pkg/deploy"
)

func kserveCell(t *testing.T, arm string, sets ...string) Cell {
	t.Helper()
	cell, err := cellOf(t, arm, Options{
		Mode: ModeGPU, Pool: PoolKServe, GPUs: -1, Namespace: "ns", Revision: "0123456789abcdef0123456789abcdef01234567",
	}, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

func TestAPoolOfKServesIsAMatterOfAParameter(t *testing.T) {
	golden(t, "kserve", render(t, kserveCell(t, "s4-flow-control-aimd", "engine.tensorParallelSize=2", "engine.replicas=2")))
}

func TestAClusterWithoutKServeIsRefusedBeforeAnythingIsMade(t *testing.T) {
	cell := kserveCell(t, "s1-no-gateway")
	c, server := clusterWith(t, []schema.GroupVersionKind{kindPool, kindObjective})
	_, err := c.Up(t.Context(), cell, io.Discard)
	if want := "found no serving.kserve.io/v1alpha1 LLMInferenceService on the cluster, expected its CustomResourceDefinition"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if len(server.refused) > 0 {
		t.Errorf("found %v, expected that nothing is made", server.refused)
	}
	c, _ = clusterWith(t, []schema.GroupVersionKind{kindPool, kindObjective, kindLLMInferenceService})
	if err := c.checkKinds(cell); err != nil {
		t.Error(err)
	}
}

// kservePool is a pool of two as KServe says it is, with its pods.
func kservePool(status map[string]any, ready ...bool) []*unstructured.Unstructured {
	pool := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(2)}, "status": status}}
	pool.SetGroupVersionKind(kindLLMInferenceService)
	pool.SetNamespace("ns")
	pool.SetName(engineName)
	pool.SetGeneration(2)
	objects := []*unstructured.Unstructured{pool}
	for i, is := range ready {
		pod := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"phase": "Pending", "conditions": []any{map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[is]}},
		}}}
		pod.SetGroupVersionKind(kindPod)
		pod.SetNamespace("ns")
		pod.SetName(engineName + "-kserve-" + string(rune('a'+i)))
		pod.SetLabels(map[string]string{labelComponent: engineName})
		objects = append(objects, pod)
	}
	return objects
}

// kserveSays is the status of a pool with a condition Ready.
func kserveSays(observed int64, ready, reason, message string) map[string]any {
	return map[string]any{"observedGeneration": observed, "conditions": []any{
		map[string]any{"type": "WorkloadsReady", "status": "True"},
		map[string]any{"type": "Ready", "status": ready, "reason": reason, "message": message},
	}}
}

func TestAPoolOfKServesIsWaitedForWithItsReason(t *testing.T) {
	for name, tt := range map[string]struct {
		status map[string]any
		pods   []bool
		want   string // state, none when it is ready
		stays  string // of status
	}{
		"nobody takes it": {nil, nil,
			"not ready: no controller of KServe has taken it yet, 0 of 2 pods ready", "not ready: no controller of KServe has taken it yet"},
		"its presets are not there": {kserveSays(2, "False", "ConfigNotFound", "no kserve-config-llm-template"), nil,
			"not ready: ConfigNotFound: no kserve-config-llm-template, 0 of 2 pods ready", "not ready: ConfigNotFound: no kserve-config-llm-template"},
		"the condition is that of another generation": {kserveSays(1, "True", "", ""), []bool{true, true},
			"not ready: KServe has not seen its last change yet, 2 of 2 pods ready", "not ready: KServe has not seen its last change yet"},
		"available before its last pod": {kserveSays(2, "True", "", ""), []bool{true, false},
			"ready, 1 of 2 pods ready, vllm-kserve-b: Pending", "ready"},
		"all of it": {kserveSays(2, "True", "", ""), []bool{true, true}, "", "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := kservePool(tt.status, tt.pods...)
			c, _ := clusterWith(t, []schema.GroupVersionKind{kindLLMInferenceService}, objects...)
			state, err := c.lookAtLLMInferenceService(t.Context(), "model servers", objects[0])
			want := ""
			if tt.want != "" {
				want = "LLMInferenceService ns/vllm: " + tt.want
			}
			if state != want || (err == nil) != (tt.want == "") || err != nil && err != errNotYet {
				t.Errorf("got %q and %v, want %q", state, err, want)
			}
			list, err := c.Status(t.Context(), deploy.Kube{Namespace: "ns", Pool: PoolKServe})
			if err != nil {
				t.Fatal(err)
			}
			if len(list) != 1+len(tt.pods) || list[0].Name != "LLMInferenceService vllm" || list[0].State != tt.stays || list[0].Ready != (tt.stays == "ready") {
				t.Errorf("status: got %+v, want first %s", list, tt.stays)
			}
		})
	}
}

func TestAPoolOfKServesThatIsStuckSaysWhichPod(t *testing.T) {
	objects := kservePool(kserveSays(2, "False", "MinimumReplicasUnavailable", ""), false)
	pod := objects[1]
	err := unstructured.SetNestedSlice(pod.Object, []any{map[string]any{
		"name": kserveContainer, "state": map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff", "message": "no such image"}},
	}}, "status", "containerStatuses")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := clusterWith(t, []schema.GroupVersionKind{kindLLMInferenceService}, objects...)
	_, err = c.lookAtLLMInferenceService(t.Context(), "model servers", objects[0])
	if want := "model servers: pod vllm-kserve-a, container main: ImagePullBackOff: no such image"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAPresetThatReachesTheCommandOfAModelServerIsAMismatch(t *testing.T) {
	cell := kserveCell(t, "s1-no-gateway", "engine.replicas=1")
	for name, tt := range map[string]struct {
		more []string
		ok   bool
	}{
		"as it was written":       {nil, true},
		"with a flag of KServe's": {[]string{"--enable-ssl-refresh"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := cell.modelServer()
			server.Args = append(server.Args, tt.more...)
			pod := podWith("vllm-kserve-a", corev1.ContainerStatus{})
			pod.Spec.Containers = append(pod.Spec.Containers, server)
			f := findings{effective: map[string]string{}}
			f.commands(cell, []corev1.Pod{pod})
			if len(f.checks) != 1 || f.checks[0].OK != tt.ok {
				t.Errorf("got %+v", f.checks)
			}
			if live := f.effective["model-servers"]; !strings.HasPrefix(live, "vllm serve Qwen/Qwen3-8B ") || !strings.Contains(live, "--revision="+cell.Revision) {
				t.Errorf("found command %s", live)
			}
		})
	}
}
