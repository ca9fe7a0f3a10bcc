package router

import (
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// Endpoint is a model server behind the router.
type Endpoint struct {
	Name    string
	Backend sim.Backend
	// Scrape reads the model server's metrics page. Without it the endpoint never
	// has metrics, as when nothing listens.
	Scrape func() Page
}

// Page is what one look at a model server's metrics page tells.
type Page struct {
	Waiting, Running int
	KVUsage          float64 // 0 to 1
	// Missing families keep the values that were read before.
	NoWaiting, NoRunning, NoKVUsage bool
	// Failed is a page that could not be read, Hung one that does not answer until
	// the router gives up.
	Failed, Hung bool
}

// endpoint is what the router keeps about a model server. It outlives the removal
// of the endpoint, whose requests may still be running.
type endpoint struct {
	Endpoint
	loads   []*load // a producer each; fresh ones when the endpoint is removed
	listed  bool
	page    Page
	updated kernel.Time // when page was last read
	ever    bool        // whether it was ever read
	poll    kernel.Timer
	first   kernel.Time // of the grid of its scrapes
}

func newEndpoint(e Endpoint, producers int) *endpoint {
	ep := &endpoint{Endpoint: e, loads: make([]*load, producers)}
	ep.forget()
	return ep
}

// forget drops the counters. Requests that still run hold on to the old ones.
func (e *endpoint) forget() {
	for i := range e.loads {
		e.loads[i] = &load{}
	}
}

// read takes in a page.
func (e *endpoint) read(p Page, at kernel.Time) {
	if p.Failed || p.Hung || p.NoWaiting && p.NoRunning && p.NoKVUsage {
		return
	}
	if p.NoWaiting {
		p.Waiting = e.page.Waiting
	}
	if p.NoRunning {
		p.Running = e.page.Running
	}
	if p.NoKVUsage {
		p.KVUsage = e.page.KVUsage
	}
	e.page, e.updated, e.ever = p, at, true
}

// stale reports whether the metrics are missing or too old.
func (e *endpoint) stale(now kernel.Time, after time.Duration) bool {
	return !e.ever || now-e.updated > after
}

// scrapeTimeout bounds one scrape (llm-d-router v0.10, data layer collector).
const scrapeTimeout = time.Second
