package router

import (
	"math"
	"slices"
)

// load is what one producer counts in flight on an endpoint.
type load struct{ requests, tokens int64 }

// tokenEstimate says how many tokens of a request count as in flight.
type tokenEstimate struct {
	addOutput bool
	ratio     float64 // of output to prompt
	maxOutput int64
}

// of returns the tokens of a request: its prompt and, if asked for, the smallest of
// ratio times prompt, the client's limit (negative: none) and the operator's.
func (e tokenEstimate) of(prompt, clientMax int64) int64 {
	if !e.addOutput || prompt <= 0 {
		return prompt
	}
	output := min(int64(math.Round(float64(prompt)*e.ratio)), e.maxOutput)
	if clientMax >= 0 {
		output = min(output, clientMax)
	}
	return prompt + output
}

// inflight keeps who is counted where. It is keyed by x-request-id, as the real
// one is: a second running request with the id of a first replaces its entry on the
// same endpoint, and the first one's count is never given back.
type inflight struct {
	producers []producer
	held      map[string][]*holding
	spare     []*holding
}

// holding is one request on one endpoint.
type holding struct {
	endpoint *endpoint
	counters []*load // those of the endpoint when the request began
	tokens   []int64 // what is still held, a producer each
	flow     *flowMetrics
}

func newInflight(producers []producer) *inflight {
	return &inflight{producers: producers, held: map[string][]*holding{}}
}

// add counts a request that is about to be sent to an endpoint.
func (f *inflight) add(id string, e *endpoint, prompt, clientMax int64, flow *flowMetrics) {
	if len(f.producers) == 0 {
		return
	}
	h := f.holding()
	h.endpoint, h.flow = e, flow
	for i, p := range f.producers {
		tokens := p.estimate.of(prompt, clientMax)
		c := e.loads[i]
		c.requests++
		c.tokens += tokens
		h.counters = append(h.counters, c)
		h.tokens = append(h.tokens, tokens)
		flow.held(e, p.name, 1, tokens)
	}
	entries := f.held[id]
	if i := slices.IndexFunc(entries, func(o *holding) bool { return o.endpoint == e }); i >= 0 {
		entries[i] = h
		return
	}
	f.held[id] = append(entries, h)
}

// started gives prompt tokens back when the first chunk of a stream arrives on e:
// the prefill is over.
func (f *inflight) started(id string, e *endpoint) {
	for _, h := range f.held[id] {
		if h.endpoint != e {
			continue
		}
		for i, p := range f.producers {
			if !p.estimate.addOutput {
				f.giveBack(h, i, 0)
			}
		}
	}
}

// ended gives everything back that is held under id.
func (f *inflight) ended(id string) {
	entries, ok := f.held[id]
	if !ok {
		return
	}
	delete(f.held, id)
	for _, h := range entries {
		for i := range h.counters {
			f.giveBack(h, i, 1)
		}
		h.counters, h.tokens = h.counters[:0], h.tokens[:0]
		h.endpoint, h.flow = nil, nil
		f.spare = append(f.spare, h)
	}
}

// giveBack lowers counters, never below zero.
func (f *inflight) giveBack(h *holding, i int, requests int64) {
	c := h.counters[i]
	c.tokens = max(0, c.tokens-h.tokens[i])
	c.requests = max(0, c.requests-requests)
	h.flow.held(h.endpoint, f.producers[i].name, -requests, -h.tokens[i])
	h.tokens[i] = 0
}

func (f *inflight) holding() *holding {
	last := len(f.spare) - 1
	if last < 0 {
		return &holding{}
	}
	h := f.spare[last]
	f.spare = f.spare[:last]
	return h
}
