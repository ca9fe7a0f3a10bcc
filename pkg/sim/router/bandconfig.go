package router

import "fmt"

// flowControl resolves the section of that name.
func (b *builder) flowControl() error {
	c := b.config.FlowControl
	s := &b.settings
	const what = "failed to create registry config: "
	line := func(path ...any) int { return b.doc.lineAt(append([]any{"flowControl"}, path...)...) }
	var err error
	if s.maxBytes, err = b.limit(c.MaxBytes, "global MaxBytes", line("maxBytes")); err != nil {
		return err
	}
	if s.maxRequests, err = b.limit(c.MaxRequests, "global MaxRequests", line("maxRequests")); err != nil {
		return err
	}
	s.defaultBand = bandSettings{maxBytes: defaultBandBytes, maxRequests: defaultBandRequests, ordering: fcfs}
	if c.DefaultPriorityBand != nil {
		if s.defaultBand, err = b.band(*c.DefaultPriorityBand, "default priority band", line("defaultPriorityBand")); err != nil {
			return err
		}
	}
	s.defaultNegative = s.defaultBand
	if c.DefaultNegativePriorityBand != nil {
		if s.defaultNegative, err = b.band(*c.DefaultNegativePriorityBand, "default negative priority band", line("defaultNegativePriorityBand")); err != nil {
			return err
		}
	}
	seen := map[int]bool{}
	var duplicate error
	for i, config := range c.PriorityBands {
		at := line("priorityBands", i)
		band, err := b.band(config, fmt.Sprintf("priority band %d", config.Priority), at)
		if err != nil {
			return err
		}
		if seen[band.priority] && duplicate == nil {
			duplicate = b.fault(phaseFlowControl+what, at, "list each priority once", "duplicate priority level %d", band.priority)
		}
		seen[band.priority] = true
		s.bands = append(s.bands, band)
	}
	if duplicate != nil {
		return duplicate
	}
	// Requests whose band does not exist wait in band 0, so it always exists.
	if !seen[0] {
		zero := s.defaultBand
		zero.priority = 0
		s.bands = append(s.bands, zero)
	}
	s.ttl = or(c.DefaultRequestTTL, duration{defaultTTL}).d
	if s.ttl < 0 {
		return b.fault(phaseFlowControl+"failed to create controller config: ", line("defaultRequestTTL"), "0s switches the limit off",
			"DefaultRequestTTL cannot be negative, but got %v", s.ttl)
	}
	s.evict = c.EnableEviction
	ref := c.UsageLimitPolicyPluginRef
	if ref == "" {
		ref = staticLimitType
	}
	p, err := b.policy(ref, roleLimit, "flowcontrol.UsageLimitPolicy", "failed to resolve usage limit policy: ", line("usageLimitPolicyPluginRef"))
	if err != nil {
		return err
	}
	s.limit = p.settings.(limitPolicy)
	return nil
}

func (b *builder) limit(q *quantity, what string, line int) (int64, error) {
	if q == nil {
		return 0, nil
	}
	if q.n < 0 {
		return 0, b.fault(phaseFlowControl+"failed to create registry config: ", line, "give 0 or more", "%s must be non-negative, got %d", what, q.n)
	}
	return q.n, nil
}

func (b *builder) band(c priorityBandConfig, label string, line int) (band bandSettings, err error) {
	band = bandSettings{priority: c.Priority, ordering: fcfs}
	if band.maxBytes, err = b.limit(c.MaxBytes, label+" MaxBytes", line); err != nil {
		return band, err
	}
	if band.maxRequests, err = b.limit(c.MaxRequests, label+" MaxRequests", line); err != nil {
		return band, err
	}
	// Bands are always bounded: 0 means unset here.
	if band.maxBytes == 0 {
		band.maxBytes = defaultBandBytes
	}
	if band.maxRequests == 0 {
		band.maxRequests = defaultBandRequests
	}
	const what = "failed to create registry config: "
	if c.OrderingPolicyRef != "" {
		p, err := b.policy(c.OrderingPolicyRef, roleOrdering, "flowcontrol.OrderingPolicy", what, line)
		if err != nil {
			return band, err
		}
		band.ordering = orderings[p.typeName]
	}
	if c.FairnessPolicyRef != "" {
		p, err := b.policy(c.FairnessPolicyRef, roleFairness, "flowcontrol.FairnessPolicy", what, line)
		if err != nil {
			return band, err
		}
		band.roundRobin = p.typeName == roundRobinType
	}
	return band, nil
}

// policy finds a plugin that must play a role.
func (b *builder) policy(ref string, r role, roleName, what string, line int) (*plugin, error) {
	p := b.plugins[ref]
	if p == nil {
		return nil, b.fault(phaseFlowControl+what, line, "list the plugin under plugins", "plugin %q not found", ref)
	}
	if !p.is(r) {
		return nil, b.fault(phaseFlowControl+what, line, "name a plugin of that kind", "plugin %q does not implement %s (actual type: %s)", ref, roleName, p.typeName)
	}
	if p.model == foreign {
		return nil, b.notModelled(p, line)
	}
	return p, nil
}
