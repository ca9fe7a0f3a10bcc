package spec

import (
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"
)

// EndpointPickerConfig is the router's configuration in the format of llm-d's
// endpoint picker v0.10, the same text for the model and for a cluster. It is Config
// where the arm brings its own.
//
// schedulingProfiles is always written out: the picker's default profile takes in
// every plugin that it finds, and with a detector among them it turns interactive
// requests away too.
func (r Router) EndpointPickerConfig() (string, error) {
	if r.Config != "" {
		return r.Config, nil
	}
	c := endpointPickerConfig{
		APIVersion: "llm-d.ai/v1alpha1",
		Kind:       "EndpointPickerConfig",
		Plugins: []plugin{
			{Type: "queue-scorer"},
			{Type: "kv-cache-utilization-scorer"},
			{Type: "max-score-picker"},
			r.producer(),
			r.detectorPlugin(),
		},
		SchedulingProfiles: []schedulingProfile{{
			Name: "default",
			Plugins: []pluginRef{
				{PluginRef: "queue-scorer", Weight: 2},
				{PluginRef: "kv-cache-utilization-scorer", Weight: 2},
				{PluginRef: "max-score-picker"},
			},
		}},
		FlowControl: flowControl{SaturationDetector: pluginRef{PluginRef: detectorName}},
	}
	if r.FlowControl {
		r.addFlowControl(&c)
	}
	text, err := yaml.MarshalWithOptions(c, yaml.Indent(2), yaml.IndentSequence(false))
	if err != nil {
		return "", fmt.Errorf("writing the endpoint picker's configuration: %w", err)
	}
	return string(text), nil
}

// Names that the configuration gives to its own plugins.
const (
	detectorName = "saturation"
	holdbackName = "holdback"
)

// producer counts what is in flight. Tokens are held to the end of a request only
// when its estimated output is counted in; without it they would measure prefill.
func (r Router) producer() plugin {
	p := plugin{Type: "inflight-load-producer"}
	if r.Detector == DetectorTokens || r.Detector == DetectorHybrid {
		p.Parameters = yaml.MapSlice{{Key: "addEstimatedOutputTokens", Value: true}, {Key: "outputRatio", Value: 1.5}}
	}
	return p
}

func (r Router) detectorPlugin() plugin {
	p := plugin{Name: detectorName, Type: "concurrency-detector"}
	if r.Detector == DetectorUtilization {
		p.Type = "utilization-detector"
		p.Parameters = yaml.MapSlice{
			{Key: "queueDepthThreshold", Value: r.QueueDepthThreshold},
			{Key: "kvCacheUtilThreshold", Value: r.KVCacheUtilThreshold},
		}
		return p
	}
	p.Parameters = yaml.MapSlice{{Key: "concurrencyMode", Value: r.Detector}}
	if r.Detector != DetectorTokens {
		p.Parameters = append(p.Parameters, yaml.MapItem{Key: "maxConcurrency", Value: r.MaxConcurrency})
	}
	if r.Detector != DetectorRequests {
		p.Parameters = append(p.Parameters, yaml.MapItem{Key: "maxTokenConcurrency", Value: r.MaxTokenConcurrency})
	}
	return p
}

func (r Router) addFlowControl(c *endpointPickerConfig) {
	c.FeatureGates = []string{"flowControl"}
	f := &c.FlowControl
	f.DefaultRequestTTL = r.DefaultRequestTTL.String()
	f.EnableEviction = r.Eviction
	listed := map[string]bool{ // the picker registers these by itself
		"global-strict-fairness-policy": true, "fcfs-ordering-policy": true,
	}
	list := func(name string) string {
		if !listed[name] {
			c.Plugins = append(c.Plugins, plugin{Type: name})
		}
		listed[name] = true
		return name
	}
	for _, b := range r.Bands {
		band := priorityBand{
			Priority:          b.Priority,
			FairnessPolicyRef: list(b.Fairness + "-fairness-policy"),
			OrderingPolicyRef: list(b.Ordering + "-ordering-policy"),
		}
		if b.MaxRequests > 0 {
			band.MaxRequests = strconv.Itoa(b.MaxRequests)
		}
		f.PriorityBands = append(f.PriorityBands, band)
	}
	if h := r.Holdback; h.Active() {
		c.Plugins = append(c.Plugins, plugin{
			Name: holdbackName, Type: "priority-holdback-policy",
			Parameters: yaml.MapSlice{
				{Key: "domain", Value: h.Domain}, {Key: "minCeiling", Value: h.MinCeiling}, {Key: "maxCeiling", Value: h.MaxCeiling},
			},
		})
		f.UsageLimitPolicyPluginRef = holdbackName
	}
}

// endpointPickerConfig has the keys that we write, in the order in which they read best.
type endpointPickerConfig struct {
	APIVersion         string              `yaml:"apiVersion"`
	Kind               string              `yaml:"kind"`
	FeatureGates       []string            `yaml:"featureGates,omitempty"`
	Plugins            []plugin            `yaml:"plugins"`
	SchedulingProfiles []schedulingProfile `yaml:"schedulingProfiles"`
	FlowControl        flowControl         `yaml:"flowControl"`
}

type plugin struct {
	Name       string        `yaml:"name,omitempty"`
	Type       string        `yaml:"type"`
	Parameters yaml.MapSlice `yaml:"parameters,omitempty"`
}

type schedulingProfile struct {
	Name    string      `yaml:"name"`
	Plugins []pluginRef `yaml:"plugins"`
}

type pluginRef struct {
	PluginRef string `yaml:"pluginRef"`
	Weight    int    `yaml:"weight,omitempty"`
}

type flowControl struct {
	DefaultRequestTTL         string         `yaml:"defaultRequestTTL,omitempty"`
	SaturationDetector        pluginRef      `yaml:"saturationDetector"`
	PriorityBands             []priorityBand `yaml:"priorityBands,omitempty"`
	UsageLimitPolicyPluginRef string         `yaml:"usageLimitPolicyPluginRef,omitempty"`
	EnableEviction            bool           `yaml:"enableEviction,omitempty"`
}

type priorityBand struct {
	Priority          int    `yaml:"priority"`
	MaxRequests       string `yaml:"maxRequests,omitempty"` // a Kubernetes quantity
	FairnessPolicyRef string `yaml:"fairnessPolicyRef"`
	OrderingPolicyRef string `yaml:"orderingPolicyRef"`
}
