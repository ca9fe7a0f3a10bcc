package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/registry"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Chart is a Helm chart with the values that it gets.
type Chart struct {
	Name    string // in Versions
	Release string
	Version ChartVersion
	Values  map[string]any
	Loaded  string // version and, of a registry, digest of what was loaded
	Warning string // of values that could not be checked, once it is loaded
}

// Registry is how charts are pulled.
type Registry struct {
	PlainHTTP bool // for a registry in a test
}

// load reads the chart from its folder, archive or registry. loaded names what it found.
func (r Registry) load(ctx context.Context, v ChartVersion) (c *chart.Chart, loaded string, err error) {
	if !v.remote() {
		c, err := loader.Load(v.Ref)
		if err != nil {
			return nil, "", fmt.Errorf("reading chart %s: %w", v.Ref, err)
		}
		return c, c.Metadata.Version + " of " + v.Ref, nil
	}
	options := []registry.ClientOption{registry.ClientOptWriter(io.Discard)}
	if r.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return nil, "", fmt.Errorf("pulling chart %s: %w", v.Ref, err)
	}
	// The library knows no context: what it has begun ends by itself.
	type pulled struct {
		result *registry.PullResult
		err    error
	}
	done := make(chan pulled, 1)
	go func() {
		result, err := client.Pull(strings.TrimPrefix(v.Ref, "oci://") + ":" + v.Version)
		done <- pulled{result, err}
	}()
	select {
	case p := <-done:
		if p.err != nil {
			return nil, "", fmt.Errorf("pulling chart %s %s: %w", v.Ref, v.Version, p.err)
		}
		c, err := loader.LoadArchive(bytes.NewReader(p.result.Chart.Data))
		if err != nil {
			return nil, "", fmt.Errorf("reading chart %s %s: %w", v.Ref, v.Version, err)
		}
		return c, c.Metadata.Version + "@" + p.result.Manifest.Digest, nil
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
}

// template makes the objects of the chart, in the order in which they can be applied.
// kubeVersion is the cluster's.
func (c Chart) template(loaded *chart.Chart, namespace, kubeVersion string) ([]*unstructured.Unstructured, error) {
	fail := func(err error) ([]*unstructured.Unstructured, error) {
		return nil, fmt.Errorf("chart %s %s: %w", loaded.Name(), loaded.Metadata.Version, err)
	}
	if err := chartutil.ProcessDependencies(loaded, c.Values); err != nil {
		return fail(err)
	}
	capabilities := *chartutil.DefaultCapabilities
	if kubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(kubeVersion)
		if err != nil {
			return fail(err)
		}
		capabilities.KubeVersion = *version
	}
	if want := loaded.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return fail(fmt.Errorf("found Kubernetes %s, expected %s", capabilities.KubeVersion.String(), want))
	}
	values, err := chartutil.ToRenderValues(loaded, c.Values, chartutil.ReleaseOptions{
		Name: c.Release, Namespace: namespace, Revision: 1, IsInstall: true,
	}, &capabilities)
	if err != nil {
		return fail(err)
	}
	files, err := engine.Engine{}.Render(loaded, values)
	if err != nil {
		return fail(err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range keys(files) {
		if strings.HasSuffix(name, "NOTES.txt") || strings.HasPrefix(name[strings.LastIndexByte(name, '/')+1:], "_") {
			continue
		}
		found, err := decodeObjects(files[name])
		if err != nil {
			return fail(fmt.Errorf("%s: %w", name, err))
		}
		objects = append(objects, found...)
	}
	if objects, err = withoutTests(objects); err != nil {
		return fail(err)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a.GetKind()) - rank(b.GetKind()) })
	return objects, nil
}

// decodeObjects reads the documents of a YAML file.
func decodeObjects(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(document), &m); err != nil {
			return nil, err
		}
		if len(m) == 0 {
			continue
		}
		// JSON has one kind of number; what is applied has two.
		u := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return nil, err
		}
		if err := u.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		objects = append(objects, u)
	}
	return objects, nil
}

// withoutTests leaves the tests of a chart out and refuses its other hooks: they run
// before or after an installation, which there is none of.
func withoutTests(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var rest []*unstructured.Unstructured
	for _, o := range objects {
		switch hook := o.GetAnnotations()["helm.sh/hook"]; {
		case hook == "":
			rest = append(rest, o)
		case !strings.HasPrefix(hook, "test"):
			return nil, fmt.Errorf("%s %s: found hook %s, expected none but tests", o.GetKind(), o.GetName(), hook)
		}
	}
	if len(rest) == 0 {
		return nil, errors.New("found no objects")
	}
	return rest, nil
}

// rank orders kinds so that what others need comes first.
func rank(kind string) int {
	order := []string{"ServiceAccount", "Secret", "ConfigMap", "PersistentVolumeClaim", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service"}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}
