package analysis

import (
	"math"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// Goodput is what the requests of a phase were worth to those who waited for them: a good
// one ended ok and kept every bound of the SLO. All shares are of the requests offered, so
// that a request that failed, or was never answered, counts against them.
type Goodput struct {
	// TTFTS, TPOTS and E2ES are the bounds; null for none. TTFT and E2E count from the due
	// time, from the send where a request has none.
	TTFTS *float64 `json:"slo_ttft_s"`
	TPOTS *float64 `json:"slo_tpot_s"` // bound of the profile, per token; null for none
	E2ES  *float64 `json:"slo_e2e_s"`  // bound of the profile, from the due time; null for none

	Good Share `json:"good"` // kept all of them
	// Attained are the shares that ended ok and kept one bound, by ttft, tpot and e2e.
	Attained map[string]Share `json:"attained"`
	PerS     Value            `json:"good_requests_per_s"`      // good requests a second
	TokensPS Value            `json:"good_output_tokens_per_s"` // output tokens of good requests a second
}

// goodCounts counts the good requests of a phase.
type goodCounts struct {
	good, ttft, tpot, e2e int
	tokens                int64 // output, of the good ones
}

// answer is what a request that ended ok is judged by; NaN where it has no such time.
type answer struct {
	ttft, tpot, e2e float64
	tokens          int64 // output
}

// answerOf copies the numbers: a pointer of a row keeps its whole batch.
func answerOf(q *record.Request) answer {
	first := func(from ...*float64) float64 {
		for _, v := range from {
			if v != nil {
				return *v
			}
		}
		return math.NaN()
	}
	a := answer{first(q.TTFTFromDueS, q.TTFTS), first(q.TPOTS), first(q.E2EFromDueS, q.E2ES), 0}
	if q.OutputTokens != nil {
		a.tokens = *q.OutputTokens
		if a.tokens < 2 && q.TPOTS == nil {
			a.tpot = 0 // a single token has no time per token to keep
		}
	}
	return a
}

// add judges a request that ended ok. A time that is not known keeps no bound.
func (g *goodCounts) add(a answer, slo *spec.SLO) {
	if !slo.Declared() {
		return
	}
	keeps := func(bound spec.Duration, x float64) bool { return bound == 0 || x <= bound.Seconds() }
	ttft, tpot, e2e := keeps(slo.TTFT, a.ttft), keeps(slo.TPOT, a.tpot), keeps(slo.E2E, a.e2e)
	g.ttft += rank(ttft)
	g.tpot += rank(tpot)
	g.e2e += rank(e2e)
	if ttft && tpot && e2e {
		g.good++
		g.tokens += a.tokens
	}
}

// unjudged is an answer that came before the SLO was known: on a pipe the rows come first,
// and what they were measured with after them.
type unjudged struct {
	in *cycleRows
	of answer
}

// judge counts a in its cycle and its phase, once the SLO is known.
func (r *rows) judge(in *cycleRows, a answer) {
	if !r.sloKnown {
		r.unjudged = append(r.unjudged, unjudged{in, a})
		return
	}
	in.good.add(a, r.slo)
	if in.phase != nil {
		in.phase.good.add(a, r.slo)
	}
}

// declare tells the SLO, and judges the answers that came before it.
func (r *rows) declare(slo *spec.SLO) {
	r.slo, r.sloKnown = slo, true
	for _, u := range r.unjudged {
		r.judge(u.in, u.of)
	}
	r.unjudged = nil
}

// goodput of a phase in which requests were offered over window seconds.
func (g goodCounts) goodput(slo *spec.SLO, offered int, window float64) Goodput {
	out := Goodput{Attained: map[string]Share{}}
	if !slo.Declared() {
		const none = "the profile declares no SLO"
		out.Good, out.PerS, out.TokensPS = unknownShare(none), missing(0, none), missing(0, none)
		return out
	}
	const nothing = "no request was due in the phase"
	for _, b := range []struct {
		name  string
		bound spec.Duration
		to    **float64
		kept  int
	}{{MetricTTFT, slo.TTFT, &out.TTFTS, g.ttft}, {MetricTPOT, slo.TPOT, &out.TPOTS, g.tpot}, {MetricE2E, slo.E2E, &out.E2ES, g.e2e}} {
		if b.bound != 0 {
			*b.to = finite(b.bound.Seconds())
			out.Attained[b.name] = shareOf(b.kept, offered, nothing)
		}
	}
	out.Good = shareOf(g.good, offered, nothing)
	out.PerS = perSecond(float64(g.good), window, g.good)
	out.TokensPS = perSecond(float64(g.tokens), window, g.good)
	return out
}
