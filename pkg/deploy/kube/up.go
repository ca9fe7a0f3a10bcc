package kube

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
)

// Up brings the cell up and returns its descriptor when it serves. A cell that an
// earlier up of the same request left half made is completed.
func (c *Cluster) Up(ctx context.Context, cell Cell, talk io.Writer) (deploy.Stack, error) {
	runID, err := c.adopt(ctx, cell)
	if err != nil {
		return deploy.Stack{}, err
	}
	if runID != "" {
		cell.Plan.RunID = runID
		fmt.Fprintf(talk, "going on with namespace %s\n", cell.Namespace)
	}
	if err := c.checkKinds(cell); err != nil {
		return deploy.Stack{}, err
	}
	steps, err := cell.Steps()
	if err != nil {
		return deploy.Stack{}, err
	}
	if steps, err = cell.expand(ctx, steps, c.Version); err != nil {
		return deploy.Stack{}, err
	}
	for _, warning := range warnings(steps) {
		fmt.Fprintf(talk, "warning: %s\n", warning)
	}
	for _, s := range steps {
		fmt.Fprintf(talk, "%s: %s\n", cell.Namespace, s.Name)
		if err := c.applyStep(ctx, cell, s); err != nil {
			return deploy.Stack{}, err
		}
		if err := c.awaitReady(ctx, talk, s.Name, s.Objects); err != nil {
			return deploy.Stack{}, err
		}
	}
	return c.describe(ctx, cell, steps)
}

// adopt looks at the namespace of the cell. It returns the run that is to be completed,
// none where there is no namespace yet.
func (c *Cluster) adopt(ctx context.Context, cell Cell) (runID string, err error) {
	ns, err := c.get(ctx, kindNamespace, "", cell.Namespace)
	if err != nil || ns == nil {
		return "", err
	}
	if err := owned(ns); err != nil {
		return "", err
	}
	switch {
	case ns.GetDeletionTimestamp() != nil:
		return "", cli.WithHint(fmt.Errorf("namespace %s is being deleted: %w", ns.GetName(), ErrNotOurs), "wait for it: bg-deploy down --namespace %s", ns.GetName())
	case ns.GetAnnotations()[annotationRequest] != cell.request():
		return "", cli.WithHint(fmt.Errorf("namespace %s holds another stack: %w", ns.GetName(), ErrNotOurs), "end it first: bg-deploy down --namespace %s", ns.GetName())
	}
	return ns.GetLabels()[LabelRun], nil
}

// owned reports why a namespace is not one that we made.
func owned(ns *unstructured.Unstructured) error {
	labels := ns.GetLabels()
	if labels[LabelManagedBy] != managedBy || labels[LabelRun] == "" {
		return cli.WithHint(fmt.Errorf("namespace %s: found labels %s=%q and %s=%q, expected %s and a run: %w",
			ns.GetName(), LabelManagedBy, labels[LabelManagedBy], LabelRun, labels[LabelRun], managedBy, ErrNotOurs),
			"take another one: --namespace NAME")
	}
	return nil
}

// checkKinds reports a kind that the cell needs and the cluster does not have, before
// anything is made.
func (c *Cluster) checkKinds(cell Cell) error {
	type kind struct {
		kind schema.GroupVersionKind
		from string
	}
	var needs []kind
	if cell.Pool == PoolKServe {
		needs = append(needs, kind{kindLLMInferenceService, "KServe with its controller of LLMInferenceServices"})
	}
	if cell.hasRouter() {
		needs = append(needs, kind{kindPool, "v1-manifests.yaml of gateway-api-inference-extension v1.5.0"},
			kind{kindObjective, "manifests.yaml of llm-d-router " + cell.Versions.Charts[cell.routerChartName()].Version})
	}
	if cell.hasRouter() && cell.Router == RouterGateway {
		needs = append(needs, kind{kindGateway, "the standard manifests of gateway-api v1.5"}, kind{kindHTTPRoute, "the standard manifests of gateway-api v1.5"})
	}
	for _, need := range needs {
		if !c.serves(need.kind) {
			return cli.WithHint(fmt.Errorf("found no %s %s on the cluster, expected its CustomResourceDefinition", need.kind.GroupVersion(), need.kind.Kind),
				"install %s", need.from)
		}
	}
	return nil
}

func (c *Cluster) applyStep(ctx context.Context, cell Cell, s Step) error {
	for _, o := range s.Objects {
		switch {
		case o.GetKind() == "Secret" && o.GetName() == secretName:
			if err := c.applySecret(ctx, cell); err != nil {
				return err
			}
			continue
		case o.GetKind() == "Secret" && o.GetName() == tokenSecretName:
			if err := unstructured.SetNestedField(o.Object, string(cell.ModelToken), "stringData", keyToken); err != nil {
				return fmt.Errorf("secret %s/%s: %w", cell.Namespace, tokenSecretName, err)
			}
		case o.GroupVersionKind().Group == legacyObjective && !c.serves(o.GroupVersionKind()):
			continue // the endpoint picker reads the new group
		}
		if err := c.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// applySecret makes the Secret once: the database keeps the first password that it got.
func (c *Cluster) applySecret(ctx context.Context, cell Cell) error {
	old, err := c.get(ctx, kindSecret, cell.Namespace, secretName)
	if err != nil {
		return err
	}
	password := make([]byte, 18)
	if _, err := rand.Read(password); err != nil {
		return fmt.Errorf("making a password: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(password)
	if old != nil {
		kept, _, err := unstructured.NestedString(old.Object, "data", keyPassword)
		if err != nil || kept == "" {
			return fmt.Errorf("secret %s/%s: found no %s, expected the one that the database has", cell.Namespace, secretName, keyPassword)
		}
		decoded, err := base64.StdEncoding.DecodeString(kept)
		if err != nil {
			return fmt.Errorf("secret %s/%s: %s: %w", cell.Namespace, secretName, keyPassword, err)
		}
		text = string(decoded)
	}
	o, err := toUnstructured(cell.secretWith(text))
	if err != nil {
		return err
	}
	cell.own(o)
	return c.apply(ctx, o)
}

// describe makes the descriptor of a cell that serves: addresses as pods reach them.
func (c *Cluster) describe(ctx context.Context, cell Cell, steps []Step) (deploy.Stack, error) {
	s := cell.Plan
	s.InferenceURL = cell.inferenceURL()
	if cell.hasGateway() {
		s.BatchURL = fmt.Sprintf("http://%s:%d", cell.host(apiserverName), apiserverPort)
	}
	pods, err := c.pods(ctx, cell.Namespace, "")
	if err != nil {
		return s, err
	}
	s.Kube = &deploy.Kube{
		Context: c.Context, Namespace: cell.Namespace, Mode: cell.Mode, Pool: cell.Pool, Notes: slices.Concat(cell.Notes, warnings(steps)),
		References: map[string]string{}, Images: map[string]string{}, Charts: map[string]string{}, Revision: cell.revision(),
	}
	for _, m := range cell.metricsPages() {
		n := 0
		for _, pod := range pods {
			if !strings.HasPrefix(pod.Name, m.workload+"-") || !ready(pod) {
				continue
			}
			source := m.source
			if m.numbered {
				source = fmt.Sprintf("%s-%d", m.source, n)
			}
			s.Metrics = append(s.Metrics, deploy.Endpoint{Source: source, URL: fmt.Sprintf("http://%s:%d/metrics", pod.Status.PodIP, m.port)})
			n++
		}
		if n == 0 {
			return s, fmt.Errorf("namespace %s: found no ready pod of %s", cell.Namespace, m.workload)
		}
	}
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			s.Kube.References[container.Name] = container.Image
		}
		for _, container := range pod.Status.ContainerStatuses {
			s.Kube.Images[container.Name] = container.ImageID
		}
	}
	for _, step := range steps {
		if step.Chart != nil {
			s.Kube.Charts[step.Chart.Name] = step.Chart.Loaded
		}
	}
	return s, nil
}

// page is a /metrics page of each pod of a workload.
type page struct {
	source, workload string
	port             int
	numbered         bool
}

func (c Cell) metricsPages() []page {
	pages := []page{{"vllm", engineName, enginePort, true}}
	if c.hasRouter() {
		pages = append(pages, page{"router", routerName, eppMetricsPort, false})
	}
	if c.hasGateway() {
		pages = append(pages,
			page{"processor", processorName, processorPort, false},
			page{"apiserver", apiserverName, observabilityPort, false})
	}
	if c.hasAsync() {
		pages = append(pages, page{"async", asyncRelease, asyncPort, false})
	}
	return pages
}
