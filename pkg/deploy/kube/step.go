package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Step is a group of objects that are applied together, after those before it.
type Step struct {
	Name    string
	Objects []*unstructured.Unstructured
	Chart   *Chart // makes Objects, where the step is a chart
}

// Steps lists what there is to be, in order. Charts are not templated yet.
func (c Cell) Steps() ([]Step, error) {
	var b builder
	b.step("namespace", c.namespace())
	if c.hasGateway() {
		b.step("secret", c.secret())
		b.step("stores", c.redis()...)
		b.step("stores", c.postgresql()...)
	}
	if c.Mode == ModeGPU && c.ModelToken != "" {
		b.step("secret of the model", c.tokenSecret(tokenPlaceholder))
	}
	b.step("volumes", c.volumes()...)
	pool, err := c.engine()
	if err != nil {
		return nil, err
	}
	b.step("model servers", pool...)
	if c.hasRouter() {
		b.step("objectives", c.objectives()...)
		if c.Router == RouterGateway {
			b.step("inference gateway", c.inferenceGateway())
		}
		b.chart(c.routerChart())
	}
	if c.hasGateway() {
		b.chart(c.gatewayChart(), nil)
	}
	if c.hasAsync() {
		b.chart(c.asyncChart(), nil)
	}
	if len(c.MonitorLabels) > 0 {
		b.step("monitors", c.monitors()...)
	}
	if b.err != nil {
		return nil, fmt.Errorf("arm %s on target kube: %w", c.Plan.Arm.Name, b.err)
	}
	for _, s := range b.steps {
		for _, o := range s.Objects {
			c.own(o)
		}
	}
	return b.steps, nil
}

// own puts the labels of the cell, and its namespace where the object has one, on o.
func (c Cell) own(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for k, v := range c.labels() {
		labels[k] = v
	}
	o.SetLabels(labels)
	if !clusterScoped[o.GetKind()] {
		o.SetNamespace(c.Namespace)
	}
}

// clusterScoped are the kinds without a namespace among those that a cell may have.
var clusterScoped = map[string]bool{"Namespace": true, "ClusterRole": true, "ClusterRoleBinding": true}

// builder collects steps and the first error.
type builder struct {
	steps []Step
	err   error
}

func (b *builder) step(name string, objects ...runtime.Object) {
	s := Step{Name: name}
	for _, o := range objects {
		u, err := toUnstructured(o)
		if err != nil {
			b.fail(err)
			return
		}
		s.Objects = append(s.Objects, u)
	}
	if n := len(b.steps); n > 0 && b.steps[n-1].Name == name {
		b.steps[n-1].Objects = append(b.steps[n-1].Objects, s.Objects...)
		return
	}
	b.steps = append(b.steps, s)
}

func (b *builder) chart(chart Chart, err error) {
	if err != nil {
		b.fail(err)
		return
	}
	// What is loaded is checked again: it may be of another version.
	if _, err := chart.checkVersion(chart.Version.Version); err != nil {
		b.fail(err)
		return
	}
	b.steps = append(b.steps, Step{Name: chart.Name + " chart", Chart: &chart})
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// toUnstructured converts a typed object to what is applied: without the fields that
// only the server sets.
func toUnstructured(o runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u, nil
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("converting a %T: %w", o, err)
	}
	u := &unstructured.Unstructured{Object: m}
	unstructured.RemoveNestedField(m, "status")
	strip(m)
	return u, nil
}

// strip removes what stands for nothing: null values and empty objects, which would
// otherwise claim their fields for us when they are applied. An emptyDir stays: there
// the empty object is the value.
func strip(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			strip(v)
			if len(v) == 0 && k != "emptyDir" {
				delete(m, k)
			}
		case []any:
			for _, item := range v {
				if item, ok := item.(map[string]any); ok {
					strip(item)
				}
			}
		}
	}
}
