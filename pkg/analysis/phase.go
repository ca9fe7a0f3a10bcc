package analysis

import (
	"slices"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// phaseRows pools the rows of one class in one phase over the measured cycles.
type phaseRows struct {
	requests int
	byStatus map[string]int
	crosses  int

	ttft, e2e                               sample // of its cycles, once those are summarized
	ttftFromDue, tpot, e2eFromDue, lateness sample
	itl                                     gaps
	split                                   []float32 // gaps of the last row

	outputTokens, promptTokens int64 // of requests that ended ok
	cachedTokens, cacheable    int64 // of those that report both counts
	withCached                 int

	good                 goodCounts
	noToken, noEnd       watched // requests that did not end ok: without a first token, without an end
	firstTokenOfFailures []float64
}

func (p *phaseRows) add(q *record.Request) {
	p.requests++
	p.byStatus[q.Status]++
	if q.CrossesPhase {
		p.crosses++
	}
	p.lateness.addKnown(q.LatenessS)
	if q.Status != record.StatusOK {
		p.noEnd.add(q)
		if q.TTFTS != nil {
			p.firstTokenOfFailures = append(p.firstTokenOfFailures, *q.TTFTS)
		} else {
			p.noToken.add(q)
		}
		return
	}
	p.ttftFromDue.addKnown(q.TTFTFromDueS)
	p.tpot.addKnown(q.TPOTS)
	p.e2eFromDue.addKnown(q.E2EFromDueS)
	p.split = record.AppendTokenGaps(p.split[:0], q.ChunkGapS, q.ChunkTokens)
	p.itl.add(p.split)
	if q.OutputTokens != nil {
		p.outputTokens += *q.OutputTokens
	}
	if q.PromptTokens != nil {
		p.promptTokens += *q.PromptTokens
		if q.CachedTokens != nil {
			p.cachedTokens += *q.CachedTokens
			p.cacheable += *q.PromptTokens
			p.withCached++
		}
	}
}

// summary of the phase, which lasted window seconds in all. end is when the run was over.
func (p *phaseRows) summary(key phaseClass, window float64, slo *spec.SLO, end time.Time) PhaseSummary {
	ok := p.byStatus[record.StatusOK]
	s := PhaseSummary{
		Phase:              key.phase,
		Class:              key.class,
		WindowS:            window,
		Requests:           p.requests,
		ByStatus:           p.byStatus,
		OfferedPerS:        perSecond(float64(p.requests), window, p.requests),
		OKPerS:             perSecond(float64(ok), window, ok),
		OutputTokensPerS:   perSecond(float64(p.outputTokens), window, ok),
		PromptTokensPerS:   perSecond(float64(p.promptTokens), window, ok),
		CrossesPhaseCount:  p.crosses,
		IncompleteRequests: p.byStatus[record.StatusIncomplete],
	}
	if p.requests > 0 {
		s.ErrorRate = measured(float64(p.requests-ok)/float64(p.requests), p.requests)
	} else {
		s.ErrorRate = missing(0, "no request was due in the phase")
	}
	if p.cacheable > 0 {
		s.CachedTokensRatio = measured(float64(p.cachedTokens)/float64(p.cacheable), p.withCached)
	} else {
		s.CachedTokensRatio = missing(0, "the server reported no cached tokens")
	}
	none := "no request ended ok"
	if ok > 0 {
		none = "no row has it"
	}
	ttft, itl := p.ttft.sorted(), p.itl.sorted()
	s.TTFT = distribution(ttft, "rows", none)
	s.TTFTFromDue = distribution(p.ttftFromDue.sorted(), "rows", none)
	s.ITL = distribution(itl, "gaps", none)
	s.TPOT = distribution(p.tpot.sorted(), "rows", none)
	s.E2E = distribution(p.e2e.sorted(), "rows", none)
	s.E2EFromDue = distribution(p.e2eFromDue.sorted(), "rows", none)
	s.TTFTAdjusted = outcomes{ttft, p.requests - ok}.distribution("rows", none)
	s.Lateness = distribution(p.lateness.sorted(), "rows", "no row has it")
	s.CDFs = CDFs{
		MetricTTFT: cdf(ttft, p.requests), MetricITL: cdf(itl, itl.len()),
		MetricTPOT: cdf(p.tpot.sorted(), p.requests), MetricE2E: cdf(p.e2e.sorted(), p.requests),
	}
	p.judge(&s, slo, end, none)
	return s
}

// judge fills what goes beyond the rows that ended ok. The samples are sorted by now.
func (p *phaseRows) judge(s *PhaseSummary, slo *spec.SLO, end time.Time, none string) {
	ok := p.byStatus[record.StatusOK]
	const nothing = "no request was due in the phase"
	s.Errors = shareOf(p.requests-ok, p.requests, nothing)
	s.ErrorsByKind = map[string]Share{}
	for _, status := range record.Statuses {
		if n := p.byStatus[status]; n > 0 && status != record.StatusOK {
			s.ErrorsByKind[status] = shareOf(n, p.requests, nothing)
		}
	}
	s.Goodput = p.good.goodput(slo, p.requests, s.WindowS)
	s.Within = slices.Concat(
		within(MetricTTFT, p.ttft.sorted()), within(MetricTTFTFromDue, p.ttftFromDue.sorted()),
		within(MetricTPOT, p.tpot.sorted()), within(MetricE2E, p.e2e.sorted()))
	s.TTFTCensored = censoredRequests(p.ttft.sorted(), p.firstTokenOfFailures, p.noToken, end, none)
	s.E2ECensored = censoredRequests(p.e2e.sorted(), nil, p.noEnd, end, none)
}

// classes in the order in which a phase lists them.
var classes = []string{
	record.ClassInteractive, record.ClassBatchEquivalent, record.ClassStandard, record.ClassBatch,
}

// classOf is the class of a phase's requests.
func classOf(in spec.Interactive, phase string) string {
	for _, p := range in.Phases {
		if p.Name == phase {
			return p.Class
		}
	}
	return record.ClassInteractive
}

// phaseNames lists the phases of a profile, each once, in order.
func phaseNames(in spec.Interactive) []string {
	var names []string
	seen := make(map[string]bool)
	for _, p := range in.Phases {
		if !seen[p.Name] {
			seen[p.Name] = true
			names = append(names, p.Name)
		}
	}
	return names
}
