package analysis

import (
	"fmt"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
	"bgbench/pkg/stats"
)

// Thresholds of the checks.
const (
	latenessLimitS = record.LatenessLimitS
	achievedLimit  = record.AchievedLimit
)

// latenessPercentiles: the check looks at the highest one that the rows can bound.
// With few rows p99 would be the maximum, and one hiccup of a shared machine would
// decide over the cell.
var latenessPercentiles = []int{99, 95, 90, 50}

// check is one line of the validity of a cell.
func check(name string, ok bool, format string, args ...any) Check {
	return Check{Name: name, OK: ok, Evidence: fmt.Sprintf(format, args...)}
}

// checks says whether the cell may be believed. Each check looks at one thing and
// gives its evidence, whether it held or not.
func (c *cell) checks(m Mechanisms) []Check {
	out := []Check{c.checkNotInterrupted(), c.checkLateness(), c.checkAchieved()}
	if len(c.shards) > 0 {
		out = append(out, checkShards(c.shards))
	}
	if c.disturbed.watched {
		out = append(out, c.disturbed.check())
	}
	if c.hasBatch() {
		// Nobody said how long the jobs of an endpoint would last.
		if c.meta.Target != spec.TargetEndpoint {
			out = append(out, c.checkBatchPresent())
		}
		out = append(out, c.checkBatchLines())
	}
	out = append(out, m.checkPromises()...)
	return append(out, c.checkContext(), c.checkErrors())
}

func (c *cell) checkNotInterrupted() Check {
	const name = "run not interrupted"
	switch {
	case c.meta.Interrupted:
		return check(name, false, "run-metadata.json says interrupted")
	case c.meta.EndedAt.IsZero():
		return check(name, false, "run-metadata.json has no ended_at")
	case c.meta.ScheduleStartedAt.IsZero():
		return check(name, false, "the schedule never started")
	}
	return check(name, true, "it ended by itself after %.1f s of schedule and drain",
		c.meta.EndedAt.Sub(c.meta.ScheduleStartedAt).Seconds())
}

func (c *cell) checkLateness() Check {
	const name = "load on time"
	var all sample
	for key, p := range c.rows.phases {
		if key.class != record.ClassBatchEquivalent { // a backlog has no due times
			all.include(&p.lateness)
		}
	}
	if c.nothingDue() {
		return check(name, true, "the jobs were all there was to send")
	}
	if all.n == 0 {
		return check(name, false, "no request of the measured cycles was sent on a schedule")
	}
	late := all.sorted()
	for _, percent := range latenessPercentiles {
		p := float64(percent) / 100
		if len(late) < stats.MinimumN(p, level) {
			continue
		}
		q := stats.QuantileAt(len(late), p, late.at)
		return check(name, q <= latenessLimitS, "lateness p%d %.1f ms over %d requests, limit %.0f ms%s",
			percent, q*1e3, len(late), latenessLimitS*1e3, c.generatorCPU())
	}
	q := late.at(len(late) - 1)
	return check(name, q <= latenessLimitS, "lateness at most %.1f ms over %d requests, limit %.0f ms%s",
		q*1e3, len(late), latenessLimitS*1e3, c.generatorCPU())
}

// generatorCPU helps to find the cause: on the wall clock, how busy the generator was.
func (c *cell) generatorCPU() string {
	if c.meta.Clock != "wall" || c.meta.Load.WallSeconds <= 0 {
		return ""
	}
	return fmt.Sprintf("; the generator used %.2f of %d CPUs", c.meta.Load.CPUSeconds/c.meta.Load.WallSeconds, c.meta.Host.CPUs)
}

func (c *cell) checkAchieved() Check {
	const name = "schedule sent"
	due := max(c.meta.Load.Due, c.rows.scheduled)
	if c.nothingDue() {
		return check(name, true, "the jobs were all there was to send")
	}
	if due == 0 {
		return check(name, false, "no request was due")
	}
	// A request of the schedule has one row. Rows that are there twice would add to
	// every rate, and to the n that a percentile needs.
	if known := c.meta.Load.Due; known > 0 && c.rows.scheduled > known {
		return check(name, false, "%d rows have a due time, %d requests were due: rows are there more than once", c.rows.scheduled, known)
	}
	share := float64(c.rows.sent) / float64(due)
	return check(name, share >= achievedLimit, "%d of %d due requests sent (%.2f %%), limit %.0f %%",
		c.rows.sent, due, 100*share, 100*achievedLimit)
}

func (c *cell) checkBatchLines() Check {
	a := c.accounting
	return check("every batch line has one result", a.Lost == 0 && a.Duplicated == 0,
		"%d lines: %d ok, %d failed, %d unfinished, %d lost, %d duplicated",
		a.Submitted, a.OK, a.Failed, a.Unfinished, a.Lost, a.Duplicated)
}

func (c *cell) checkContext() Check {
	const name = "no context overflow"
	if c.rows.overflows == 0 {
		return check(name, true, "no request was refused for its length")
	}
	return check(name, false, "%d requests were refused for their length, such as: %s", c.rows.overflows, c.rows.overflow)
}

// checkErrors: a class of which nothing ever worked says that something is broken,
// not that it is slow. One phase without a success may be a finding.
func (c *cell) checkErrors() Check {
	const name = "errors not total"
	for _, class := range classes {
		var requests, ok int
		for _, s := range c.phases {
			if s.Class == class {
				requests += s.Requests
				ok += s.ByStatus[record.StatusOK]
			}
		}
		if requests > 0 && ok == 0 {
			return check(name, false, "none of the %d measured %s requests ended ok", requests, class)
		}
	}
	if a := c.accounting; a.Failed > 0 && a.OK == 0 {
		return check(name, false, "none of the %d batch lines with a result ended ok", a.Failed)
	}
	return check(name, true, "every class had requests that ended ok")
}
