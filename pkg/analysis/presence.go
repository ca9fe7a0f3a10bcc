package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bgbench/pkg/spec"
)

// Limits of the check for batch work.
const (
	// presentLimit: with less batch work the figures of a band are in part those of
	// another arm. The rest is what polls once a second leave open at an edge of a
	// band of half a minute.
	presentLimit = 0.95
	// observedGapS: jobs are polled once a second. Where five polls in a row are
	// missing, nobody knows what the jobs did.
	observedGapS = 5.0
	// listedBands is how many bands the evidence gives the lines of one by one.
	listedBands = 12
)

// presence says when batch work shared the servers with the interactive requests.
type presence struct {
	work    spans   // a worker had a job with lines without a result, and polls say so
	idle    spans   // nothing was in flight although no gate held
	asked   bool    // the processor's metrics say what was in flight
	flight  spans   // requests were in flight; only where each has a row
	exact   bool    // flight is known
	longest span    // of all stretches without a completed line, however short
	last    float64 // the last observation
	over    bool    // no job had work left then
}

// standing are the stretches in which the batch gateway had no request in flight,
// according to its metrics or those of its async processor, and no gate held one back.
// A job may say in_progress all the while. One that gives its budget out once in a
// poll may well be without a request between two of them, so that a stretch has to be
// longer than that.
func (c *cell) standing() (idle spans, asked bool) {
	inFlight, shortest := c.tracks(metricProcessor), 0.0
	if c.arm.Dispatch == spec.DispatchAsync {
		// The batch gateway counts what waits in the queue.
		inFlight, shortest = c.tracks(metricAsync), observedGapS
	}
	if len(inFlight) == 0 || c.start.IsZero() {
		return nil, false
	}
	budget := c.tracks(metricBudget)
	closed := func(at float64) bool {
		return slices.ContainsFunc(budget, func(t track) bool {
			i := t.before(at)
			return i >= 0 && t.values[i] <= 0
		})
	}
	sum := total(inFlight)
	for i := range len(sum.at) - 1 {
		from, to := sum.at[i], sum.at[i+1]
		if sum.values[i] <= 0 && sum.values[i+1] <= 0 && to-from <= observedGapS && !closed(from) && !closed(to) {
			idle = append(idle, span{from, to})
		}
	}
	return slices.DeleteFunc(unite(idle), func(s span) bool { return s.length() <= shortest }), true
}

// presence judges by the rows of the jobs, and by the rows of the lines in an arm
// that sends them itself.
func (c *cell) presence() presence {
	p := presence{last: math.Inf(-1), over: true}
	var work, progress []span
	for _, h := range c.jobs {
		at := func(i int) float64 { return h.seen[i].at.Sub(c.start).Seconds() }
		first, n := h.firstSeen().Sub(c.start).Seconds(), len(h.seen)
		if at(0)-first <= observedGapS && h.seen[0].underWay {
			work = append(work, span{first, at(0)})
		}
		for i := range n - 1 {
			between := span{at(i), at(i + 1)}
			if between.length() > observedGapS {
				// Lines that still have no result had none before.
				if !h.seen[i+1].over() && h.seen[i].underWay && !h.seen[i].over() {
					work = append(work, between)
				}
				continue
			}
			if h.seen[i].underWay && !h.seen[i].over() {
				work = append(work, between)
			}
			if h.seen[i+1].completed > h.seen[i].completed {
				progress = append(progress, between)
			}
		}
		if end := at(n - 1); !h.seen[n-1].over() {
			if h.seen[n-1].underWay {
				work = append(work, span{end, end + pollSlack.Seconds()})
			}
			p.over = false
		}
		p.last = max(p.last, at(n-1))
	}
	p.idle, p.asked = c.standing()
	p.work = unite(work).without(p.idle)
	measured := c.measuredBands("")
	for _, s := range unite(progress).gaps(span{measured[0].StartS, min(p.last, measured[len(measured)-1].EndS)}) {
		if s.length() > p.longest.length() {
			p.longest = s
		}
	}
	if len(c.rows.flights) > 0 {
		p.exact = true
		var flights []span
		for _, f := range c.rows.flights {
			s := span{f.sent.Sub(c.start).Seconds(), c.meta.EndedAt.Sub(c.start).Seconds()}
			if !f.done.IsZero() {
				s.to = f.done.Sub(c.start).Seconds()
			}
			flights = append(flights, s)
		}
		p.flight = unite(flights)
	}
	return p
}

// share is the share of a stretch in which batch work was there.
func (p presence) share(of span) float64 {
	if p.exact {
		return p.flight.within(of) / of.length()
	}
	return p.work.within(of) / of.length()
}

// checkBatchPresent: figures of a band without batch work would be those of another
// arm, and would look like a protection that worked.
func (c *cell) checkBatchPresent() Check {
	const name = "batch work present"
	if len(c.jobs) == 0 {
		return check(name, false, "no job was ever observed")
	}
	p := c.presence()
	bands := c.measuredBands("")
	end := bands[len(bands)-1].EndS
	if !p.exact && !p.over && p.last < end-pollSlack.Seconds() {
		return check(name, false, "the last observation of the jobs, with lines left, lies at %.1f s, the measured phases last until %.1f s", p.last, end)
	}
	var there, whole float64
	lacking := ""
	for _, b := range bands {
		of := span{b.StartS, b.EndS}
		share := p.share(of)
		there += share * of.length()
		whole += of.length()
		if share < presentLimit && lacking == "" {
			lacking = fmt.Sprintf("%s of cycle %d (%.1f s to %.1f s) had batch work for %s of its time, limit %.0f %%; ",
				b.Phase, b.Cycle, b.StartS, b.EndS, percent(share), 100*presentLimit)
		}
	}
	// Without the processor's word, lines that never end are as good as none. With it they
	// are long lines: those of a 32B model may well outlast the measurement.
	if lacking == "" && !p.exact && !p.asked && p.longest == (span{bands[0].StartS, min(p.last, end)}) {
		lacking = "no line was completed in the measured time; "
	}
	what := "a worker had lines without a result"
	if p.exact {
		what = "requests in flight"
	}
	still := ""
	if idle := p.idle.within(span{bands[0].StartS, end}); idle > 0 && !p.exact {
		still = fmt.Sprintf("; the processor had nothing in flight for %.1f s of it, and no gate held it", idle)
	}
	return check(name, lacking == "", "%s%s in %s of the measured time; lines completed in its bands: %s; %s%s",
		lacking, what, percent(there/whole), c.linesInBands(bands), p.standstill(), still)
}

// percent rounds down, so that 100 % means all of it.
func percent(share float64) string {
	return fmt.Sprintf("%.1f %%", math.Floor(share*1000+1e-9)/10)
}

func (p presence) standstill() string {
	text := fmt.Sprintf("longest stretch without one %.1f s", p.longest.length())
	if p.longest.length() > 0 {
		text += fmt.Sprintf(" from %.1f s", p.longest.from)
	}
	return text
}

// linesInBands lists how many lines were completed in each band, or the range if
// there are many bands.
func (c *cell) linesInBands(bands []Band) string {
	var counts []string
	low, high := math.Inf(1), math.Inf(-1)
	for _, b := range bands {
		done := 0.0
		for _, h := range c.jobs {
			from, _ := h.completedAt(c.start.Add(seconds(b.StartS)))
			to, _ := h.completedAt(c.start.Add(seconds(b.EndS)))
			done += to - from
		}
		low, high = min(low, done), max(high, done)
		counts = append(counts, fmt.Sprintf("%.0f", done))
	}
	if len(bands) > listedBands {
		return fmt.Sprintf("%.0f to %.0f in each of %d", low, high, len(bands))
	}
	return strings.Join(counts, ", ")
}
