package analysis

import (
	"fmt"
	"math"
	"strings"

	"bgbench/pkg/record"
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
	// stallServiceTimes: with requests in flight something completes about every
	// service time, however few they are; the longest of the lengths that profiles
	// draw take some three times the mean.
	stallServiceTimes = 3.0
	// listedBands is how many bands the evidence gives the lines of one by one.
	listedBands = 12
)

// presence says when batch work shared the servers with the interactive requests.
type presence struct {
	work    spans   // there were lines without a result, and polls say so
	flight  spans   // requests were in flight; only where each has a row
	exact   bool    // flight is known
	stalls  spans   // work stood still, as far as polls can tell, for longer than limit
	longest span    // of all stretches without a completed line, however short
	limit   float64 // seconds
	last    float64 // the last observation
	over    bool    // no job had work left then
}

// presence judges by the rows of the jobs, and by the rows of the lines in an arm
// that sends them itself.
func (c *cell) presence() presence {
	p := presence{last: math.Inf(-1), over: true, limit: max(pollSlack.Seconds(), stallServiceTimes*c.meanService())}
	var work, progress []span
	begin := math.Inf(1)
	for _, h := range c.jobs {
		at := func(i int) float64 { return h.seen[i].at.Sub(c.start).Seconds() }
		first, n := h.firstSeen().Sub(c.start).Seconds(), len(h.seen)
		begin = min(begin, first)
		if at(0)-first <= observedGapS {
			work = append(work, span{first, at(0)})
		}
		for i := range n - 1 {
			between := span{at(i), at(i + 1)}
			if between.length() > observedGapS {
				// Lines that still have no result had none before.
				if !h.seen[i+1].over() && !h.seen[i].over() {
					work = append(work, between)
				}
				continue
			}
			if !h.seen[i].over() {
				work = append(work, between)
			}
			if h.seen[i+1].completed > h.seen[i].completed {
				progress = append(progress, between)
			}
		}
		if end := at(n - 1); !h.seen[n-1].over() {
			work = append(work, span{end, end + pollSlack.Seconds()})
			p.over = false
		}
		p.last = max(p.last, at(n-1))
	}
	p.work = unite(work)
	for _, s := range unite(progress).gaps(span{begin, p.last}) {
		if s.length() > p.limit {
			p.stalls = append(p.stalls, s)
		}
	}
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

// meanService is how long the servers work on a request of this cell once it has
// its first token, in seconds; what came before may be a queue of any length. The
// profile draws the lengths of batch lines and of interactive requests alike, so
// these stand for the lines, whose times the Batch API does not tell.
func (c *cell) meanService() float64 {
	var sum, n float64
	for _, s := range c.phases {
		if e2e, ttft := s.E2E.Mean.Value, s.TTFT.Mean.Value; s.Class == record.ClassInteractive && e2e != nil && ttft != nil {
			sum += (*e2e - *ttft) * float64(s.E2E.N)
			n += float64(s.E2E.N)
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// share is the share of a stretch in which batch work was there.
func (p presence) share(of span) float64 {
	if p.exact {
		return p.flight.within(of) / of.length()
	}
	there := p.work.within(of)
	for _, stall := range p.stalls {
		there -= p.work.within(span{max(stall.from, of.from), min(stall.to, of.to)})
	}
	return there / of.length()
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
	what := "lines without a result and none standing still"
	if p.exact {
		what = "requests in flight"
	}
	return check(name, lacking == "", "%s%s in %s of the measured time; lines completed in its bands: %s; %s",
		lacking, what, percent(there/whole), c.linesInBands(bands), p.standstill())
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
	if !p.exact {
		text += fmt.Sprintf(", limit %.1f s", p.limit)
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
