//go:build kube

package kube

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"bgbench/pkg/analysis"
	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
)

func TestANamespaceOfSomebodyElseIsRefusedAndStays(t *testing.T) {
	t.Parallel()
	root, c := admin(t), account(t)
	if err := applyAll(t.Context(), root, "apiVersion: v1\nkind: Namespace\nmetadata: {name: theirs}\n"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteAsAdmin(t, root, "theirs") })
	cell := cellFor(t, "s0-interactive-only", asked{namespace: "theirs"})
	_, err := c.Start(within(t, time.Minute), cell, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "namespace theirs: found labels") || Ours(err) {
		t.Errorf("up: %v", err)
	}
	if err := c.Down(t.Context(), "theirs", "", io.Discard); err == nil || !strings.Contains(err.Error(), "namespace theirs: found labels") {
		t.Errorf("down: %v", err)
	}
	if ns, err := root.get(t.Context(), kindNamespace, "", "theirs"); err != nil || ns == nil || ns.GetDeletionTimestamp() != nil {
		t.Errorf("the namespace is gone: %v", err)
	}
}

// deleteAsAdmin ends what bg-deploy must not.
func deleteAsAdmin(t *testing.T, root *Cluster, namespace string) {
	client, err := root.client(kindNamespace, "")
	if err == nil {
		err = client.Delete(context.Background(), namespace, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedUpIsResumed(t *testing.T) {
	t.Parallel()
	c := account(t)
	cell := cellFor(t, "s0-interactive-only", asked{namespace: "resumed"})
	tearDown(t, c, cell.Namespace)
	ctx, cancel := context.WithCancel(within(t, 5*time.Minute))
	var said bytes.Buffer
	_, err := c.Start(ctx, cell, writerFunc(func(p []byte) {
		said.Write(p)
		if strings.Contains(said.String(), "model servers") {
			cancel()
		}
	}))
	if err == nil {
		t.Fatal("up went on")
	}
	again := cellFor(t, "s0-interactive-only", asked{namespace: "resumed"})
	stack, err := c.Start(within(t, 5*time.Minute), again, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	if stack.RunID != cell.Plan.RunID {
		t.Errorf("run %s, expected that of the first up, %s", stack.RunID, cell.Plan.RunID)
	}
	other := cellFor(t, "s1-no-gateway", asked{namespace: "resumed"})
	if _, err := c.Start(within(t, time.Minute), other, io.Discard); err == nil || !strings.Contains(err.Error(), "holds another stack") {
		t.Errorf("another arm in the same namespace: %v", err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func TestAConflictWithAnotherManagerIsNamed(t *testing.T) {
	t.Parallel()
	root, c := admin(t), account(t)
	cell := cellFor(t, "s0-interactive-only", asked{namespace: "conflict"})
	tearDown(t, c, cell.Namespace)
	if _, err := c.Start(within(t, 5*time.Minute), cell, io.Discard); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": engineName, "namespace": cell.Namespace},
		"spec":     map[string]any{"replicas": int64(3)},
	}}
	client, err := root.client(kindDeployment, cell.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Apply(t.Context(), engineName, o, metav1.ApplyOptions{FieldManager: "somebody", Force: true}); err != nil {
		t.Fatal(err)
	}
	again := cellFor(t, "s0-interactive-only", asked{namespace: "conflict"})
	_, err = c.Start(within(t, time.Minute), again, io.Discard)
	var hint interface{ Hint() string }
	if err == nil || !strings.Contains(err.Error(), `conflict with "somebody"`) || !strings.Contains(err.Error(), ".spec.replicas") || !errors.As(err, &hint) {
		t.Errorf("got %v", err)
	}
}

func TestACrashLoopIsReportedWithItsLog(t *testing.T) {
	t.Parallel()
	c := account(t)
	cell := cellFor(t, "s0-interactive-only", asked{namespace: "crash"})
	cell.Plan.Model = "nobody/knows-it"
	tearDown(t, c, cell.Namespace)
	_, err := c.Start(within(t, 5*time.Minute), cell, talk{t})
	if err == nil || !strings.Contains(err.Error(), "CrashLoopBackOff") || !strings.Contains(err.Error(), `log: bg-deploy: model: found "nobody/knows-it"`) {
		t.Errorf("got %v", err)
	}
}

func TestARightThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	root := admin(t)
	config := rest.CopyConfig(root.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody-special"}
	c, err := connect(config, root.Context)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Start(within(t, time.Minute), cellFor(t, "s0-interactive-only", asked{namespace: "denied"}), io.Discard)
	var hint interface{ Hint() string }
	if err == nil || !strings.Contains(err.Error(), `User "nobody-special" cannot get resource "namespaces"`) || !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "bg-deploy rbac") {
		t.Errorf("got %v", err)
	}
}

func TestWhatTheArmDoesNotSayIsAMismatch(t *testing.T) {
	t.Parallel()
	root, c := admin(t), account(t)
	cell := cellFor(t, "h2-holdback", asked{namespace: "mismatch"})
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 8*time.Minute)
	stack, err := c.Start(ctx, cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	cell.Plan.RunID = stack.RunID
	err = applyAll(ctx, root, fmt.Sprintf("apiVersion: llm-d.ai/v1alpha2\nkind: InferenceObjective\nmetadata: {name: intruder, namespace: %s}\n"+
		"spec: {priority: -20, poolRef: {group: inference.networking.k8s.io, name: bgbench}}\n", cell.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	workers := fmt.Sprintf("num_workers: %d", cell.Plan.Arm.Gateway.NumWorkers)
	edit(t, root, cell.Namespace, processorName+"-config", "config.yaml", workers, "num_workers: 99")
	edit(t, root, cell.Namespace, routerName, pluginsFile, "plugins:", "# of somebody else\nplugins:")
	checks, _, err := c.Verify(ctx, cell)
	if err != nil {
		t.Fatal(err)
	}
	err = Mismatch(checks)
	for _, want := range []string{
		"objectives of the pool: found batch=-10 intruder=-20 realtime=100, expected batch=-10 realtime=100",
		"ceilings of the bands: found", "processor: num_workers: found 99, expected", "endpoint picker: configuration: found",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}

// edit replaces a text in a key of a ConfigMap, as somebody who means well does.
func edit(t *testing.T, root *Cluster, namespace, name, key, old, replacement string) {
	t.Helper()
	config, err := root.get(t.Context(), kindConfigMap, namespace, name)
	if err != nil || config == nil {
		t.Fatalf("ConfigMap %s: %v", name, err)
	}
	text, _, _ := unstructured.NestedString(config.Object, "data", key)
	if !strings.Contains(text, old) {
		t.Fatalf("ConfigMap %s: %s: found no %s in %s", name, key, old, text)
	}
	client, err := root.client(kindConfigMap, namespace)
	if err == nil {
		err = unstructured.SetNestedField(config.Object, strings.Replace(text, old, replacement, 1), "data", key)
	}
	if err == nil {
		_, err = client.Update(t.Context(), config, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Not in parallel: others would notice an API server that is away.
func TestARunOutlivesAnAPIServerThatIsAwayAndRecordsAPodThatIsKilled(t *testing.T) {
	c := account(t)
	cell := cellFor(t, "s2-ungated", asked{namespace: "survival", profile: longProfile})
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 8*time.Minute)
	stack, err := c.Start(ctx, cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	root := admin(t)
	outside, end, err := c.Outside(ctx, stack)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	out := disturb(t, ctx, c, cell, stack, func() error {
		if err := killOne(ctx, root, cell.Namespace, labelComponent+"="+redisName); err != nil {
			return err
		}
		return withoutAPIServer(ctx, 10*time.Second)
	})
	checkInteractive(t, out)
	checkJob(t, out)
	answers(t, ctx, outside) // its tunnels were cut, too
	recorded(t, out, `"kind":"gone","object":"pod redis-`)
	invalid(t, out, "gone pod redis-")
}

// disturb plays a cell and does something to it while the generator runs.
func disturb(t *testing.T, ctx context.Context, c *Cluster, cell Cell, stack deploy.Stack, do func() error) (out string) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := c.loadPods(ctx, LoadOptions{Stack: stack, Talk: io.Discard}, "the generator", generating)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	out = play(t, ctx, c, cell, stack, playing{profile: longProfile})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return out
}

// generating reports whether the generator runs.
func generating(pod corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == generator && s.State.Running != nil {
			return true
		}
	}
	return false
}

func killOne(ctx context.Context, root *Cluster, namespace, selector string) error {
	pods, err := root.pods(ctx, namespace, selector)
	if err != nil {
		return err
	}
	client, err := root.client(kindPod, namespace)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if err := client.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// withoutAPIServer stops the API server for a while; that of somebody else's cluster it
// leaves alone.
func withoutAPIServer(ctx context.Context, d time.Duration) error {
	script, state := os.Getenv("BG_CLUSTER_SH"), os.Getenv("BG_CLUSTER_STATE")
	if script == "" {
		return nil
	}
	if out, err := exec.CommandContext(ctx, script, "apiserver-stop", state).CombinedOutput(); err != nil {
		return fmt.Errorf("stopping the API server: %w: %s", err, out)
	}
	select {
	case <-time.After(d): // what is asked is that it be away for so long
	case <-ctx.Done():
	}
	if out, err := exec.Command(script, "apiserver-start", state).CombinedOutput(); err != nil {
		return fmt.Errorf("starting the API server: %w: %s", err, out)
	}
	return nil
}

func TestAPodThatIsKilledForItsMemoryMakesTheCellInvalid(t *testing.T) {
	t.Parallel()
	c := account(t)
	cell := cellFor(t, "s1-no-gateway", asked{namespace: "memory", profile: longProfile})
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 8*time.Minute)
	if _, err := c.Start(ctx, cell, talk{t}); err != nil {
		t.Fatal(err)
	}
	root := admin(t)
	stack := boundMemory(t, ctx, root, c, cell, "96Mi")
	out := disturb(t, ctx, c, cell, stack, func() error { return fillMemory(ctx, root, cell.Namespace, 128<<20) })
	recorded(t, out, `"kind":"oom-killed","object":"pod vllm-`, "container "+engineName)
	invalid(t, out, "oom-killed pod vllm-")
}

// boundMemory gives the model servers less memory than the cell does.
func boundMemory(t *testing.T, ctx context.Context, root, c *Cluster, cell Cell, limit string) deploy.Stack {
	t.Helper()
	client, err := root.client(kindDeployment, cell.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"resources":{"requests":{"memory":%q},"limits":{"memory":%q}}}]}}}}`, engineName, limit, limit)
	o, err := client.Patch(ctx, engineName, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := root.awaitReady(ctx, io.Discard, "model servers", []*unstructured.Unstructured{o}); err != nil {
		t.Fatal(err)
	}
	stack, err := c.describe(ctx, cell, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stack
}

// fillMemory writes to the shared memory of the model servers, which counts as theirs,
// until one of them has been killed for it. The write ends with the container.
func fillMemory(ctx context.Context, root *Cluster, namespace string, size int64) error {
	pods, err := root.pods(ctx, namespace, labelComponent+"="+engineName)
	if err != nil {
		return err
	}
	read, write := io.Pipe()
	defer read.Close()
	go func() {
		w := tar.NewWriter(write)
		err := w.WriteHeader(&tar.Header{Name: "ballast", Mode: 0o644, Size: size})
		for block := make([]byte, 1<<20); err == nil && size > 0; size -= int64(len(block)) {
			_, err = w.Write(block)
		}
		write.CloseWithError(errors.Join(err, w.Close()))
	}()
	// That the command fails is what it is for.
	_ = root.run(ctx, namespace, pods[0].Name, engineName, []string{"/bg-deploy", "files", "put", "/dev/shm"}, read, nil)
	return await(ctx, io.Discard, "the end of a model server", func(ctx context.Context) (string, error) {
		pods, err := root.pods(ctx, namespace, labelComponent+"="+engineName)
		if err != nil {
			return "", err
		}
		for _, s := range pods[0].Status.ContainerStatuses {
			if s.RestartCount > 0 {
				return "", nil
			}
		}
		return "it has its memory", errNotYet
	})
}

// recorded looks for texts in the disturbances of a cell.
func recorded(t *testing.T, out string, texts ...string) {
	t.Helper()
	found, err := os.ReadFile(filepath.Join(out, record.DisturbancesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(string(found), text) {
			t.Errorf("disturbances: found %s, expected %s", found, text)
		}
	}
}

// invalid expects the cell to be so, with the evidence.
func invalid(t *testing.T, out, evidence string) {
	t.Helper()
	cell, err := analysis.ReadCell(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range cell.Checks {
		if check.Name == "stack undisturbed" {
			if check.OK || cell.Valid || !strings.Contains(check.Evidence, evidence) {
				t.Errorf("validity: found %+v, expected it not to hold because of %s", check, evidence)
			}
			return
		}
	}
	t.Errorf("validity: found no check of disturbances: %+v", cell.Checks)
}
