//go:build kube

package kube

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// gpuNode is a node with GPUs that there is only in the API server: pods are bound to it
// and nothing runs them. It is Ready as long as it lives, and says of its pods that they
// run once it is told to.
type gpuNode struct {
	root *Cluster
	name string

	mu   sync.Mutex
	runs bool // its pods
}

const gpuNodeStatus = `{"status": {
  "capacity": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"},
  "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"},
  "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a node of a test", "lastHeartbeatTime": %q}]
}}`

const podStatus = `{"status": {
  "phase": "Running", "podIP": "10.88.0.254", "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
  "containerStatuses": [{"name": %q, "image": %q, "imageID": "none", "ready": true, "started": true, "restartCount": 0, "state": {"running": {}}}]
}}`

// startGPUNode makes the node and keeps it until the test ends.
func startGPUNode(t *testing.T, root *Cluster) *gpuNode {
	t.Helper()
	n := &gpuNode{root: root, name: "gpu-1"}
	// Without the taint pods that want no GPU would be sent there, and never run.
	err := applyAll(t.Context(), root, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {gpu: h100}}\nspec:\n  taints: [{key: test-only, effect: NoSchedule}]\n", n.name))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.live(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		client, err := root.client(kindNode, "")
		if err == nil {
			err = client.Delete(context.Background(), n.name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *gpuNode) live(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := n.beat(ctx); err != nil && ctx.Err() == nil && !lost(err) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// beat is what a kubelet does every now and then.
func (n *gpuNode) beat(ctx context.Context) error {
	if err := n.say(ctx, "/api/v1/nodes/"+n.name, fmt.Sprintf(gpuNodeStatus, time.Now().UTC().Format(time.RFC3339))); err != nil {
		return err
	}
	pods, err := n.root.pods(ctx, "", "")
	if err != nil {
		return err
	}
	n.mu.Lock()
	runs := n.runs
	n.mu.Unlock()
	for _, pod := range pods {
		if pod.Spec.NodeName != n.name {
			continue
		}
		path := "/api/v1/namespaces/" + pod.Namespace + "/pods/" + pod.Name
		switch {
		case pod.DeletionTimestamp != nil:
			err = n.root.raw.Delete().AbsPath(path).Body([]byte(`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`)).Do(ctx).Error()
		case runs && !ready(pod):
			err = n.say(ctx, path, fmt.Sprintf(podStatus, pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image))
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (n *gpuNode) say(ctx context.Context, path, status string) error {
	return n.root.raw.Patch(types.StrategicMergePatchType).AbsPath(path, "status").Body([]byte(status)).Do(ctx).Error()
}

func (n *gpuNode) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runs = true
}

func TestAPoolOnGPUsWaitsForANodeIsScheduledThereAndGoesAgain(t *testing.T) {
	t.Parallel()
	root, c := admin(t), account(t)
	cell := cellFor(t, "s0-interactive-only", asked{namespace: "gpu", options: Options{
		GPUs: 4, Revision: "0123456789abcdef", NodeSelector: map[string]string{"gpu": "h100"}, Tolerations: []string{"test-only"},
		ModelToken: "hf_of_nobody", WeightsPath: "/mnt/models",
	}})
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 10*time.Minute)
	up := make(chan error, 1)
	go func() {
		_, err := c.Up(ctx, cell, talk{t})
		up <- err
	}()
	// No node has what the pod asks for, and up says so.
	server := theServer(t, ctx, c, cell, func(pod corev1.Pod) bool { return strings.Contains(waiting(pod), "Unschedulable") })
	node := startGPUNode(t, root)
	theServer(t, ctx, c, cell, func(pod corev1.Pod) bool { return pod.Name == server.Name && pod.Spec.NodeName == node.name })
	select {
	case err := <-up:
		t.Fatalf("up did not wait for the pod to be ready: %v", err)
	default:
	}
	if asks := server.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]; asks.Value() != 4 {
		t.Errorf("the pod asks for %s GPUs, expected 4", asks.String())
	}
	secret, err := c.get(ctx, kindSecret, cell.Namespace, tokenSecretName)
	if err != nil || secret == nil {
		t.Fatalf("found no secret %s: %v", tokenSecretName, err)
	}
	if kept, _, _ := unstructured.NestedString(secret.Object, "data", keyToken); kept != base64.StdEncoding.EncodeToString([]byte("hf_of_nobody")) {
		t.Errorf("the secret of the model has %q, expected the token that up was given", kept)
	}
	node.run()
	if err := <-up; err != nil {
		t.Fatal(err)
	}
	if err := c.Down(ctx, cell.Namespace, "", talk{t}); err != nil {
		t.Fatal(err)
	}
}

// theServer waits until a model server's pod is as look wants it.
func theServer(t *testing.T, ctx context.Context, c *Cluster, cell Cell, look func(corev1.Pod) bool) (found corev1.Pod) {
	t.Helper()
	err := await(ctx, io.Discard, "the pod of the model server", func(ctx context.Context) (string, error) {
		pods, err := c.pods(ctx, cell.Namespace, labelComponent+"="+engineName)
		if err != nil {
			return "", err
		}
		for _, pod := range pods {
			if found = pod; look(pod) {
				return "", nil
			}
		}
		return fmt.Sprintf("%d pods, the last: %s", len(pods), waiting(found)), errNotYet
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
