//go:build kube

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/spec"
)

// The tests with build tag kube run against a cluster that
// pkg/deploy/kubetest/with-cluster.sh starts and whose charts and images it names in the
// environment.

// TestMain holds all objects of the cluster after the tests against those before: what
// the tests brought up has gone. Where the cluster keeps a log of requests, the rights
// that we ship are held against it.
func TestMain(m *testing.M) {
	flag.Parse()
	root, err := prepare(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	before, err := everything(context.Background(), root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	endRegistry, err := chartsFromRegistry()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	endRegistry()
	if err := errors.Join(leftNothing(root, before), usedItsRights(code == 0)); err != nil {
		fmt.Println("FAIL:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// prepare brings to the cluster what its administrator does: the kinds of the router and
// the account of bg-deploy.
func prepare(ctx context.Context) (*Cluster, error) {
	if os.Getenv("KUBECONFIG") == "" {
		return nil, errors.New("KUBECONFIG: found none: run this through pkg/deploy/kubetest/with-cluster.sh")
	}
	root, err := Connect("", "")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(os.Getenv("BG_TEST_CRDS"))
	if err != nil {
		return nil, err
	}
	if !root.serves(kindPool) {
		if err := applyAll(ctx, root, string(text)); err != nil {
			return nil, err
		}
	}
	if err := applyAll(ctx, root, RBAC); err != nil {
		return nil, err
	}
	return root, await(ctx, io.Discard, "the kinds and the account", func(ctx context.Context) (string, error) {
		root.kinds.Invalidate()
		certificates, err := root.get(ctx, kindConfigMap, "bg-deploy", "kube-root-ca.crt") // which every namespace gets
		if err != nil {
			return "", err
		}
		if root.serves(kindPool) && root.serves(kindObjective) && root.serves(kindHTTPRoute) && certificates != nil {
			return "", nil
		}
		return "", errNotYet
	})
}

// chartsFromRegistry serves the charts that BG_CHART names as folders, as upstream's are
// served, and names them there.
func chartsFromRegistry() (end func(), err error) {
	var names, folders []string
	for change := range strings.SplitSeq(os.Getenv("BG_CHART"), ",") {
		name, folder, _ := strings.Cut(change, "=")
		names, folders = append(names, name), append(folders, folder)
	}
	r, end, err := serveCharts(folders...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		c, err := loader.Load(folders[i])
		if err != nil {
			return nil, err
		}
		names[i] = name + "=" + r.Ref(c.Metadata.Name, c.Metadata.Version)
	}
	return end, os.Setenv("BG_CHART", strings.Join(names, ","))
}

func applyAll(ctx context.Context, c *Cluster, text string) error {
	objects, err := decodeObjects(text)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// leftNothing waits for the cluster to be as it was before, and says what it has more.
func leftNothing(root *Cluster, before []string) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, errors.New("it is there still"))
	defer cancel()
	err := await(ctx, io.Discard, "the end of everything that was made", func(ctx context.Context) (string, error) {
		after, err := everything(ctx, root)
		if err != nil {
			return "", err
		}
		if more := slices.DeleteFunc(after, func(s string) bool { return slices.Contains(before, s) }); len(more) > 0 {
			return strings.Join(more, ", "), errNotYet
		}
		return "", nil
	})
	if err == nil {
		fmt.Printf("objects of the cluster: %d before, none more after\n", len(before))
	}
	return err
}

// everything lists the names of all objects of a cluster but those that it keeps for
// itself: events, leases, what follows from Services and workloads.
func everything(ctx context.Context, c *Cluster) ([]string, error) {
	c.kinds.Invalidate()
	lists, err := discovery.ServerPreferredResources(c.kinds)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range l.APIResources {
			itsOwn := []string{"Event", "Lease", "EndpointSlice", "Endpoints", "ControllerRevision", "IPAddress", "ComponentStatus"}
			if !slices.Contains(r.Verbs, "list") || slices.Contains(itsOwn, r.Kind) {
				continue
			}
			items, err := c.dynamic.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", r.Name, err)
			}
			for _, o := range items.Items {
				found[title(&o)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// admin is the cluster as its administrator sees it, for what is not bg-deploy's to do.
func admin(t *testing.T) *Cluster {
	t.Helper()
	c, err := Connect("", "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// account is the cluster as the ServiceAccount of rbac.yaml sees it.
func account(t *testing.T) *Cluster {
	t.Helper()
	root := admin(t)
	config := rest.AnonymousClientConfig(root.config)
	config.BearerToken, config.QPS, config.Burst = token(t, root), root.config.QPS, root.config.Burst
	config.UserAgent = managedBy
	c, err := connect(config, root.Context)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// token is one of the account's.
func token(t *testing.T, root *Cluster) string {
	t.Helper()
	text, err := root.raw.Post().AbsPath("/api/v1/namespaces/bg-deploy/serviceaccounts/bg-deploy/token").
		SetHeader("Content-Type", "application/json").
		Body([]byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":7200}}`)).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status.Token == "" {
		t.Fatalf("a token for the account: %v: %s", err, text)
	}
	return answer.Status.Token
}

// shortProfile is a cell of some seconds.
const shortProfile = `
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

// longProfile lasts until something has happened to the stack meanwhile.
var longProfile = strings.Replace(shortProfile, "duration: 4s", "duration: 25s", 1)

// experiment is the name of the one that all cells here belong to.
const experiment = "kube"

// asked is what a test asks for beside the arm.
type asked struct {
	namespace string
	profile   string // shortProfile when empty
	images    []string
	sets      []string
	options   Options // Versions apart
}

// cellFor is a cell on the test cluster.
func cellFor(t *testing.T, arm string, a asked) Cell {
	t.Helper()
	plan, err := deploy.Plan(deploy.Request{Arm: arm, Profile: profileFile(t, a.profile), Target: spec.TargetKube, Trial: 1, Sets: a.sets})
	if err != nil {
		t.Fatal(err)
	}
	plan.Experiment = experiment
	o := a.options
	o.Registry = Registry{PlainHTTP: true}
	o.Mode, o.Namespace, o.PrometheusURL, o.VolumeSize = ModeGPU, a.namespace, os.Getenv("PROMETHEUS_URL"), "1Gi"
	images := append(strings.Split(os.Getenv("BG_IMAGE"), ","), a.images...)
	if o.Versions, err = LoadVersions("", strings.Split(os.Getenv("BG_CHART"), ","), images); err != nil {
		t.Fatal(err)
	}
	cell, err := NewCell(plan, o)
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

func profileFile(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		text = shortProfile
	}
	file := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// playing is how a test plays a cell.
type playing struct {
	profile string // shortProfile when empty
	shards  int
}

// play draws the inputs of a cell and plays it.
func play(t *testing.T, ctx context.Context, c *Cluster, cell Cell, stack deploy.Stack, p playing) (out string) {
	t.Helper()
	dir := t.TempDir()
	profile, err := spec.LoadProfile(profileFile(t, p.profile), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := (draw.Trial{Experiment: experiment, Profile: profile, Number: 1}).Write(filepath.Join(dir, "inputs")); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(dir, "cell")
	err = c.Load(ctx, LoadOptions{
		Stack: stack, Trial: 1, Inputs: filepath.Join(dir, "inputs"), Output: out, Shards: p.shards,
		Image: cell.Versions.Tools(), VolumeSize: "1Gi", Talk: talk{t},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
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
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := c.Down(ctx, namespace, "", talk{t}); err != nil {
			t.Error(err)
		}
	})
}
