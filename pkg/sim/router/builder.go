package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// builder assembles Settings in the endpoint picker's own order, so that a file
// with two faults fails on the same one.
type builder struct {
	config   endpointPickerConfig
	doc      *value
	plugins  map[string]*plugin
	listed   []string // names in order; auto-created plugins are not listed
	settings Settings
}

func (b *builder) fault(phase string, line int, advice, format string, args ...any) error {
	return &StartupError{line, phase + fmt.Sprintf(format, args...), advice}
}

// instantiate checks the plugin list and reads the parameters.
func (b *builder) instantiate() error {
	for i, spec := range b.config.Plugins {
		line := b.doc.lineAt("plugins", i)
		if spec.Type == "" {
			return b.fault(phaseValidate, line, "give the plugin a type", "plugin '%s' is missing a type", spec.Name)
		}
		if b.plugins[spec.Name] != nil {
			return b.fault(phaseValidate, line, "give one of the two another name", "duplicate plugin name '%s'", spec.Name)
		}
		t, ok := pluginTypes[spec.Type]
		if !ok {
			return b.fault(phaseValidate, line, nearestType(spec.Type), "plugin type '%s' is not registered", spec.Type)
		}
		b.plugins[spec.Name] = &plugin{name: spec.Name, typeName: spec.Type, pluginType: t}
		b.listed = append(b.listed, spec.Name)
	}
	for i, spec := range b.config.Plugins {
		p := b.plugins[spec.Name]
		if p.params == nil {
			continue
		}
		settings, err := p.params(spec.Parameters)
		var wrong paramsError
		if errors.As(err, &wrong) {
			if wrong.line == 0 {
				wrong.line = b.doc.lineAt("plugins", i)
			}
			return b.fault(phaseInstantiate, wrong.line, wrong.advice, "failed to create plugin '%s' (type: %s): %v", spec.Name, spec.Type, wrong)
		}
		p.settings = settings
	}
	return nil
}

// nearestType suggests the registered types that share most words with name.
func nearestType(name string) string {
	words := strings.Split(name, "-")
	most := 2 // fewer are chance
	var alike []string
	for known := range pluginTypes {
		shared := 0
		for _, word := range strings.Split(known, "-") {
			if slices.Contains(words, word) {
				shared++
			}
		}
		if shared > most {
			most, alike = shared, nil
		}
		if shared == most {
			alike = append(alike, known)
		}
	}
	if len(alike) == 0 {
		return "check the spelling against the plugin types of v0.10"
	}
	slices.Sort(alike)
	return "did you mean " + strings.Join(alike, " or ") + "?"
}

// auto makes the plugin that is called like its type exist.
func (b *builder) auto(typeName string) {
	if b.plugins[typeName] != nil {
		return
	}
	p := &plugin{name: typeName, typeName: typeName, pluginType: pluginTypes[typeName]}
	if p.params != nil {
		p.settings, _ = p.params(nil) // defaults are valid
	}
	b.plugins[typeName] = p
}

// applyDefaults adds what a configuration may leave out.
func (b *builder) applyDefaults() error {
	// Without profiles every filter, scorer and picker listed is in the one profile:
	// a saturation detector becomes a filter.
	if len(b.config.SchedulingProfiles) == 0 {
		profile := schedulingProfile{Name: "default"}
		for _, name := range b.listed {
			if b.plugins[name].is(roleFilter | roleScorer | rolePicker) {
				profile.Plugins = append(profile.Plugins, schedulingPlugin{PluginRef: name})
			}
		}
		b.config.SchedulingProfiles = []schedulingProfile{profile}
	}
	if b.first(roleHandler) == "" && len(b.config.SchedulingProfiles) == 1 {
		b.auto(singleProfileHandlerType)
	}
	pickerName := b.first(rolePicker)
	if pickerName == "" {
		b.auto(maxScoreType)
		pickerName = maxScoreType
	}
	for i, profile := range b.config.SchedulingProfiles {
		if !slices.ContainsFunc(profile.Plugins, func(p schedulingPlugin) bool {
			return b.plugins[p.PluginRef] != nil && b.plugins[p.PluginRef].is(rolePicker)
		}) {
			b.config.SchedulingProfiles[i].Plugins = append(profile.Plugins, schedulingPlugin{PluginRef: pickerName})
		}
	}
	for _, t := range []string{fcfsType, globalStrictType, staticLimitType} {
		b.auto(t)
	}
	handler := b.config.RequestHandler
	if len(handler.Parsers) == 0 {
		handler.Parsers = []pluginRef{{"openai-parser"}, {"anthropic-parser"}, {"vllmhttp-parser"}}
	}
	for i, p := range handler.Parsers {
		if b.plugins[p.PluginRef] != nil {
			continue
		}
		if _, ok := pluginTypes[p.PluginRef]; !ok {
			return b.fault(phaseLoad, b.doc.lineAt("requestHandler", "parsers", i), "list the plugin under plugins",
				"system default application failed: failed to apply parser defaults: plugin type '%s' not found in registry", p.PluginRef)
		}
		b.auto(p.PluginRef)
	}
	if b.config.FlowControl == nil {
		b.config.FlowControl = &flowControlConfig{}
	}
	fc := b.config.FlowControl
	if fc.SaturationDetector == nil {
		fc.SaturationDetector = &pluginRef{}
	}
	if fc.SaturationDetector.PluginRef == "" {
		fc.SaturationDetector.PluginRef = utilizationDetectorType
	}
	if fc.SaturationDetector.PluginRef == utilizationDetectorType {
		b.auto(utilizationDetectorType)
	}
	return nil
}

// first is the first listed plugin with a role, "" if there is none.
func (b *builder) first(r role) string {
	for _, name := range b.listed {
		if b.plugins[name].is(r) {
			return name
		}
	}
	return ""
}

func (b *builder) validate() error {
	seen := map[string]bool{}
	const what = "scheduling profile validation failed: "
	for i, profile := range b.config.SchedulingProfiles {
		line := b.doc.lineAt("schedulingProfiles", i)
		if profile.Name == "" {
			return b.fault(phaseValidate+what, line, "give the profile a name", "schedulingProfiles[%d] is missing a name", i)
		}
		if seen[profile.Name] {
			return b.fault(phaseValidate+what, line, "give one of the two another name", "schedulingProfiles[%d] has duplicate name '%s'", i, profile.Name)
		}
		seen[profile.Name] = true
		for j, p := range profile.Plugins {
			line := b.doc.lineAt("schedulingProfiles", i, "plugins", j)
			if p.PluginRef == "" {
				return b.fault(phaseValidate+what, line, "name a listed plugin", "schedulingProfiles[%s].plugins[%d] is missing a 'pluginRef'", profile.Name, j)
			}
			if b.plugins[p.PluginRef] == nil {
				return b.fault(phaseValidate+what, line, "list the plugin under plugins", "schedulingProfiles[%s] references undefined plugin '%s'", profile.Name, p.PluginRef)
			}
		}
	}
	ref := b.config.FlowControl.SaturationDetector.PluginRef
	if b.plugins[ref] == nil {
		return b.fault(phaseValidate, b.detectorLine(), "list the plugin under plugins",
			"saturation detector validation failed: saturation detector references undefined plugin '%s'", ref)
	}
	return nil
}

func (b *builder) detectorLine() int {
	if v, ok := b.doc.fields["flowControl"]; ok && v.form == mappingForm && v.fields["saturationDetector"] != nil {
		return b.doc.lineAt("flowControl", "saturationDetector", "pluginRef")
	}
	return b.doc.lineAt("saturationDetector", "pluginRef")
}

// schedule builds the scheduling profile.
func (b *builder) schedule() error {
	const what = "scheduler config build failed: "
	for i, config := range b.config.SchedulingProfiles {
		profile := profileSettings{name: config.Name}
		for j, ref := range config.Plugins {
			line := b.doc.lineAt("schedulingProfiles", i, "plugins", j)
			p := b.plugins[ref.PluginRef]
			if p.model == foreign {
				return b.notModelled(p, line)
			}
			if p.is(roleScorer) {
				profile.scorers = append(profile.scorers, weightedScorer{b.scorer(p), or(ref.Weight, 1)})
			}
			if p.is(roleFilter) {
				profile.filters = append(profile.filters, p.settings.(filter))
			}
			if p.is(rolePicker) {
				if profile.picker != "" {
					return b.fault(phaseLoad+what, line, "leave one picker in the profile",
						"failed to add plugin '%s' to profile '%s': failed to set '%s' as picker, already have a registered picker plugin '%s'", p.name, config.Name, p.name, profile.picker)
				}
				profile.picker = p.typeName
			}
		}
		b.settings.profile = profile
	}
	var handler *plugin
	for _, name := range b.names() {
		p := b.plugins[name]
		if !p.is(roleHandler) {
			continue
		}
		if handler != nil {
			return b.fault(phaseLoad+what, b.doc.lineAt("plugins"), "leave one profile handler", "multiple profile handlers found ('%s', '%s'); only one is allowed", handler.name, p.name)
		}
		handler = p
	}
	if handler == nil {
		return b.fault(phaseLoad+what, b.doc.lineAt("plugins"), "list a profile handler, or leave one profile", "no profile handler configured")
	}
	if handler.typeName == singleProfileHandlerType && len(b.config.SchedulingProfiles) > 1 {
		return b.fault(phaseLoad+what, b.doc.lineAt("schedulingProfiles"), "leave one profile", "SingleProfileHandler cannot support multiple scheduling profiles")
	}
	return nil
}

// names lists all plugins, the listed ones first.
func (b *builder) names() []string {
	names := slices.Clone(b.listed)
	var created []string
	for name := range b.plugins {
		if !slices.Contains(b.listed, name) {
			created = append(created, name)
		}
	}
	slices.Sort(created)
	return append(names, created...)
}

func (b *builder) notModelled(p *plugin, line int) error {
	return b.fault("", line, "leave the plugin out for the model; it runs on a cluster",
		"plugin '%s' (type: %s) is valid, but the router model has no rule for it", p.name, p.typeName)
}

// dataLayer decides whether model servers are scraped.
func (b *builder) dataLayer() error {
	const what = "data layer config build failed: "
	c := b.config.DataLayer
	if c == nil {
		b.settings.scraped = true
		return nil
	}
	own := false
	for i, source := range c.Sources {
		line := b.doc.lineAt("dataLayer", "sources", i)
		p := b.plugins[source.PluginRef]
		if p == nil && source.PluginRef == metricsSourceType || p != nil && p.is(roleSource) {
			own = own || source.PluginRef == metricsSourceType
		} else {
			return b.fault(phaseLoad+what, line, "list the data source under plugins", "the plugin %s is not a fwkdl.DataSource", source.PluginRef)
		}
		for _, e := range source.Extractors {
			if b.plugins[e.PluginRef] == nil {
				return b.fault(phaseLoad+what, line, "list the extractor under plugins", "the plugin %s is not registered", e.PluginRef)
			}
			b.settings.scraped = b.settings.scraped || b.plugins[e.PluginRef].typeName == metricsExtractorType
		}
	}
	if or(c.InjectDefaults, true) && !own {
		b.settings.scraped = true
	}
	if c.Discovery != nil {
		line := b.doc.lineAt("dataLayer", "discovery")
		p := b.plugins[c.Discovery.PluginRef]
		if p == nil {
			return b.fault("", line, "list the discovery plugin under plugins", "discovery: no plugin found with name %q", c.Discovery.PluginRef)
		}
		if !p.is(roleDiscovery) {
			return b.fault("", line, "name a discovery plugin such as file-discovery", "discovery: plugin %q does not implement EndpointDiscovery", c.Discovery.PluginRef)
		}
	}
	return nil
}

func (b *builder) parsers() error {
	for i, ref := range b.config.RequestHandler.Parsers {
		if !b.plugins[ref.PluginRef].is(roleParser) {
			return b.fault(phaseLoad+"parser registry build failed: ", b.doc.lineAt("requestHandler", "parsers", i), "name a parser plugin",
				"the plugin %q is not a parser plugin", ref.PluginRef)
		}
	}
	return nil
}

// detect resolves the saturation detector, which also admits when the gate is off.
func (b *builder) detect() error {
	p := b.plugins[b.config.FlowControl.SaturationDetector.PluginRef]
	if !p.is(roleDetector) {
		return b.fault(phaseLoad, b.detectorLine(), "name a concurrency-detector or utilization-detector", "plugin '%s' is not a fwkfc.SaturationDetector", p.name)
	}
	b.settings.detectorID = p.name
	b.settings.detector = p.settings.(detector)
	return nil
}

// produce finds who counts what is in flight. A consumer that names nobody reads
// the producer called like its type, which is made when it is not listed: one
// listed under another name is not it.
func (b *builder) produce() error {
	var exact bool
	for _, name := range b.listed {
		p := b.plugins[name]
		switch p.typeName {
		case inflightProducerType:
			b.settings.producers = append(b.settings.producers, producer{name, p.settings.(tokenEstimate)})
		case tokenProducerType, "tokenizer":
			exact = exact || p.settings.(bool)
		}
	}
	b.settings.exactTokens = exact
	for i, name := range b.listed {
		consumer, ok := b.plugins[name].settings.(loadConsumer)
		if !ok {
			continue
		}
		wanted := consumer.producer()
		if wanted == "" {
			wanted = inflightProducerType
		}
		if slices.ContainsFunc(b.settings.producers, func(p producer) bool { return p.name == wanted }) {
			continue
		}
		if wanted != inflightProducerType {
			return b.fault("", b.doc.lineAt("plugins", i), "list an inflight-load-producer under that name",
				"failed to create missing data producers - no default producer InFlightLoadDataKey/%s, consumed by %s", wanted, name)
		}
		estimate, _ := producerParams(nil) // defaults are valid
		b.settings.producers = append(b.settings.producers, producer{inflightProducerType, estimate.(tokenEstimate)})
	}
	b.resolve()
	return nil
}

// loadConsumer is a plugin that reads counts of a producer.
type loadConsumer interface{ producer() string }

// index is the place of a producer, which exists.
func (b *builder) index(name string) int {
	if name == "" {
		name = inflightProducerType
	}
	return slices.IndexFunc(b.settings.producers, func(p producer) bool { return p.name == name })
}

// resolve turns the names of producers into their places.
func (b *builder) resolve() {
	place := func(v any) any {
		switch c := v.(type) {
		case concurrencyDetector:
			c.source = b.index(c.producerName)
			return c
		case activeRequestScorer:
			c.source = b.index(c.producerName)
			return c
		case tokenLoadScorer:
			c.source = b.index(c.producerName)
			return c
		}
		return v
	}
	s := &b.settings
	s.detector = place(s.detector).(detector)
	for i, f := range s.profile.filters {
		s.profile.filters[i] = place(f).(filter)
	}
	for i, w := range s.profile.scorers {
		s.profile.scorers[i].scorer = place(w.scorer).(scorer)
	}
}

func (b *builder) scorer(p *plugin) scorer {
	switch p.typeName {
	case queueScorerType:
		return queueScorer{}
	case kvScorerType:
		return kvScorer{}
	case runningScorerType:
		return runningScorer{}
	}
	return p.settings.(scorer)
}

// stability refuses Alpha plugins, used or not, unless the flag allows them.
func (b *builder) stability(flags Flags) error {
	if flags.AllowExperimentalPlugins {
		return nil
	}
	names := slices.Sorted(slices.Values(b.listed))
	for _, name := range names {
		if p := b.plugins[name]; p.alpha {
			return b.fault("", b.doc.lineAt("plugins", slices.Index(b.listed, name)),
				"start with --allow-experimental-plugins (chart: router.epp.flags.allow-experimental-plugins: true)",
				"plugin '%s' (type: '%s') has Alpha stability level, but command line flag --allow-experimental-plugins is not set", p.name, p.typeName)
		}
	}
	return nil
}

// foreign refuses what would act by being listed and has no rule in the model.
func (b *builder) foreign() error {
	for i, name := range b.listed {
		if p := b.plugins[name]; p.model == active {
			return b.notModelled(p, b.doc.lineAt("plugins", i))
		}
	}
	return nil
}
