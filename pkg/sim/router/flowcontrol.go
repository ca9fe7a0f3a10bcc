package router

import (
	"time"

	"bgbench/pkg/sim/kernel"
)

// tickPeriod is that of the dispatch cycle's ticker (llm-d-router v0.10, flow
// control processor).
const tickPeriod = time.Millisecond

// flowControl decides who is dispatched and who is evicted.
type flowControl struct {
	bands    *bands
	detector detector
	limit    limitPolicy
	ceilings []float64
	ttl      time.Duration

	eviction  *reclamation // nil when it is off
	tracked   *tracked
	poolEmpty bool // as of the last cycle

	// The soft ceiling counts cycles. Ticks in which nothing else can happen are
	// not run; they are counted afterwards.
	alternations int64
	alternated   bool
	last         kernel.Time
}

func newFlowControl(s Settings, objectives []int) *flowControl {
	f := &flowControl{
		bands:    newBands(s, objectives),
		detector: s.detector,
		limit:    s.limit,
		ttl:      s.ttl,
		tracked:  newTracked(),
	}
	f.ceilings = make([]float64, len(f.bands.list))
	if s.evict {
		f.eviction = newReclamation(s.grace)
	}
	return f
}

// decision is what one cycle came to.
type decision struct {
	dispatch *request // dead when its caller has gone or its time was up
	evict    [maxRevocations]*request
	evicted  int
	// What the eviction was for, when one was decided on.
	decided bool
	demand  int
	target  float64
}

// cycle dispatches at most one request. Bands are looked at highest first; the
// first whose ceiling is reached ends the cycle, even when it is empty.
func (f *flowControl) cycle(now kernel.Time, pool []*endpoint) (d decision) {
	saturation := f.gauge(now, pool)
	for i, b := range f.bands.list {
		if saturation >= f.ceilings[i] {
			if f.eviction != nil {
				f.reclaim(now, saturation, i, &d)
			}
			return d
		}
		if q := b.pick(); q != nil {
			f.bands.remove(q)
			d.dispatch = q
			return d
		}
	}
	return d
}

// gauge brings saturation and ceilings up to date.
func (f *flowControl) gauge(now kernel.Time, pool []*endpoint) (saturation float64) {
	f.poolEmpty = len(pool) == 0
	saturation = f.detector.saturation(now, pool)
	if f.alternated && now > f.last {
		f.alternations += int64((now-1)/tickPeriod - f.last/tickPeriod)
	}
	f.last = now
	f.alternated = f.limit.ceilings(saturation, f.bands.priorities, f.alternations, f.ceilings)
	if f.alternated {
		f.alternations++
	}
	return saturation
}

// reclaim looks for demand that is worth an eviction: the highest band from the
// gated one on that has requests waiting, is itself gated, and stands above the
// next victim. A band whose ceiling is 0 can never be served that way.
func (f *flowControl) reclaim(now kernel.Time, saturation float64, gated int, d *decision) {
	if !f.eviction.open(now) {
		return
	}
	victim := f.tracked.next()
	if victim == nil {
		return
	}
	for i, b := range f.bands.list[gated:] {
		ceiling := f.ceilings[gated+i]
		switch {
		case b.priority <= victim.priority:
			return
		case ceiling <= 0 || saturation < ceiling || b.count == 0:
			continue
		}
		n, credit := f.eviction.size(saturation, ceiling, len(f.tracked.all), len(f.tracked.victims))
		if n == 0 {
			return
		}
		d.decided, d.demand, d.target = true, b.priority, saturation-ceiling
		for range n {
			q := f.tracked.next()
			if q == nil || q.priority >= b.priority {
				return
			}
			f.tracked.untrack(q.id)
			f.eviction.issued(q.id, credit, now)
			d.evict[d.evicted] = q
			d.evicted++
		}
		return
	}
}

// restless reports whether another tick could bring something although nothing
// has changed since the last.
func (f *flowControl) restless() bool { return f.alternated && f.bands.count > 0 }

// unsettled reports whether a tick would leave something changed although nobody
// waits: a round-robin cursor to forget, a debit to let cool, cycles to count.
func (f *flowControl) unsettled() bool {
	if f.eviction != nil && len(f.eviction.cooling) > 0 {
		return true
	}
	if _, counts := f.limit.(softCeiling); counts {
		return true
	}
	for _, b := range f.bands.list {
		if b.served != "" {
			return true
		}
	}
	return false
}
