package router

import (
	"math"
	"math/rand/v2"
	"slices"

	"bgbench/pkg/sim/kernel"
)

const (
	maxScoreType       = "max-score-picker"
	randomPickerType   = "random-picker"
	weightedRandomType = "weighted-random-picker"

	queueScorerType         = "queue-scorer"
	kvScorerType            = "kv-cache-utilization-scorer"
	runningScorerType       = "running-requests-size-scorer"
	loadAwareScorerType     = "load-aware-scorer"
	activeRequestScorerType = "active-request-scorer"
	tokenLoadScorerType     = "token-load-scorer"
)

// filter appends to into what it keeps of pool.
type filter interface {
	filter(now kernel.Time, pool, into []*endpoint) []*endpoint
}

// scorer rates endpoints between 0 and 1, more is better.
type scorer interface {
	// score fills into, one each. prompt is the request's tokens by each producer.
	score(pool []*endpoint, prompt []int64, into []float64)
}

type weightedScorer struct {
	scorer
	weight float64
}

// profile is the scheduling profile: filters in their order, the weighted sum of
// the scores, a pick.
type profile struct {
	profileSettings
	rng    *rand.Rand
	kept   [2][]*endpoint // buffers
	scores []float64
	sums   []float64
}

// pick returns the endpoint for a request, nil when the filters left none, and
// whether there was only one that it could be.
func (p *profile) pick(now kernel.Time, pool []*endpoint, prompt []int64) (chosen *endpoint, forced bool) {
	for i, f := range p.filters {
		buffer := &p.kept[i%2]
		*buffer = f.filter(now, pool, (*buffer)[:0])
		pool = *buffer
		if len(pool) == 0 {
			return nil, true
		}
	}
	if len(pool) == 1 {
		return pool[0], true
	}
	n := len(pool)
	p.scores, p.sums = grown(p.scores, n), grown(p.sums, n)
	clear(p.sums)
	for _, s := range p.scorers {
		s.score(pool, prompt, p.scores)
		for i, score := range p.scores {
			p.sums[i] += min(max(score, 0), 1) * s.weight
		}
	}
	switch p.picker {
	case randomPickerType:
		return pool[p.rng.IntN(n)], false
	case weightedRandomType:
		return pool[p.weighted()], false
	}
	best := slices.Max(p.sums)
	ties := 0
	at := 0
	for i, sum := range p.sums {
		if sum != best {
			continue
		}
		// Every tie is as likely as another.
		if ties++; p.rng.IntN(ties) == 0 {
			at = i
		}
	}
	return pool[at], ties == 1
}

// weighted draws with probabilities in proportion to the sums (Efraimidis and
// Spirakis: the greatest of u^(1/w)), or any when all are 0.
func (p *profile) weighted() int {
	if slices.Max(p.sums) <= 0 {
		return p.rng.IntN(len(p.sums))
	}
	best, at := -1.0, 0
	for i, sum := range p.sums {
		if sum <= 0 {
			continue
		}
		if key := math.Pow(p.rng.Float64(), 1/sum); key > best {
			best, at = key, i
		}
	}
	return at
}

func grown(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// readsLoad reports whether the pick looks at anything that changes.
func (p *profileSettings) readsLoad() bool { return len(p.filters) > 0 || len(p.scorers) > 0 }

// readsPages reports whether filters or scorers look at scraped metrics.
func (p *profileSettings) readsPages() bool {
	for _, f := range p.filters {
		if _, ok := f.(utilizationDetector); ok {
			return true
		}
	}
	for _, s := range p.scorers {
		switch s.scorer.(type) {
		case queueScorer, kvScorer, runningScorer, loadAwareScorer:
			return true
		}
	}
	return false
}

// queueScorer prefers the fewest waiting requests, relative to the others.
type queueScorer struct{}

func (queueScorer) score(pool []*endpoint, _ []int64, into []float64) {
	relative(pool, into, func(e *endpoint) int { return e.page.Waiting })
}

// runningScorer prefers the fewest running requests, relative to the others.
type runningScorer struct{}

func (runningScorer) score(pool []*endpoint, _ []int64, into []float64) {
	relative(pool, into, func(e *endpoint) int { return e.page.Running })
}

// relative gives the fewest 1 and the most 0; all 1 when they are equal.
func relative(pool []*endpoint, into []float64, of func(*endpoint) int) {
	low, high := math.MaxInt, math.MinInt
	for _, e := range pool {
		low, high = min(low, of(e)), max(high, of(e))
	}
	for i, e := range pool {
		into[i] = 1
		if high != low {
			into[i] = float64(high-of(e)) / float64(high-low)
		}
	}
}

// kvScorer prefers free KV cache.
type kvScorer struct{}

func (kvScorer) score(pool []*endpoint, _ []int64, into []float64) {
	for i, e := range pool {
		into[i] = 1 - e.page.KVUsage
	}
}

// loadAwareScorer gives an idle queue 0.5 and a queue at its threshold 0.
type loadAwareScorer int

func (s loadAwareScorer) score(pool []*endpoint, _ []int64, into []float64) {
	for i, e := range pool {
		into[i] = 0.5 * (1 - min(float64(e.page.Waiting), float64(s))/float64(s))
	}
}

// activeRequestScorer prefers the fewest requests in flight by the router's own
// count.
type activeRequestScorer struct {
	idle         int64 // as many still count as none
	maxBusy      float64
	producerName string
	source       int
}

func (s activeRequestScorer) producer() string { return s.producerName }

func (s activeRequestScorer) score(pool []*endpoint, _ []int64, into []float64) {
	most := int64(0)
	for _, e := range pool {
		most = max(most, e.loads[s.source].requests)
	}
	for i, e := range pool {
		into[i] = 1
		if n := e.loads[s.source].requests; n > s.idle {
			into[i] = float64(most-n) / float64(most) * s.maxBusy
		}
	}
}

// tokenLoadScorer prefers the fewest tokens in flight, this request's included.
type tokenLoadScorer struct {
	threshold    float64
	producerName string
	source       int
}

func (s tokenLoadScorer) producer() string { return s.producerName }

func (s tokenLoadScorer) score(pool []*endpoint, prompt []int64, into []float64) {
	for i, e := range pool {
		tokens := float64(e.loads[s.source].tokens + prompt[s.source])
		into[i] = 1 - min(max(tokens, 0), s.threshold)/s.threshold
	}
}
