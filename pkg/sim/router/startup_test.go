package router

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Words of the recorded messages that the model's errors do not have: a place in a
// source file, and another YAML parser.
var otherWords = map[string]string{
	"start-wrong-apiversion": "no kind \"EndpointPickerConfig\" is registered for version \"llm-d.ai/v9\"",
	"start-yaml-syntax":      "failed to decode configuration JSON/YAML: yaml: ",
	"start-maxconc-fraction": "json: cannot unmarshal number 2.5 into Go struct field maxConcurrency of type int64",
}

func TestTheModelRefusesAConfigurationInTheWordsOfTheRealRouter(t *testing.T) {
	refused := 0
	eachCase(t, func(t *testing.T, text []byte) {
		c, err := decodeRecording(text)
		if err != nil {
			t.Fatal(err)
		}
		if c.Startup == nil || !c.Startup.Exits {
			return
		}
		refused++
		flags, err := caseFlags(c.Flags)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(c.Config, flags)
		var start *StartupError
		if !errors.As(err, &start) {
			t.Fatalf("got %v, want a StartupError", err)
		}
		if start.Line == 0 || start.Hint() == "" {
			t.Errorf("%v: line %d, hint %q: expected both", err, start.Line, start.Hint())
		}
		want, otherwise := otherWords[c.Name]
		if !otherwise && start.Text != c.Startup.Message || !strings.Contains(start.Text, want) {
			t.Errorf("got  %s\nwant %s", start.Text, c.Startup.Message)
		}
	})
	if refused < 32 {
		t.Errorf("%d configurations were refused, expected 32 and more", refused)
	}
}

const configHead = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"

func TestConfigurationsAreRefusedWithLineAndHint(t *testing.T) {
	for _, c := range []struct{ name, config, want, hint string }{
		{"nothing", "", "line 1: failed to parse config - failed to decode configuration JSON/YAML: yaml: found no document", "YAML"},
		{"a list", "- a\n", "line 1: failed to parse config - failed to decode configuration JSON/YAML: json: cannot unmarshal array", "apiVersion"},
		{"no kind", "apiVersion: llm-d.ai/v1alpha1\n", "line 1: failed to parse config - failed to decode configuration JSON/YAML: Object 'Kind' is missing", "kind: EndpointPickerConfig"},
		{"the next version's apiVersion", "apiVersion: llm-d.ai/v1\nkind: EndpointPickerConfig\n", `no kind "EndpointPickerConfig" is registered for version "llm-d.ai/v1"`, "v0.10 reads"},
		{"a key twice", configHead + "plugins: []\nplugins: []\n", "line 4: ", "YAML"},
		{"another case of a name", configHead + "FlowControl: {}\n", `line 3: failed to parse config - failed to decode configuration JSON/YAML: strict decoding error: unknown field "FlowControl"`, "flowControl"},
		{"two unknown fields", configHead + "a: 1\nb: 2\n", `unknown field "a", unknown field "b"`, "remove"},
		{"a field of a later version", configHead + "flowControl:\n  noEndpointRequestTTL: 5s\n", `line 4: failed to parse config - failed to decode configuration JSON/YAML: strict decoding error: unknown field "flowControl.noEndpointRequestTTL"`, "defaultRequestTTL"},
		{"a quantity that is none", configHead + "flowControl:\n  maxRequests: many\n", "line 4: failed to parse config - failed to decode configuration JSON/YAML: quantities must match", "type"},
		{"a duration that is none", configHead + "flowControl:\n  defaultRequestTTL: soon\n", `line 4: failed to parse config - failed to decode configuration JSON/YAML: time: invalid duration "soon"`, "type"},
		{"a priority that is text", configHead + "flowControl:\n  priorityBands:\n  - {priority: high}\n", "json: cannot unmarshal string into Go struct field PriorityBandConfig.flowControl.priorityBands[0].priority of type int", "type"},
		{"a gate with a bad value", configHead + "featureGates: [flowControl=maybe]\n", "line 3: failed to parse config - feature gate validation failed: maybe is not a valid value for the feature gate flowControl", "flowControl=true"},
		{"a plugin without a type", configHead + "plugins:\n- name: x\n", "line 4: failed to load the configuration - configuration validation failed: plugin 'x' is missing a type", "type"},
		{"an unknown parameter", configHead + "plugins:\n- type: concurrency-detector\n  parameters: {maxConcurency: 3}\n", `line 5: failed to load the configuration - plugin instantiation failed: failed to create plugin 'concurrency-detector' (type: concurrency-detector): failed to unmarshal concurrency detector config: json: unknown field "maxConcurency"`, "maxConcurrency"},
		{"a misspelled type", configHead + "plugins:\n- type: telepathy\n", "is not registered", "spelling"},
		{"a type that shares words", configHead + "plugins:\n- type: priority-holdback\n", "is not registered", "did you mean priority-holdback-policy?"},
		{"a profile without a name", configHead + "schedulingProfiles:\n- plugins: []\n", "line 4: failed to load the configuration - configuration validation failed: scheduling profile validation failed: schedulingProfiles[0] is missing a name", "name"},
		{"two profiles of one name", configHead + "plugins:\n- type: single-profile-handler\nschedulingProfiles:\n- name: a\n- name: a\n", "schedulingProfiles[1] has duplicate name 'a'", "name"},
		{"two profiles", configHead + "plugins:\n- type: single-profile-handler\nschedulingProfiles:\n- name: a\n- name: b\n", "SingleProfileHandler cannot support multiple scheduling profiles", "one profile"},
		{"two profiles without a handler", configHead + "schedulingProfiles:\n- name: a\n- name: b\n", "no profile handler configured", "profile handler"},
		{"a profile plugin without a name", configHead + "schedulingProfiles:\n- name: a\n  plugins:\n  - weight: 2\n", "schedulingProfiles[a].plugins[0] is missing a 'pluginRef'", "listed"},
		{"two pickers", configHead + "plugins:\n- type: max-score-picker\n- type: random-picker\n", "already have a registered picker plugin", "one picker"},
		{"a band's own limits below 0", configHead + "featureGates: [flowControl]\nflowControl:\n  priorityBands:\n  - {priority: 1, maxBytes: -1}\n", "line 6: failed to load the configuration - failed to load flow control config: failed to create registry config: priority band 1 MaxBytes must be non-negative, got -1", "0 or more"},
		{"a limit policy of another kind", configHead + "featureGates: [flowControl]\nflowControl:\n  usageLimitPolicyPluginRef: fcfs-ordering-policy\n", `failed to resolve usage limit policy: plugin "fcfs-ordering-policy" does not implement flowcontrol.UsageLimitPolicy`, "kind"},
		{"a fairness policy of another kind", configHead + "featureGates: [flowControl]\nflowControl:\n  priorityBands:\n  - {priority: 1, fairnessPolicyRef: fcfs-ordering-policy}\n", "does not implement flowcontrol.FairnessPolicy", "kind"},
		{"a parser that is none", configHead + "requestHandler:\n  parsers:\n  - pluginRef: max-score-picker\n", "the plugin \"max-score-picker\" is not a parser plugin", "parser"},
		{"a parser that does not exist", configHead + "requestHandler:\n  parsers:\n  - pluginRef: telepathy\n", "plugin type 'telepathy' not found in registry", "list"},
		{"a producer that nobody lists", configHead + "plugins:\n- type: concurrency-detector\n  parameters: {inFlightLoadProducerName: mine}\n", "failed to create missing data producers", "under that name"},
		{"both ways of counting tokens", configHead + "plugins:\n- type: token-producer\n  parameters: {estimate: {}, modelName: m}\n", "only one of 'estimate', 'vllm', or 'udsTokenizerConfig' may be set", "parameter"},
		{"a tokenizer without a model", configHead + "plugins:\n- type: token-producer\n  parameters: {vllm: {url: x}}\n", "'modelName' must be specified", "parameter"},
		{"a data source that is none", configHead + "dataLayer:\n  sources:\n  - {pluginRef: max-score-picker}\n", "the plugin max-score-picker is not a fwkdl.DataSource", "list"},
		{"discovery by a stranger", configHead + "dataLayer:\n  discovery: {pluginRef: x}\n", `discovery: no plugin found with name "x"`, "list"},
		{"discovery by another kind", configHead + "plugins:\n- type: max-score-picker\ndataLayer:\n  discovery: {pluginRef: max-score-picker}\n", "does not implement EndpointDiscovery", "file-discovery"},
		{"a thing the model cannot do", configHead + "plugins:\n- type: prefix-cache-scorer\n", "is valid, but the router model has no rule for it", "cluster"},
		{"an admitter, which acts when listed", configHead + "plugins:\n- type: latency-slo-admitter\nschedulingProfiles:\n- name: default\n", "is valid, but the router model has no rule for it", "cluster"},
		{"fairness that the model cannot do", configHead + "featureGates: [flowControl]\nplugins:\n- type: program-aware-fairness\nflowControl:\n  priorityBands:\n  - {priority: 1, fairnessPolicyRef: program-aware-fairness}\n", "is valid, but the router model has no rule for it", "cluster"},
		{"nesting without end", configHead + "dataLayer: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "levels of nesting", "YAML"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.config, Flags{})
			var start *StartupError
			if !errors.As(err, &start) {
				t.Fatalf("got %v, want a StartupError", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if !strings.Contains(start.Hint(), c.hint) {
				t.Errorf("hint: got %q, want something about %q", start.Hint(), c.hint)
			}
		})
	}
}

func TestDefaultsAreThoseOfTheRealRouter(t *testing.T) {
	s, err := Parse(configHead+"featureGates: [flowControl]\n", Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.bands) != 1 || s.bands[0].priority != 0 || s.bands[0].maxBytes != 1e9 || s.bands[0].maxRequests != 5000 || s.bands[0].roundRobin {
		t.Errorf("bands: got %+v, want band 0 with 1e9 bytes, 5000 requests and global-strict", s.bands)
	}
	if s.ttl != time.Minute || s.maxBytes != 0 || s.maxRequests != 0 || s.evict || s.limit != staticLimit(1) {
		t.Errorf("got %+v, want 60s, no limits over all bands, no eviction, ceiling 1", s)
	}
	if d, ok := s.detector.(utilizationDetector); !ok || d.queueDepth != 5 || d.kvUsage != 0.8 || d.staleAfter != 200*time.Millisecond {
		t.Errorf("detector: got %+v, want utilization with 5, 0.8, 200ms", s.detector)
	}
	if s.grace != 2300*time.Millisecond {
		t.Errorf("grace: got %v, want 2.3s", s.grace)
	}
	if s.profile.name != "default" || s.profile.picker != maxScoreType || len(s.profile.filters)+len(s.profile.scorers) != 0 {
		t.Errorf("profile: got %+v, want max-score-picker alone", s.profile)
	}
}

func TestOddButValidConfigurationsAreAccepted(t *testing.T) {
	const gate = "featureGates: [flowControl]\n"
	for name, config := range map[string]string{
		"YAML 1.1's words for true":            gate + "flowControl: {enableEviction: yes}\n",
		"anchors":                              gate + "flowControl:\n  priorityBands:\n  - &one {priority: 1}\nplugins:\n- &p {type: max-score-picker}\n",
		"a quantity with a suffix":             gate + "flowControl: {maxBytes: 1Gi, maxRequests: \"2k\"}\n",
		"a huge priority":                      gate + "flowControl:\n  priorityBands:\n  - {priority: 3000000000}\n",
		"a whole number written as fraction":   "plugins:\n- type: concurrency-detector\n  parameters: {maxConcurrency: 4.0}\n",
		"a gate switched off":                  "featureGates: [flowControl=False]\n",
		"foreign plugins that nothing names":   "plugins:\n- type: prefix-cache-scorer\nschedulingProfiles:\n- name: default\n",
		"null sections":                        "flowControl:\ndataLayer:\nplugins:\n",
		"parameters of a plugin that has none": "plugins:\n- type: fcfs-ordering-policy\n  parameters: {anything: 1}\n",
		"a limit over 1 and below 0":           gate + "plugins:\n- type: static-usage-limit-policy\n  parameters: {threshold: -0.5}\nflowControl: {usageLimitPolicyPluginRef: static-usage-limit-policy}\n",
	} {
		if _, err := Parse(configHead+config, Flags{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQuantitiesRoundAwayFromZero(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "5": 5, "1.5": 2, "-1.5": -2, "-3": -3, ".1": 1, "100m": 1, "1k": 1000, "1Ki": 1024, "1.5Gi": 1610612736,
		"2e3": 2000, "2E3": 2000, "15e-1": 2, "1E": 1e18, "9999999999999999999": 1<<63 - 1, "-1e99": -1 << 63, "1n": 1,
	} {
		var q quantity
		if err := q.UnmarshalText([]byte(text)); err != nil || q.n != want {
			t.Errorf("%s: got %d, %v, want %d", text, q.n, err, want)
		}
	}
	for _, text := range []string{"", "x", "1 k", "1kk", "--1", "1e", "0x10", "1e9999"} {
		var q quantity
		if err := q.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %d, want an error", text, q.n)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(configHead + "featureGates: [flowControl]\nplugins:\n- name: sat\n  type: concurrency-detector\n  parameters: {maxConcurrency: 4}\nflowControl:\n  maxBytes: 1Gi\n  saturationDetector: {pluginRef: sat}\n  priorityBands:\n  - {priority: -1, maxRequests: \"2.5\"}\n")
	f.Add(configHead + "plugins: &a [*a]\n")
	f.Add(configHead + "dataLayer: {sources: [{pluginRef: metrics-data-source, extractors: [{pluginRef: x}]}]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Parse(text, Flags{AllowExperimentalPlugins: true}); err != nil {
			var start *StartupError
			if !errors.As(err, &start) || start.Text == "" {
				t.Errorf("got %T %v, want a StartupError with a text", err, err)
			}
		}
	})
}
