package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
	"bgbench/pkg/spec"
)

// Check is one thing that was read back.
type Check struct {
	Name            string
	Found, Expected string
	OK              bool
}

// findings collects checks, and the configuration as it is in force.
type findings struct {
	checks    []Check
	effective map[string]string
}

func (f *findings) equal(name, found, expected string) {
	f.checks = append(f.checks, Check{name, found, expected, found == expected})
}

func (f *findings) failed(name string, err error, expected string) {
	f.checks = append(f.checks, Check{name, err.Error(), expected, false})
}

// Verify reads back what is live and compares it with what was asked for. effective is
// the configuration that is in force, by component. An error is a cluster that could not
// be asked; a mismatch is a Check.
func (c *Cluster) Verify(ctx context.Context, cell Cell) (checks []Check, effective map[string]string, err error) {
	f := &findings{effective: map[string]string{}}
	pods, err := c.pods(ctx, cell.Namespace, "")
	if err != nil {
		return nil, nil, err
	}
	f.images(cell, pods)
	f.commands(cell, pods)
	if cell.Pool == PoolKServe {
		state, err := c.poolState(ctx, cell.Namespace)
		if err != nil {
			return nil, nil, err
		}
		f.equal(kindLLMInferenceService.Kind+" "+engineName, state, poolReady)
	}
	if cell.hasRouter() {
		if err := c.verifyRouter(ctx, cell, pods, f); err != nil {
			return nil, nil, err
		}
	}
	if cell.hasGateway() {
		if err := c.verifyProcessor(ctx, cell, f); err != nil {
			return nil, nil, err
		}
	}
	c.probeClasses(ctx, cell, pods, f)
	if cell.hasGateway() {
		c.verifyAIMD(ctx, cell, pods, f)
	}
	return f.checks, f.effective, nil
}

// images holds the pods against the pinned images.
func (f *findings) images(cell Cell, pods []corev1.Pod) {
	want := map[string]Image{cell.engineContainer(): cell.image(imageVLLM)}
	if cell.Mode == ModeSim {
		want[cell.engineContainer()] = cell.image(imageInferenceSim)
	}
	if cell.hasRouter() {
		want["epp"] = cell.image(imageEndpointPicker)
	}
	if cell.hasAsync() {
		want[asyncRelease] = cell.image(imageAsync)
	}
	seen := map[string]bool{}
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			if image, ok := want[container.Name]; ok {
				seen[container.Name] = true
				f.equal("image of "+pod.Name, container.Image, image.String())
			}
		}
	}
	for _, name := range keys(want) {
		if !seen[name] {
			f.checks = append(f.checks, Check{"container " + name, "none", want[name].String(), false})
		}
	}
	running := 0
	for _, pod := range pods {
		if strings.HasPrefix(pod.Name, engineName+"-") && ready(pod) {
			running++
		}
	}
	f.equal("model servers", fmt.Sprint(running), fmt.Sprint(cell.Plan.Arm.Engine.Replicas))
}

// commands holds what the model servers were started with against what they were to be,
// flag by flag and with the model's revision: KServe lays presets under our template, and
// webhooks may change any pod.
func (f *findings) commands(cell Cell, pods []corev1.Pod) {
	want := commandOf(cell.modelServer())
	for _, pod := range podsOf(pods, engineName) {
		for _, container := range pod.Spec.Containers {
			if container.Name == cell.engineContainer() {
				live := commandOf(container)
				f.effective["model-servers"] = live
				f.equal("command of "+pod.Name, live, want)
			}
		}
	}
}

func commandOf(c corev1.Container) string {
	return strings.Join(slices.Concat(c.Command, c.Args), " ")
}

// verifyRouter compares the endpoint picker's configuration in the ConfigMap, on the pod
// and in its log with the arm's, and the ceilings of the bands that exist with those
// that the arm means.
func (c *Cluster) verifyRouter(ctx context.Context, cell Cell, pods []corev1.Pod, f *findings) error {
	want, err := cell.Plan.Arm.Router.EndpointPickerConfig()
	if err != nil {
		return err
	}
	config, err := c.get(ctx, kindConfigMap, cell.Namespace, routerName)
	if err != nil {
		return err
	}
	live := ""
	if config != nil {
		live, _, _ = unstructured.NestedString(config.Object, "data", pluginsFile)
	}
	f.effective["endpoint-picker"] = live
	f.equal("endpoint picker: configuration", digest([]byte(strings.TrimSpace(live))), digest([]byte(strings.TrimSpace(want))))
	for _, pod := range podsOf(pods, routerName) {
		f.equal("endpoint picker: configuration that "+pod.Name+" was started with", pod.Annotations[annotationConfig], digest([]byte(want)))
		log, err := c.logs(ctx, cell.Namespace, pod.Name, "epp", 0, false)
		if err != nil {
			f.failed("endpoint picker: log", err, "the configuration that was loaded")
			continue
		}
		f.loaded(log, want)
	}
	return c.verifyObjectives(ctx, cell, f)
}

// rawConfiguration is the line in which the endpoint picker says what it has read
// (llm-d-router v0.10, config loader).
const rawConfiguration = "Loaded raw configuration"

// loaded looks in the log for the plugins and the feature gates of the configuration.
// The line's own format is not meant to be read back: what is held against it are names.
func (f *findings) loaded(log, config string) {
	const name = "endpoint picker: configuration in its log"
	line := ""
	for l := range strings.Lines(log) {
		if strings.Contains(l, rawConfiguration) {
			line = l
		}
	}
	var parsed struct {
		FeatureGates []string `yaml:"featureGates"`
		Plugins      []struct {
			Type string `yaml:"type"`
		} `yaml:"plugins"`
	}
	if err := yaml.Unmarshal([]byte(config), &parsed); err != nil {
		f.failed(name, err, "a configuration")
		return
	}
	expected := slices.Clone(parsed.FeatureGates)
	for _, p := range parsed.Plugins {
		expected = append(expected, p.Type)
	}
	var found []string
	for _, e := range expected {
		if strings.Contains(line, e) {
			found = append(found, e)
		}
	}
	f.equal(name, strings.Join(found, " "), strings.Join(expected, " "))
}

// verifyObjectives reads the InferenceObjectives and computes what the endpoint picker
// makes of them: every objective of the pool makes a band, one that is not of the arm
// moves the ceilings of all others.
func (c *Cluster) verifyObjectives(ctx context.Context, cell Cell, f *findings) error {
	items, err := c.list(ctx, kindObjective, cell.Namespace, "")
	if err != nil {
		return err
	}
	found, expected := map[string]int{}, map[string]int{}
	for _, o := range items {
		pool, _, _ := unstructured.NestedString(o.Object, "spec", "poolRef", "name")
		if pool == routerRelease {
			priority, _, _ := unstructured.NestedInt64(o.Object, "spec", "priority")
			found[o.GetName()] = int(priority)
		}
	}
	for _, o := range cell.Plan.Arm.Router.Objectives {
		expected[o.Name] = o.Priority
	}
	f.equal("objectives of the pool", priorities(found), priorities(expected))
	live, err := ceilings(cell, found)
	if err != nil {
		return err
	}
	meant, err := ceilings(cell, expected)
	if err != nil {
		return err
	}
	f.effective["ceilings"] = live
	f.equal("ceilings of the bands", live, meant)
	return nil
}

func priorities(objectives map[string]int) string {
	var texts []string
	for _, name := range keys(objectives) {
		texts = append(texts, fmt.Sprintf("%s=%d", name, objectives[name]))
	}
	return strings.Join(texts, " ")
}

// ceilings asks the model what the configuration does with the bands of objectives.
func ceilings(cell Cell, objectives map[string]int) (string, error) {
	config, err := cell.Plan.Arm.Router.EndpointPickerConfig()
	if err != nil {
		return "", err
	}
	endpoints := make([]router.Endpoint, cell.Plan.Arm.Engine.Replicas)
	for i := range endpoints {
		endpoints[i].Name = spec.EngineName(i)
	}
	r, err := router.New(kernel.NewVirtual(), router.Config{
		EndpointPicker: config,
		Flags:          router.Flags{AllowExperimentalPlugins: cell.Plan.Arm.Router.AllowExperimentalPlugins},
		Objectives:     objectives,
	}, endpoints)
	if err != nil {
		return "", fmt.Errorf("computing ceilings: %w", err)
	}
	var texts []string
	for _, b := range r.Ceilings() {
		texts = append(texts, fmt.Sprintf("%d:%.3g", b.Priority, b.Ceiling))
	}
	return strings.Join(texts, " "), nil
}

// verifyProcessor compares the processor's configuration file, key by key.
func (c *Cluster) verifyProcessor(ctx context.Context, cell Cell, f *findings) error {
	config, err := c.get(ctx, kindConfigMap, cell.Namespace, processorName+"-config")
	if err != nil {
		return err
	}
	text := ""
	if config != nil {
		text, _, _ = unstructured.NestedString(config.Object, "data", "config.yaml")
	}
	f.effective["processor"] = text
	var live map[string]any
	if err := yaml.Unmarshal([]byte(text), &live); err != nil {
		f.failed("processor: configuration", err, "YAML")
		return nil
	}
	g := cell.Plan.Arm.Gateway
	want := [][2]string{
		{"num_workers", fmt.Sprint(g.NumWorkers)},
		{"poll_interval", g.PollInterval.String()},
		{"task_wait_time", g.TaskWaitTime.String()},
		{"concurrency.global", fmt.Sprint(g.Concurrency.Global)},
		{"concurrency.per_endpoint", fmt.Sprint(g.Concurrency.PerEndpoint)},
		{"concurrency.aimd.enabled", fmt.Sprint(g.Concurrency.AIMD.Enabled)},
		{"concurrency.aimd.min", fmt.Sprint(g.Concurrency.AIMD.Min)},
		{"concurrency.aimd.backoff_factor", fmt.Sprint(g.Concurrency.AIMD.BackoffFactor)},
		{"concurrency.aimd.additive_increase", fmt.Sprint(g.Concurrency.AIMD.AdditiveIncrease)},
		{"dispatch_mode", cell.Plan.Arm.Dispatch},
	}
	if !cell.hasAsync() && g.InferenceGateway == spec.InferenceGatewayGlobal {
		want = append(want,
			[2]string{"global_inference_gateway.url", cell.inferenceURL()},
			[2]string{"global_inference_gateway.request_timeout", g.RequestTimeout.String()},
			[2]string{"global_inference_gateway.max_retries", fmt.Sprint(g.MaxRetries)})
		if g.InferenceObjective != "" {
			want = append(want, [2]string{"global_inference_gateway.inference_objective", g.InferenceObjective})
		}
	}
	for _, w := range want {
		f.equal("processor: "+w[0], valueAt(live, w[0]), w[1])
	}
	return nil
}

// valueAt is the text of the value at a dotted path, "none" where there is none.
func valueAt(m map[string]any, path string) string {
	var v any = m
	for part := range strings.SplitSeq(path, ".") {
		inner, ok := v.(map[string]any)
		if !ok || inner[part] == nil {
			return "none"
		}
		v = inner[part]
	}
	return fmt.Sprint(v)
}

// probeClasses sends one request of each class through the inference gateway and looks
// which priority the router counted it under.
func (c *Cluster) probeClasses(ctx context.Context, cell Cell, pods []corev1.Pod, f *findings) {
	classes := [][2]string{{spec.ClassInteractive, cell.Plan.Arm.Router.InteractiveObjective}}
	if cell.hasGateway() {
		classes = append(classes, [2]string{"batch", cell.Plan.Arm.Gateway.InferenceObjective})
	}
	for _, class := range classes {
		name := "probe of class " + class[0]
		objective := class[1]
		before := c.routerRequests(ctx, cell, pods)
		if err := c.probe(ctx, cell, objective); err != nil {
			f.failed(name, err, "an answer")
			continue
		}
		if !cell.hasRouter() {
			f.equal(name, "answered", "answered")
			continue
		}
		seen := "none"
		for priority, n := range c.routerRequests(ctx, cell, pods) {
			if n > before[priority] {
				seen = priority
			}
		}
		f.equal(name+": priority", seen, fmt.Sprint(cell.Plan.Arm.Router.Priority(objective)))
	}
}

// probe asks the inference gateway for one token, through the API server.
func (c *Cluster) probe(ctx context.Context, cell Cell, objective string) error {
	service, port := cell.front()
	body, err := json.Marshal(openai.ChatRequest{
		Model: cell.Plan.Model, Messages: []openai.Message{{Role: "user", Content: "probe"}}, MaxTokens: 1,
	})
	if err != nil {
		return err
	}
	request := c.raw.Post().
		AbsPath("/api/v1/namespaces", cell.Namespace, "services", fmt.Sprintf("http:%s:%d", service, port), "proxy/v1/chat/completions").
		SetHeader("Content-Type", "application/json").Body(body)
	if objective != "" {
		request = request.SetHeader(openai.HeaderObjective, objective)
	}
	_, err = request.DoRaw(ctx)
	return err
}

// routerRequests counts the router's requests by priority.
func (c *Cluster) routerRequests(ctx context.Context, cell Cell, pods []corev1.Pod) map[string]float64 {
	counts := map[string]float64{}
	for _, pod := range podsOf(pods, routerName) {
		for _, name := range []string{"llm_d_epp_request_total", "inference_objective_request_total"} {
			if found := c.metric(ctx, pod, eppMetricsPort, name, "priority"); len(found) > 0 {
				for priority, n := range found {
					counts[priority] += n
				}
				break // both names may be there, for the same requests
			}
		}
	}
	return counts
}

// verifyAIMD looks for the metrics of AIMD, which are there where it is on, and nowhere else.
func (c *Cluster) verifyAIMD(ctx context.Context, cell Cell, pods []corev1.Pod, f *findings) {
	want := cell.Plan.Arm.Gateway.Concurrency.AIMD.Enabled && !cell.hasAsync()
	for _, pod := range podsOf(pods, processorName) {
		limits := c.metric(ctx, pod, processorPort, "batch_processor_aimd_concurrency_limit", "endpoint")
		f.equal("processor: AIMD metric", fmt.Sprint(len(limits) > 0), fmt.Sprint(want))
		for _, limit := range limits {
			f.equal("processor: AIMD limit at the start", fmt.Sprint(limit), fmt.Sprint(cell.Plan.Arm.Gateway.Concurrency.PerEndpoint))
		}
	}
}

// metric reads a gauge or counter of a pod's page, summed by the value of a label.
// Nothing is found on a page that cannot be read: what looks for a value says so.
func (c *Cluster) metric(ctx context.Context, pod corev1.Pod, port int, name, label string) map[string]float64 {
	text, err := c.raw.Get().AbsPath("/api/v1/namespaces", pod.Namespace, "pods", fmt.Sprintf("%s:%d", pod.Name, port), "proxy/metrics").DoRaw(ctx)
	if err != nil {
		return nil
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.Reader(bytes.NewReader(text)))
	if err != nil || families[name] == nil {
		return nil
	}
	sums := map[string]float64{}
	for _, m := range families[name].Metric {
		value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		if math.IsNaN(value) {
			continue
		}
		key := ""
		for _, l := range m.Label {
			if l.GetName() == label {
				key = l.GetValue()
			}
		}
		sums[key] += value
	}
	return sums
}

// podsOf are the pods of a workload.
func podsOf(pods []corev1.Pod, workload string) []corev1.Pod {
	return slices.Collect(func(yield func(corev1.Pod) bool) {
		for _, pod := range pods {
			if strings.HasPrefix(pod.Name, workload+"-") && !yield(pod) {
				return
			}
		}
	})
}
