package router

import (
	"time"

	"bgbench/pkg/sim/kernel"
)

const (
	concurrencyDetectorType = "concurrency-detector"
	utilizationDetectorType = "utilization-detector"
)

// detector says how full a pool is. 1 is full, more is possible.
type detector interface {
	saturation(now kernel.Time, pool []*endpoint) float64
}

const (
	modeRequests = "requests"
	modeTokens   = "tokens"
	modeHybrid   = "hybrid"
)

// concurrencyDetector counts what the router itself has sent. Limits are per
// endpoint.
type concurrencyDetector struct {
	mode                   string
	maxRequests, maxTokens int64
	headroom               float64 // widens the filter, never the gate
	producerName           string
	source                 int // place of the producer
}

func (d concurrencyDetector) producer() string { return d.producerName }

// saturation is the share of the pool's limit that is in flight. In hybrid mode it
// is the mean over endpoints of their fuller dimension.
func (d concurrencyDetector) saturation(_ kernel.Time, pool []*endpoint) float64 {
	if len(pool) == 0 {
		return 1
	}
	var requests, tokens int64
	fuller := 0.0
	for _, e := range pool {
		l := e.loads[d.source]
		requests += l.requests
		tokens += l.tokens
		fuller += max(float64(l.requests)/float64(d.maxRequests), float64(l.tokens)/float64(d.maxTokens))
	}
	n := int64(len(pool))
	switch d.mode {
	case modeTokens:
		return float64(tokens) / float64(n*d.maxTokens)
	case modeHybrid:
		return fuller / float64(n)
	}
	return float64(requests) / float64(n*d.maxRequests)
}

// filter keeps endpoints below their limit. When none is left the request fails.
func (d concurrencyDetector) filter(_ kernel.Time, pool, into []*endpoint) []*endpoint {
	maxRequests := int64(float64(d.maxRequests) * (1 + d.headroom))
	maxTokens := int64(float64(d.maxTokens) * (1 + d.headroom))
	for _, e := range pool {
		l := e.loads[d.source]
		byRequests, byTokens := l.requests < maxRequests, l.tokens < maxTokens
		if d.mode == modeRequests && byRequests || d.mode == modeTokens && byTokens || d.mode == modeHybrid && byRequests && byTokens {
			into = append(into, e)
		}
	}
	return into
}

// utilizationDetector reads the model servers' own metrics.
type utilizationDetector struct {
	queueDepth int
	kvUsage    float64
	staleAfter time.Duration
	headroom   float64
}

// saturation is the mean over endpoints of their fuller dimension; one without
// fresh metrics counts as full.
func (d utilizationDetector) saturation(now kernel.Time, pool []*endpoint) float64 {
	if len(pool) == 0 {
		return 1
	}
	total := 0.0
	for _, e := range pool {
		if e.stale(now, d.staleAfter) {
			total++
			continue
		}
		total += max(float64(e.page.Waiting)/float64(d.queueDepth), e.page.KVUsage/d.kvUsage)
	}
	return total / float64(len(pool))
}

// filter keeps fresh endpoints below both thresholds, or all when none is.
func (d utilizationDetector) filter(now kernel.Time, pool, into []*endpoint) []*endpoint {
	for _, e := range pool {
		if !e.stale(now, d.staleAfter) &&
			float64(e.page.Waiting) < float64(d.queueDepth)*(1+d.headroom) && e.page.KVUsage < d.kvUsage*(1+d.headroom) {
			into = append(into, e)
		}
	}
	if len(into) == 0 {
		return append(into, pool...)
	}
	return into
}

func (d utilizationDetector) staleEndpoints(now kernel.Time, pool []*endpoint) int {
	n := 0
	for _, e := range pool {
		if e.stale(now, d.staleAfter) {
			n++
		}
	}
	return n
}
