package analysis

import (
	"math"
	"time"

	"bgbench/pkg/record"
)

// tally adds up the tokens of final results.
type tally struct {
	results        int // that ended ok
	prompt, output int64
	cached         int64 // of the prompts of those that say so
	withCached     int64 // prompt tokens of those
	silent         int   // results that do not say how many tokens they have
	cachedUnknown  int   // results that do not say how much of the prompt was cached
}

// usage is what a result says of its tokens; unsaid for what it does not say.
type usage struct{ prompt, cached, output int64 }

const unsaid = -1

// usageOf copies the numbers: a pointer of a row keeps its whole batch.
func usageOf(q *record.Request) usage {
	value := func(p *int64) int64 {
		if p == nil {
			return unsaid
		}
		return *p
	}
	return usage{value(q.PromptTokens), value(q.CachedTokens), value(q.OutputTokens)}
}

func (t *tally) add(u usage) {
	t.results++
	if u.prompt == unsaid || u.output == unsaid {
		t.silent++
		return
	}
	t.prompt += u.prompt
	t.output += u.output
	if u.cached == unsaid {
		t.cachedUnknown++
		return
	}
	t.cached += u.cached
	t.withCached += u.prompt
}

// needed adds up what the results of the run need. A line needs its prompt once,
// however often it was sent. What its last attempt found in the cache it may have left
// there itself, so a line of several attempts counts as finding as large a share as
// the lines that took one.
func (r *rows) needed() (t tally, cached float64) {
	t = r.others
	var once, often tally
	for _, a := range r.lines {
		switch {
		case a.ok == 0:
		case a.highest > 1:
			often.add(a.usage)
		default:
			once.add(a.usage)
		}
	}
	share := 0.0
	switch {
	case once.withCached > 0:
		share = float64(once.cached) / float64(once.withCached)
	case often.withCached > 0:
		share = float64(often.cached) / float64(often.withCached)
	}
	cached = float64(t.cached) + float64(once.cached) + share*float64(often.withCached)
	for _, more := range []tally{once, often} {
		t.results += more.results
		t.prompt += more.prompt
		t.output += more.output
		t.silent += more.silent
		t.cachedUnknown += more.cachedUnknown
	}
	return t, cached
}

// wholeRun is longer than any.
var wholeRun = span{math.Inf(-1), math.Inf(1)}

// tokens holds what the servers computed against what the results needed. The rest
// was done again or came back to nobody.
func (c *cell) tokens() TokenSummary {
	need, cached := c.rows.needed()
	s := TokenSummary{Generated: c.served(metricGenerated), ComputedPrompt: c.served(metricPrompt)}
	fromCache := c.served(metricCached)
	if len(c.tracks(metricCached)) == 0 { // older vLLM
		fromCache = c.served(metricPrefixHits)
	}
	if s.ComputedPrompt.Value != nil {
		if fromCache.Value == nil {
			s.ComputedPrompt = fromCache
		} else {
			s.ComputedPrompt = measured(*s.ComputedPrompt.Value-*fromCache.Value, s.ComputedPrompt.N)
		}
	}
	switch {
	case need.silent > 0:
		s.NeededOutput = missing(need.results, "%d of %d results do not say how many tokens they have", need.silent, need.results)
		s.NeededPrompt = s.NeededOutput
	case need.cachedUnknown > 0 && c.arm.Engine.EnablePrefixCaching:
		s.NeededOutput = measured(float64(need.output), need.results)
		s.NeededPrompt = missing(need.results, "%d of %d results do not say how much of the prompt was cached", need.cachedUnknown, need.results)
	default:
		s.NeededOutput = measured(float64(need.output), need.results)
		s.NeededPrompt = measured(float64(need.prompt)-cached, need.results)
	}
	s.Redone, s.RedoneRatio = s.redone()
	if n := c.accounting.Unfinished; n > 0 && len(c.rows.flights) == 0 {
		// The Batch API gives out the results of a job at its end.
		s.Redone = missing(0, "%d lines had no result when the run ended, which a server may have computed", n)
		s.RedoneRatio = s.Redone
	}
	return s
}

// redone is computed − needed, in tokens and as a share of what was needed.
func (s TokenSummary) redone() (tokens, ratio Value) {
	for _, v := range []Value{s.Generated, s.ComputedPrompt, s.NeededOutput, s.NeededPrompt} {
		if v.Value == nil {
			return v, v
		}
	}
	needed := *s.NeededOutput.Value + *s.NeededPrompt.Value
	more := *s.Generated.Value + *s.ComputedPrompt.Value - needed
	if needed <= 0 {
		nothing := missing(0, "no request ended ok")
		return nothing, nothing
	}
	if more < 0 {
		less := missing(0, "the servers counted %.0f tokens less than the results have: they were not asked at the end", -more)
		return less, less
	}
	return measured(more, s.NeededOutput.N), measured(more/needed, s.NeededOutput.N)
}

// served is what the model servers counted over the run.
func (c *cell) served(metric string) Value {
	tracks := c.tracks(metric)
	if len(tracks) == 0 || c.start.IsZero() {
		return c.absent(metric)
	}
	end := c.meta.EndedAt.Sub(c.start).Seconds()
	for _, t := range tracks {
		if left := end - t.at[len(t.at)-1]; left > pollSlack.Seconds() {
			return missing(0, "the metrics of %s end %.1f s before the run", t.source, left)
		}
	}
	return measured(rises(tracks, wholeRun), len(tracks))
}

// evicted follows what was evicted over the run to its final result.
func (c *cell) evicted() *EvictedWork {
	e := &EvictedWork{Issued: c.absent(metricEvictions)}
	if tracks := c.tracks(metricEvictions); len(tracks) > 0 || len(c.tracks(metricRouterRequests)) > 0 {
		e.Issued = measured(rises(tracks, wholeRun), len(tracks))
	}
	if len(c.rows.flights) == 0 {
		hidden := missing(0, "the Batch API does not show attempts")
		e.Attempts, e.Lines, e.OneResult = hidden, hidden, hidden
	} else {
		attempts, lines, one := 0, 0, 0
		for _, a := range c.rows.lines {
			if a.evicted == 0 {
				continue
			}
			attempts += a.evicted
			lines++
			if a.ok == 1 && a.results() == 1 {
				one++
			}
		}
		n := len(c.rows.lines)
		e.Attempts, e.Lines, e.OneResult = measured(float64(attempts), n), measured(float64(lines), n), measured(float64(one), n)
	}
	e.Retries = missing(0, "the arm has no async processor")
	if tracks := c.tracks(metricAsyncRetries); len(tracks) > 0 || len(c.tracks(metricAsync)) > 0 {
		e.Retries = measured(rises(tracks, wholeRun), len(tracks))
	}
	return e
}

// lineTimes are the times of a line that has rows of its own.
type lineTimes struct {
	first    time.Time // when its first attempt was sent
	measured bool      // in a measured band
	done     time.Time // when its ok attempt ended
}

func (t *lineTimes) add(q *record.Request) {
	if q.SentAt == nil {
		return
	}
	if t.first.IsZero() || q.SentAt.Before(t.first) {
		t.first, t.measured = *q.SentAt, q.Phase != nil && !q.Warmup
	}
	if q.Status == record.StatusOK && q.DoneAt != nil && (t.done.IsZero() || q.DoneAt.Before(t.done)) {
		t.done = *q.DoneAt
	}
}

// batchE2E is from the first send of a line to the end of its ok attempt.
func (c *cell) batchE2E() Distribution {
	var e2e sample
	for _, a := range c.rows.lines {
		if a.times.measured && !a.times.done.IsZero() {
			e2e.add(a.times.done.Sub(a.times.first).Seconds())
		}
	}
	none := "the Batch API does not say when a line was sent"
	if len(c.rows.flights) > 0 {
		none = "no line that was first sent in the measured time ended ok"
	}
	return distribution(e2e.sorted(), "rows", none)
}
