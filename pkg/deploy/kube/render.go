package kube

import (
	"context"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// RenderOptions say what Render prints of the charts.
type RenderOptions struct {
	// Expand pulls the charts and prints the objects that they make, as they are applied.
	// Without it a chart is a document of kind Chart with its values.
	Expand bool
}

// Render writes everything that up would apply, in order, as YAML documents.
func (c Cell) Render(ctx context.Context, w io.Writer, o RenderOptions) error {
	steps, err := c.Steps()
	if err != nil {
		return err
	}
	if o.Expand {
		if steps, err = c.expand(ctx, steps, ""); err != nil {
			return err
		}
	}
	for _, note := range c.Notes {
		if _, err := fmt.Fprintf(w, "# Not here as in the model: %s.\n", note); err != nil {
			return err
		}
	}
	for _, warning := range warnings(steps) {
		if _, err := fmt.Fprintf(w, "# Warning: %s.\n", warning); err != nil {
			return err
		}
	}
	for _, s := range steps {
		if s.Chart != nil && !o.Expand {
			if err := document(w, s.Name, s.Chart.document(c.Namespace)); err != nil {
				return err
			}
		}
		for _, object := range s.Objects {
			if err := document(w, s.Name, object.Object); err != nil {
				return err
			}
		}
	}
	return nil
}

// warnings are those of the charts among steps.
func warnings(steps []Step) []string {
	var texts []string
	for _, s := range steps {
		if s.Chart != nil && s.Chart.Warning != "" {
			texts = append(texts, s.Chart.Warning)
		}
	}
	return texts
}

// expand makes the objects of the charts among steps.
func (c Cell) expand(ctx context.Context, steps []Step, kubeVersion string) ([]Step, error) {
	for i := range steps {
		s := &steps[i]
		if s.Chart == nil {
			continue
		}
		loaded, found, err := c.Registry.load(ctx, s.Chart.Version)
		if err != nil {
			return nil, err
		}
		s.Chart.Loaded = found
		if s.Chart.Warning, err = s.Chart.checkLoaded(loaded); err != nil {
			return nil, err
		}
		if s.Objects, err = s.Chart.template(loaded, c.Namespace, kubeVersion); err != nil {
			return nil, err
		}
		for _, o := range s.Objects {
			c.own(o)
		}
	}
	return steps, nil
}

func document(w io.Writer, step string, object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("rendering %s: %w", step, err)
	}
	_, err = fmt.Fprintf(w, "---\n# %s\n%s", step, text)
	return err
}

// document is a chart where it is printed with its values in place of its objects.
func (c Chart) document(namespace string) map[string]any {
	return map[string]any{
		"apiVersion": "bgbench.dev/v1",
		"kind":       "Chart",
		"metadata":   map[string]any{"name": c.Release, "namespace": namespace},
		"spec":       map[string]any{"chart": c.Version.Ref, "version": c.Version.Version, "values": c.Values},
	}
}
