package gateway

// endpoint is one client of the processor with its semaphore: one for each URL,
// shared by all jobs.
type endpoint struct {
	url       string
	semaphore semaphore
	aimd      *aimd // nil when the limit is fixed
	metrics   *endpointMetrics
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

// done returns the slot of a request and then lets the controller hear how it
// ended: whoever waits may get in before the limit falls.
func (e *endpoint) done(s signal) {
	e.semaphore.release()
	if e.aimd == nil || s == signalNone {
		return
	}
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
	if e.aimd.limit != before {
		e.metrics.limit.Set(float64(e.aimd.limit))
		e.semaphore.setLimit(e.aimd.limit)
	}
}
