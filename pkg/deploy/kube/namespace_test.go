package kube

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func namespaceWith(labels map[string]string, status map[string]any) *unstructured.Unstructured {
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "status": status}}
	ns.SetName("ns")
	ns.SetLabels(labels)
	return ns
}

func TestANamespaceIsOursWithBothLabelsOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		labels map[string]string
		ours   bool
	}{
		"both":              {map[string]string{LabelManagedBy: managedBy, LabelRun: "r"}, true},
		"none":              {nil, false},
		"another manager":   {map[string]string{LabelManagedBy: "Helm", LabelRun: "r"}, false},
		"no run":            {map[string]string{LabelManagedBy: managedBy}, false},
		"a run of nobody's": {map[string]string{LabelRun: "r"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := owned(namespaceWith(tt.labels, nil))
			if (err == nil) != tt.ours || err != nil && !errors.Is(err, ErrNotOurs) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestANamespaceThatDoesNotGoSaysWhatItWaitsFor(t *testing.T) {
	ns := namespaceWith(nil, map[string]any{"conditions": []any{
		map[string]any{"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "message": "All resources successfully discovered"},
		map[string]any{"type": "NamespaceFinalizersRemaining", "status": "True", "message": "Some content in the namespace has finalizers remaining: x.io/hold in 1 resource instances"},
	}})
	if got := remaining(ns); !strings.HasPrefix(got, "Some content") || strings.Contains(got, "discovered") {
		t.Error(got)
	}
	if got := remaining(namespaceWith(nil, nil)); got != "its objects are being deleted" {
		t.Error(got)
	}
}

func TestPressureOfANodeIsNamed(t *testing.T) {
	node := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	ready := map[string]any{"type": "Ready", "status": "True"}
	if got := pressure(node(ready, map[string]any{"type": "MemoryPressure", "status": "False"})); got != "" {
		t.Errorf("a healthy node: %q", got)
	}
	if got := pressure(node(ready, map[string]any{"type": "MemoryPressure", "status": "True"})); got != "MemoryPressure is True " {
		t.Errorf("under pressure: %q", got)
	}
	if got := pressure(node(map[string]any{"type": "Ready", "status": "Unknown"})); got != "Ready is Unknown " {
		t.Errorf("away: %q", got)
	}
}

func TestTheLogOfTheEndpointPickerIsHeldAgainstItsConfiguration(t *testing.T) {
	const config = "featureGates: [flowControl]\nplugins:\n- {type: queue-scorer}\n- {type: concurrency-detector}\n"
	for name, tt := range map[string]struct {
		log string
		ok  bool
	}{
		"all of it":         {"start\nmsg=\"Loaded raw configuration\" config=\"{FeatureGates: flowControl, queue-scorer, concurrency-detector}\"\n", true},
		"without its gate":  {"msg=\"Loaded raw configuration\" config=\"{queue-scorer, concurrency-detector}\"\n", false},
		"the default one":   {"A configuration wasn't specified. A default one is being used.\n", false},
		"the last one wins": {"Loaded raw configuration flowControl queue-scorer concurrency-detector\nLoaded raw configuration queue-scorer\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := findings{}
			f.loaded(tt.log, config)
			if len(f.checks) != 1 || f.checks[0].OK != tt.ok {
				t.Errorf("got %+v", f.checks)
			}
		})
	}
}

func TestCeilingsAreThoseOfTheBandsThatExist(t *testing.T) {
	cell, err := cellOf(t, "h2-holdback", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		objectives map[string]int
		want       string
	}{
		"the arm's":         {map[string]int{"realtime": 100, "batch": -10}, "100:1 0:0.75 -10:0.5"},
		"and one more":      {map[string]int{"realtime": 100, "batch": -10, "intruder": -20}, "100:1 0:0.833 -10:0.667 -20:0.5"},
		"none but the zero": {nil, "0:1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ceilings(cell, tt.objectives)
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
