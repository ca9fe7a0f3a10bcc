//go:build kube

package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// These tests run against a cluster that pkg/deploy/kubetest/with-cluster.sh starts and
// whose charts and images it names in the environment.

// profileText is a cell of some seconds.
const profileText = `
name: kube
description: some seconds, for tests on a cluster
maxModelLen: 1024
prompt:
  isl: {type: fixed, mean: 60, sd: 0, min: 1, max: 512}
  osl: {type: fixed, mean: 20, sd: 0, min: 1, max: 256}
  systemPrompts: {count: 2, tokens: 64}
interactive:
  phases: [{name: burst, rate: 4, duration: 4s}, {name: idle, rate: 1, duration: 2s}]
  cycles: 1
  warmupCycles: 0
  requestTimeout: 1m
batch:
  lead: 1s
  jobs: [{name: A, requests: 20, window: 5m}]
drain: {interactive: 20s, jobs: 1m}
`

func admin(t *testing.T) *Cluster {
	t.Helper()
	if os.Getenv("KUBECONFIG") == "" {
		t.Fatal("KUBECONFIG: found none: run this through pkg/deploy/kubetest/with-cluster.sh")
	}
	c, err := Connect("", "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// account is the cluster as the ServiceAccount of rbac.yaml sees it.
func account(t *testing.T, c *Cluster) *Cluster {
	t.Helper()
	applyAll(t, c, RBAC)
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:bg-deploy:bg-deploy"}
	limited, err := connect(config, c.Context)
	if err != nil {
		t.Fatal(err)
	}
	return limited
}

func applyAll(t *testing.T, c *Cluster, text string) {
	t.Helper()
	objects, err := decodeObjects(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := c.apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func installKinds(t *testing.T, c *Cluster) {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("BG_TEST_CRDS"))
	if err != nil {
		t.Fatal(err)
	}
	applyAll(t, c, string(text))
	err = await(t.Context(), io.Discard, "the kinds", func(context.Context) (string, error) {
		c.kinds.Invalidate()
		if c.serves(kindPool) && c.serves(kindObjective) {
			return "", nil
		}
		return "", errNotYet
	})
	if err != nil {
		t.Fatal(err)
	}
}

// request is a cell on the test cluster.
func request(t *testing.T, arm, namespace string, images []string, sets ...string) Cell {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(profile, []byte(profileText), 0o644); err != nil {
		t.Fatal(err)
	}
	plan, err := deploy.Plan(deploy.Request{Arm: arm, Profile: profile, Target: spec.TargetKube, Trial: 1, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	versions, err := LoadVersions("", strings.Split(os.Getenv("BG_CHART"), ","), append(strings.Split(os.Getenv("BG_IMAGE"), ","), images...))
	if err != nil {
		t.Fatal(err)
	}
	cell, err := NewCell(plan, Options{
		Mode: ModeGPU, GPUs: 0, Namespace: namespace, Versions: versions, PrometheusURL: os.Getenv("PROMETHEUS_URL"), VolumeSize: "1Gi",
	})
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

// talk writes to the test's log.
type talk struct{ t *testing.T }

func (w talk) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, errors.New("the test's time is up"))
	t.Cleanup(cancel)
	return ctx
}

// tearDown ends a cell, whatever the test left of it.
func tearDown(t *testing.T, c *Cluster, namespace string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := c.Down(ctx, namespace, "", talk{t}); err != nil {
			t.Error(err)
		}
	})
}

// everything lists the names of all objects of a cluster but events, leases and what
// every namespace has.
func everything(t *testing.T, c *Cluster) []string {
	t.Helper()
	_, lists, err := c.kinds.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			if !slices.Contains(r.Verbs, "list") || slices.Contains([]string{"Event", "Lease", "EndpointSlice", "Endpoints", "ControllerRevision", "IPAddress"}, r.Kind) {
				continue
			}
			items, err := c.dynamic.Resource(gv.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				continue // a kind that went away in between
			}
			for _, o := range items.Items {
				found[title(&o)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// arms are s0 and s4, or those that BG_TEST_ARMS names, or with "all" the catalogue's.
func arms(t *testing.T) []string {
	t.Helper()
	switch asked := os.Getenv("BG_TEST_ARMS"); asked {
	case "":
		return []string{"s0-interactive-only", "s4-flow-control-aimd"}
	case "all":
		entries, err := spec.Arms()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		return names
	default:
		return strings.Fields(asked)
	}
}

func TestACellComesUpIsVerifiedLoadedAndLeavesNothing(t *testing.T) {
	root := admin(t)
	installKinds(t, root)
	c := account(t, root)
	before := everything(t, root)
	for _, arm := range arms(t) {
		t.Run(arm, func(t *testing.T) {
			var sets []string
			if strings.HasPrefix(arm, "e-") {
				sets = append(sets, "async.resume=false")
			}
			cell := request(t, arm, namespaceOf("cell", arm, 1), nil, sets...)
			tearDown(t, root, cell.Namespace)
			ctx := within(t, 10*time.Minute)
			start := time.Now()
			stack, err := c.Start(ctx, cell, talk{t})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("up after %s", time.Since(start).Round(time.Second))
			out := play(t, ctx, c, cell, stack)
			checkRows(t, cell, out)
			if err := c.Down(ctx, cell.Namespace, stack.RunID, talk{t}); err != nil {
				t.Fatal(err)
			}
			t.Logf("gone after %s", time.Since(start).Round(time.Second))
		})
	}
	// The volumes of the last cell go a moment after its namespace.
	err := await(within(t, time.Minute), io.Discard, "an empty cluster", func(context.Context) (string, error) {
		if after := everything(t, root); !slices.Equal(before, after) {
			return fmt.Sprintf("before %d objects, after %v", len(before), slices.DeleteFunc(after, func(s string) bool { return slices.Contains(before, s) })), errNotYet
		}
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
}

// play draws the inputs of a cell and plays it.
func play(t *testing.T, ctx context.Context, c *Cluster, cell Cell, stack deploy.Stack) (out string) {
	t.Helper()
	dir := t.TempDir()
	profile := filepath.Join(dir, "profile.yaml")
	if err := os.WriteFile(profile, []byte(profileText), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := spec.LoadProfile(profile, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := (draw.Trial{Experiment: p.Name, Profile: p, Number: 1}).Write(filepath.Join(dir, "inputs")); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(dir, "cell")
	err = c.Load(ctx, LoadOptions{Stack: stack, Trial: 1, Inputs: filepath.Join(dir, "inputs"), Output: out, Image: cell.Versions.Tools(), Talk: talk{t}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkRows(t *testing.T, cell Cell, out string) {
	t.Helper()
	r, err := record.ReadFile[record.Request](filepath.Join(out, "requests.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ok, all := 0, 0
	for row, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Class == record.ClassInteractive {
			all++
			if row.Status == record.StatusOK {
				ok++
			}
		}
	}
	if all < 10 || ok != all {
		t.Errorf("%d of %d interactive requests are ok", ok, all)
	}
	if _, err := os.Stat(filepath.Join(out, "metrics.parquet")); err != nil {
		t.Error(err)
	}
	if cell.hasGateway() {
		jobs, err := record.ReadFile[record.Job](filepath.Join(out, "jobs.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		defer jobs.Close()
		var last record.Job
		for row, err := range jobs.All() {
			if err != nil {
				t.Fatal(err)
			}
			last = row
		}
		if last.Status != "completed" || last.Completed != 20 {
			t.Errorf("the job ended %s with %d of 20", last.Status, last.Completed)
		}
	}
}

func TestANamespaceOfSomebodyElseIsRefusedAndStays(t *testing.T) {
	c := admin(t)
	applyAll(t, c, "apiVersion: v1\nkind: Namespace\nmetadata: {name: theirs}\n")
	cell := request(t, "s0-interactive-only", "theirs", nil)
	_, err := c.Start(within(t, time.Minute), cell, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "namespace theirs: found labels") || Ours(err) {
		t.Errorf("up: %v", err)
	}
	if err := c.Down(t.Context(), "theirs", "", io.Discard); err == nil || !strings.Contains(err.Error(), "namespace theirs: found labels") {
		t.Errorf("down: %v", err)
	}
	if ns, err := c.get(t.Context(), kindNamespace, "", "theirs"); err != nil || ns == nil || ns.GetDeletionTimestamp() != nil {
		t.Errorf("the namespace is gone: %v", err)
	}
}

func TestAnInterruptedUpIsResumed(t *testing.T) {
	c := admin(t)
	cell := request(t, "s0-interactive-only", "resumed", nil)
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
	again := request(t, "s0-interactive-only", "resumed", nil)
	stack, err := c.Start(within(t, 5*time.Minute), again, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	if stack.RunID != cell.Plan.RunID {
		t.Errorf("run %s, expected that of the first up, %s", stack.RunID, cell.Plan.RunID)
	}
	other := request(t, "s1-no-gateway", "resumed", nil)
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
	c := admin(t)
	cell := request(t, "s0-interactive-only", "conflict", nil)
	tearDown(t, c, cell.Namespace)
	if _, err := c.Start(within(t, 5*time.Minute), cell, io.Discard); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": engineName, "namespace": cell.Namespace},
		"spec":     map[string]any{"replicas": int64(3)},
	}}
	client, err := c.client(kindDeployment, cell.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Apply(t.Context(), engineName, o, metav1.ApplyOptions{FieldManager: "somebody", Force: true}); err != nil {
		t.Fatal(err)
	}
	again := request(t, "s0-interactive-only", "conflict", nil)
	_, err = c.Start(within(t, time.Minute), again, io.Discard)
	var hint interface{ Hint() string }
	if err == nil || !strings.Contains(err.Error(), `conflict with "somebody"`) || !strings.Contains(err.Error(), ".spec.replicas") || !errors.As(err, &hint) {
		t.Errorf("got %v", err)
	}
}

func TestAnImageThatCannotBePulledIsNamed(t *testing.T) {
	c := admin(t)
	cell := request(t, "s0-interactive-only", "noimage", []string{"vllm=registry.invalid/none:1"})
	tearDown(t, c, cell.Namespace)
	_, err := c.Start(within(t, 3*time.Minute), cell, talk{t})
	var stuck *StuckError
	if !errors.As(err, &stuck) || !strings.Contains(err.Error(), "registry.invalid/none:1") || stuck.Container != engineName {
		t.Errorf("got %v", err)
	}
}

func TestACrashLoopIsReportedWithItsLog(t *testing.T) {
	c := admin(t)
	cell := request(t, "s0-interactive-only", "crash", nil)
	cell.Plan.Model = "nobody/knows-it"
	tearDown(t, c, cell.Namespace)
	_, err := c.Start(within(t, 3*time.Minute), cell, talk{t})
	if err == nil || !strings.Contains(err.Error(), "CrashLoopBackOff") || !strings.Contains(err.Error(), `log: bg-deploy: model: found "nobody/knows-it"`) {
		t.Errorf("got %v", err)
	}
}

func TestARightThatIsMissingIsNamed(t *testing.T) {
	root := admin(t)
	config := rest.CopyConfig(root.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody-special"}
	c, err := connect(config, root.Context)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Start(within(t, time.Minute), request(t, "s0-interactive-only", "denied", nil), io.Discard)
	var hint interface{ Hint() string }
	if err == nil || !strings.Contains(err.Error(), `User "nobody-special" cannot get resource "namespaces"`) || !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "bg-deploy rbac") {
		t.Errorf("got %v", err)
	}
}

func TestAnObjectiveThatTheArmDoesNotHaveIsAMismatch(t *testing.T) {
	c := admin(t)
	installKinds(t, c)
	cell := request(t, "h2-holdback", "mismatch", nil)
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 8*time.Minute)
	stack, err := c.Start(ctx, cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	cell.Plan.RunID = stack.RunID
	applyAll(t, c, fmt.Sprintf("apiVersion: llm-d.ai/v1alpha2\nkind: InferenceObjective\nmetadata: {name: intruder, namespace: %s}\nspec: {priority: -20, poolRef: {group: inference.networking.k8s.io, name: bgbench}}\n", cell.Namespace))
	checks, _, err := c.Verify(ctx, cell)
	if err != nil {
		t.Fatal(err)
	}
	err = Mismatch(checks)
	if err == nil || !strings.Contains(err.Error(), "objectives of the pool: found batch=-10 intruder=-20 realtime=100, expected batch=-10 realtime=100") ||
		!strings.Contains(err.Error(), "ceilings of the bands: found") {
		t.Errorf("got %v", err)
	}
}

func TestARunOutlivesAnAPIServerThatIsAwayAndRecordsAPodThatIsKilled(t *testing.T) {
	c := admin(t)
	cell := request(t, "s2-ungated", "survival", nil)
	tearDown(t, c, cell.Namespace)
	ctx := within(t, 8*time.Minute)
	stack, err := c.Start(ctx, cell, talk{t})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := c.loadPod(ctx, LoadOptions{Stack: stack, Talk: io.Discard}, "the generator", generating)
		if err != nil {
			t.Error(err)
			return
		}
		pods, err := c.pods(ctx, cell.Namespace, "app.kubernetes.io/name=redis")
		if err != nil || len(pods) != 1 {
			t.Error(err)
			return
		}
		client, err := c.client(kindPod, cell.Namespace)
		if err == nil {
			err = client.Delete(ctx, pods[0].Name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Error(err)
			return
		}
		script, state := os.Getenv("BG_CLUSTER_SH"), os.Getenv("BG_CLUSTER_STATE")
		if script == "" {
			return // a cluster of somebody else's
		}
		for _, do := range []string{"apiserver-stop", "apiserver-start"} {
			if out, err := exec.CommandContext(ctx, script, do, state).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", do, err, out)
			}
			if do == "apiserver-stop" {
				time.Sleep(10 * time.Second) // what is asked is that it be away for so long
			}
		}
	}()
	out := play(t, ctx, c, cell, stack)
	<-done
	checkRows(t, cell, out)
	text, err := os.ReadFile(filepath.Join(out, record.DisturbancesFile))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"kind":"gone","object":"pod redis-`) {
		t.Errorf("disturbances:\n%s", text)
	}
	var status cli.StatusError
	if errors.As(err, &status) {
		t.Error(status)
	}
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
