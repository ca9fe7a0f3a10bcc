package analysis

import "bgbench/pkg/record"

// CycleSummary is one class in one phase of one cycle, those of the warm-up included: what
// drifts, or had not settled, shows here.
type CycleSummary struct {
	Cycle    int     `json:"cycle"`    // counted from 0
	Warmup   bool    `json:"warmup"`   // not measured
	WindowS  float64 `json:"window_s"` // length of the phase in it
	Requests int     `json:"requests"` // offered
	Errors   Share   `json:"errors"`   // share that did not end ok
	Good     Share   `json:"good"`     // of Goodput

	OKPerS           Value        `json:"ok_requests_per_s"`   // requests that ended ok a second
	OutputTokensPerS Value        `json:"output_tokens_per_s"` // of the requests that ended ok
	TTFT             Distribution `json:"ttft"`                // from the send
	E2E              Distribution `json:"e2e"`                 // from the send
	// BatchPerS is the lines that the jobs completed in it, per second; null with the
	// reason as in BatchSummary.
	BatchPerS Value `json:"batch_requests_per_s"`
}

// cycleRows are the rows of one class in one phase of one cycle.
type cycleRows struct {
	key          cycleKey
	phase        *phaseRows // nil in the warm-up
	requests, ok int
	tokens       int64
	good         goodCounts
	ttft, e2e    sample
	seconds      map[int64]*second // by Unix time
	latest       *second           // of the row before
	latestAt     int64
}

type cycleKey struct {
	phaseClass
	cycle  int32
	warmup bool
}

func (c *cycleRows) add(q *record.Request) {
	c.requests++
	if q.Status != record.StatusOK {
		return
	}
	c.ok++
	c.addSecond(q)
	c.ttft.addKnown(q.TTFTS)
	c.e2e.addKnown(q.E2ES)
	if q.OutputTokens != nil {
		c.tokens += *q.OutputTokens
	}
}

// cyclesOf summarizes a class in a phase cycle by cycle.
func (c *cell) cyclesOf(key phaseClass) []CycleSummary {
	out := []CycleSummary{}
	for _, b := range c.bands {
		if b.Phase != key.phase {
			continue
		}
		r := c.rows.cycles[cycleKey{key, int32(b.Cycle), b.Warmup}]
		if r == nil {
			r = &cycleRows{}
		}
		window := b.EndS - b.StartS
		s := CycleSummary{
			Cycle: b.Cycle, Warmup: b.Warmup, WindowS: window, Requests: r.requests,
			Errors:           shareOf(r.requests-r.ok, r.requests, "no request was due in the cycle"),
			Good:             r.good.goodput(c.meta.Profile.SLO, r.requests, window).Good,
			OKPerS:           perSecond(float64(r.ok), window, r.ok),
			OutputTokensPerS: perSecond(float64(r.tokens), window, r.ok),
			TTFT:             distribution(r.ttft.sorted(), "rows", "no request of the cycle ended ok"),
			E2E:              distribution(r.e2e.sorted(), "rows", "no request of the cycle ended ok"),
			BatchPerS:        c.batchRate([]Band{b}),
		}
		out = append(out, s)
	}
	return out
}

// pool puts the values of the measured cycles together in p. They are kept once: the cycles
// have them no longer.
func (r *rows) pool(key phaseClass, p *phaseRows) {
	for at, c := range r.cycles {
		if at.phaseClass == key && !at.warmup {
			p.ttft.include(&c.ttft)
			p.e2e.include(&c.e2e)
			c.ttft, c.e2e = sample{}, sample{}
		}
	}
}
