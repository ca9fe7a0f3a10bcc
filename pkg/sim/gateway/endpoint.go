package gateway

import "bgbench/pkg/sim/kernel"

// endpoint is one client of the processor with its semaphore: one for each URL,
// shared by all jobs.
type endpoint struct {
	url       string
	semaphore semaphore
	aimd      *aimd // nil when the limit is fixed
	metrics   *endpointMetrics
	cfg       *Config
	// decreasedAt is the instant of the last decrease, before any at first.
	decreasedAt kernel.Time
}

func newEndpoint(cfg *Config, url string, m *processorMetrics) *endpoint {
	cc := cfg.Concurrency
	e := &endpoint{url: url, semaphore: semaphore{limit: cc.PerEndpoint}, cfg: cfg, decreasedAt: -1}
	if cc.AIMD.Enabled {
		e.aimd = newAIMD(cc.AIMD, cc.PerEndpoint)
		e.metrics = m.endpoint(url)
		e.metrics.limit.Set(float64(cc.PerEndpoint))
	}
	return e
}

// done returns the slot of a request, if it holds one, and lets the controller hear
// how it ended. sent is the instant of its last attempt. Upstream returns the slot first, but whoever waits
// for it wakes up too late, nearly always, to slip in before the limit falls.
func (e *endpoint) done(s signal, held bool, sent, now kernel.Time) {
	if held {
		e.semaphore.used--
	}
	if e.cfg.SlotFirst != nil && e.aimd != nil && s.isPressure() && e.cfg.SlotFirst() {
		e.semaphore.serve()
	}
	if e.aimd != nil && s != signalNone {
		e.adapt(s, sent, now)
	}
	e.semaphore.serve()
}

func (e *endpoint) adapt(s signal, sent, now kernel.Time) {
	before := e.aimd.limit
	switch {
	case !s.isPressure():
		e.aimd.success()
		if e.aimd.limit != before {
			e.metrics.increases().Add(1)
		}
	case !e.cfg.Quirks.EverySignalHalves && sent <= e.decreasedAt:
		return // one decrease for all that was in flight together
	default:
		e.aimd.decrease()
		e.decreasedAt = now
		e.metrics.decreases(s).Add(1)
	}
	if e.aimd.limit == before {
		return
	}
	e.metrics.limit.Set(float64(e.aimd.limit))
	e.semaphore.limit = e.aimd.limit
	if e.cfg.LimitChanged != nil {
		e.cfg.LimitChanged(e.url, before, e.aimd.limit, string(s))
	}
}
