package gateway

// endpoint is one client of the processor with its semaphore: one for each URL,
// shared by all jobs.
type endpoint struct {
	url       string
	semaphore semaphore
	aimd      *aimd // nil when the limit is fixed
	metrics   *endpointMetrics
	// changed hears of every change of the limit, as the processor's log does. Only
	// tests listen.
	changed func(before, after int, cause signal)
}

func newEndpoint(cfg *Config, url string, m *processorMetrics) *endpoint {
	cc := cfg.Concurrency
	e := &endpoint{url: url, semaphore: semaphore{limit: cc.PerEndpoint}}
	if cc.AIMD.Enabled {
		e.aimd = newAIMD(cc.AIMD, cc.PerEndpoint)
		e.metrics = m.endpoint(url)
		e.metrics.limit.Set(float64(cc.PerEndpoint))
	}
	return e
}

// done returns the slot of a request and lets the controller hear how it ended.
// Upstream returns the slot first, but whoever waits for it wakes up too late to
// slip in before the limit falls.
func (e *endpoint) done(s signal) {
	e.semaphore.used--
	if e.aimd != nil && s != signalNone {
		e.adapt(s)
	}
	e.semaphore.serve()
}

func (e *endpoint) adapt(s signal) {
	before := e.aimd.limit
	if s == signalSuccess {
		e.aimd.success()
		if e.aimd.limit != before {
			e.metrics.increases().Add(1)
		}
	} else {
		e.aimd.decrease()
		e.metrics.decreases(s).Add(1)
	}
	if e.aimd.limit == before {
		return
	}
	e.metrics.limit.Set(float64(e.aimd.limit))
	e.semaphore.limit = e.aimd.limit
	if e.changed != nil {
		e.changed(before, e.aimd.limit, s)
	}
}
