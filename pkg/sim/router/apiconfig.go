package router

import (
	"errors"
	"fmt"
	"strings"
)

// endpointPickerConfig is the file that configures the endpoint picker
// (llm-d-router v0.10.0, apix/config/v1alpha1).
type endpointPickerConfig struct {
	APIVersion         string              `json:"apiVersion"`
	Kind               string              `json:"kind"`
	FeatureGates       []string            `json:"featureGates"`
	Plugins            []pluginSpec        `json:"plugins"`
	SchedulingProfiles []schedulingProfile `json:"schedulingProfiles"`
	DataLayer          *dataLayerConfig    `json:"dataLayer"`
	FlowControl        *flowControlConfig  `json:"flowControl"`
	RequestHandler     *requestHandler     `json:"requestHandler"`
	SaturationDetector *pluginRef          `json:"saturationDetector"` // deprecated
	Parser             *pluginRef          `json:"parser"`             // deprecated
}

type pluginSpec struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Parameters *value `json:"parameters"`
}

type schedulingProfile struct {
	Name    string             `json:"name"`
	Plugins []schedulingPlugin `json:"plugins"`
}

type schedulingPlugin struct {
	PluginRef string   `json:"pluginRef"`
	Weight    *float64 `json:"weight"`
}

type pluginRef struct {
	PluginRef string `json:"pluginRef"`
}

type dataLayerConfig struct {
	InjectDefaults              *bool             `json:"injectDefaults"`
	Sources                     []dataLayerSource `json:"sources"`
	Discovery                   *pluginRef        `json:"discovery"`
	CrossReplicaSyncerPluginRef string            `json:"crossReplicaSyncerPluginRef"`
	CrossReplicaSyncInterval    *duration         `json:"crossReplicaSyncInterval"`
}

type dataLayerSource struct {
	PluginRef  string      `json:"pluginRef"`
	Extractors []pluginRef `json:"extractors"`
}

type requestHandler struct {
	Parsers []pluginRef `json:"parsers"`
}

type flowControlConfig struct {
	MaxBytes                    *quantity            `json:"maxBytes"`
	MaxRequests                 *quantity            `json:"maxRequests"`
	DefaultRequestTTL           *duration            `json:"defaultRequestTTL"`
	DefaultPriorityBand         *priorityBandConfig  `json:"defaultPriorityBand"`
	DefaultNegativePriorityBand *priorityBandConfig  `json:"defaultNegativePriorityBand"`
	PriorityBands               []priorityBandConfig `json:"priorityBands"`
	UsageLimitPolicyPluginRef   string               `json:"usageLimitPolicyPluginRef"`
	SaturationDetector          *pluginRef           `json:"saturationDetector"`
	EnableEviction              bool                 `json:"enableEviction"`
}

type priorityBandConfig struct {
	Priority          int       `json:"priority"`
	MaxBytes          *quantity `json:"maxBytes"`
	MaxRequests       *quantity `json:"maxRequests"`
	FairnessPolicyRef string    `json:"fairnessPolicyRef"`
	OrderingPolicyRef string    `json:"orderingPolicyRef"`
}

const (
	configKind           = "EndpointPickerConfig"
	configVersion        = "llm-d.ai/v1alpha1"
	deprecatedAPIVersion = "inference.networking.x-k8s.io/v1alpha1"
)

// decodeConfig reads the file. The document is kept for the lines of later errors.
func decodeConfig(text string) (endpointPickerConfig, *value, error) {
	var c endpointPickerConfig
	doc, err := parseYAML(text)
	if err != nil {
		return c, nil, err
	}
	if err := checkVersion(doc); err != nil {
		return c, nil, err
	}
	if line, err := decodeStrict(doc, &c); err != nil {
		var unknown unknownFields
		if errors.As(err, &unknown) {
			return c, nil, &StartupError{line, phaseDecode + "strict decoding error: " + err.Error(),
				"remove or correct the field; known here: " + strings.Join(unknown.known, ", ")}
		}
		return c, nil, &StartupError{line, phaseDecode + err.Error(), "give the field a value of that type"}
	}
	// Both spellings may be there; the section's own wins.
	if c.SaturationDetector != nil {
		if c.FlowControl == nil {
			c.FlowControl = &flowControlConfig{}
		}
		if c.FlowControl.SaturationDetector == nil {
			c.FlowControl.SaturationDetector = c.SaturationDetector
		}
	}
	if c.RequestHandler == nil {
		c.RequestHandler = &requestHandler{}
	}
	if c.Parser != nil && len(c.RequestHandler.Parsers) == 0 {
		c.RequestHandler.Parsers = []pluginRef{*c.Parser}
	}
	for i := range c.Plugins {
		if c.Plugins[i].Name == "" {
			c.Plugins[i].Name = c.Plugins[i].Type
		}
	}
	return c, doc, nil
}

// checkVersion is what happens before the fields are looked at.
func checkVersion(doc *value) error {
	if doc.form != mappingForm {
		return &StartupError{doc.line, phaseDecode + fmt.Sprintf("json: cannot unmarshal %s into Go value of type %s", doc.jsonType(), configKind),
			"write a mapping that begins with apiVersion: " + configVersion}
	}
	text := func(key string) string {
		if v, ok := doc.fields[key]; ok {
			s, _ := v.scalar.(string)
			return s
		}
		return ""
	}
	version, kind := text("apiVersion"), text("kind")
	switch {
	case kind == "":
		return &StartupError{doc.line, phaseDecode + "Object 'Kind' is missing", "add kind: " + configKind}
	case kind != configKind || version != configVersion && version != deprecatedAPIVersion:
		return &StartupError{doc.line, phaseDecode + fmt.Sprintf("no kind %q is registered for version %q", kind, version),
			fmt.Sprintf("v0.10 reads kind %s of %s, or of the deprecated %s", configKind, configVersion, deprecatedAPIVersion)}
	}
	return nil
}

// lineAt finds the line of a part of the document: keys, and indices of lists.
func (v *value) lineAt(path ...any) int {
	for _, step := range path {
		var next *value
		switch step := step.(type) {
		case string:
			if v.form == mappingForm {
				next = v.fields[step]
			}
		case int:
			if v.form == listForm && step < len(v.items) {
				next = v.items[step]
			}
		}
		if next == nil {
			return v.line
		}
		v = next
	}
	return v.line
}
