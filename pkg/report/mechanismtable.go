package report

import (
	"fmt"
	"slices"
	"strconv"

	"bgbench/pkg/analysis"
	"bgbench/pkg/spec"
)

// mechanismTable says what engaged in each cell. It has the columns that some cell has
// something in.
type mechanismTable struct {
	Heads []string
	Rows  []cellRow
}

// mechanismColumn is one mechanism. Of an arm that cannot have it, of is not ok.
type mechanismColumn struct {
	promise string // that it answers, empty for one that goes with the column before
	head    string
	of      func(analysis.Mechanisms) (e entry, ok bool)
}

var mechanismColumns = [...]mechanismColumn{
	{spec.PromiseAIMD, "AIMD decreases", func(m analysis.Mechanisms) (entry, bool) {
		if m.AIMD == nil {
			return entry{}, false
		}
		return value(m.AIMD.Decreases, analysis.UnitCount), true
	}},
	{"", "Lowest / mean limit", func(m analysis.Mechanisms) (entry, bool) {
		if m.AIMD == nil {
			return entry{}, false
		}
		return pair(m.AIMD.LowestLimit, m.AIMD.MeanLimit, analysis.UnitCount, "", " / "), true
	}},
	{spec.PromiseSaturation, "Highest saturation", func(m analysis.Mechanisms) (entry, bool) {
		if m.Saturation == nil {
			return entry{}, false
		}
		return value(m.Saturation.Max, "ratio"), true
	}},
	{"", "Time saturated", func(m analysis.Mechanisms) (entry, bool) {
		if m.Saturation == nil {
			return entry{}, false
		}
		return value(m.Saturation.Full, "ratio"), true
	}},
	{spec.PromiseQueue, "Waited in the router", func(m analysis.Mechanisms) (entry, bool) {
		if m.Queue == nil {
			return entry{}, false
		}
		return value(m.Queue.Waited, analysis.UnitCount), true
	}},
	{"", "Longest queue", func(m analysis.Mechanisms) (entry, bool) {
		if m.Queue == nil {
			return entry{}, false
		}
		return value(m.Queue.Longest, analysis.UnitCount), true
	}},
	{spec.PromiseCeiling, "Time held at the ceiling", func(m analysis.Mechanisms) (entry, bool) {
		if m.Ceiling == nil {
			return entry{}, false
		}
		return value(m.Ceiling.Held, "ratio"), true
	}},
	{"", "Most in flight / ceiling", func(m analysis.Mechanisms) (entry, bool) {
		if m.Ceiling == nil {
			return entry{}, false
		}
		e := value(m.Ceiling.MaxInFlight, analysis.UnitCount)
		if m.Ceiling.Limit > 0 {
			e.Text += " / " + quantity(m.Ceiling.Limit, analysis.UnitCount)
		} else {
			e.Text += " / " + quantity(m.Ceiling.Ceiling, "ratio") + " of the pool"
		}
		return e, true
	}},
	{spec.PromiseEviction, "Evictions", func(m analysis.Mechanisms) (entry, bool) {
		if m.Eviction == nil {
			return entry{}, false
		}
		return value(m.Eviction.Issued, analysis.UnitCount), true
	}},
	{"", "Per interactive request", func(m analysis.Mechanisms) (entry, bool) {
		if m.Eviction == nil {
			return entry{}, false
		}
		return value(m.Eviction.PerInteractive, ""), true
	}},
	{spec.PromiseGate, "Dispatch budget", func(m analysis.Mechanisms) (entry, bool) {
		if m.Gate == nil {
			return entry{}, false
		}
		return pair(m.Gate.Min, m.Gate.Max, "", "", " to "), true
	}},
	{"", "Time closed", func(m analysis.Mechanisms) (entry, bool) {
		if m.Gate == nil {
			return entry{}, false
		}
		return value(m.Gate.Closed, "ratio"), true
	}},
}

// pair writes two values in one place.
func pair(a, b analysis.Value, unitA, unitB, between string) entry {
	x, y := value(a, unitA), value(b, unitB)
	e := entry{Text: x.Text + between + y.Text, Title: x.Title}
	if e.Title == "" {
		e.Title = y.Title
	}
	if a.Value == nil && b.Value == nil {
		e.Text = dash
	}
	return e
}

func (s study) mechanisms() mechanismTable {
	var t mechanismTable
	has := func(c mechanismColumn) bool {
		return slices.ContainsFunc(s.Results.Cells, func(cell analysis.CellResult) bool {
			_, ok := c.of(cell.Mechanisms)
			return ok
		})
	}
	var columns []mechanismColumn
	for _, c := range mechanismColumns {
		if has(c) {
			columns = append(columns, c)
			t.Heads = append(t.Heads, c.head)
		}
	}
	if columns == nil {
		return t
	}
	for _, a := range s.Arms {
		first := len(t.Rows)
		for _, cell := range a.Cells {
			row := cellRow{Arm: a.Tag, Trial: cell.Trial, Valid: cell.Valid}
			any := false
			for _, c := range columns {
				e, ok := c.of(cell.Mechanisms)
				any = any || ok
				if c.promise != "" && slices.Contains(cell.Mechanisms.Promised, c.promise) {
					kept := cell.Holds(c.promise)
					e.Alarm = !kept
					if kept {
						e.Text = "✓ " + e.Text
					} else {
						e.Text = "✗ " + e.Text
					}
				}
				row.Cols = append(row.Cols, e)
			}
			if any {
				t.Rows = append(t.Rows, row)
			}
		}
		if len(t.Rows) > first {
			t.Rows[first].First, t.Rows[first].Span = true, len(t.Rows)-first
		}
	}
	return t
}

// work has a row a cell: what was evicted, what was computed again, and whether the
// outputs are those of another arm.
func (s study) work() []cellRow {
	var rows []cellRow
	for _, a := range s.withBatch() {
		first := len(rows)
		for _, c := range a.Cells {
			row := cellRow{Arm: a.Tag, Trial: c.Trial, Valid: c.Valid}
			if e := c.Batch.Evicted; e != nil {
				row.Cols = append(row.Cols, value(e.Issued, analysis.UnitCount), value(e.Lines, analysis.UnitCount), value(e.OneResult, analysis.UnitCount), value(e.Retries, analysis.UnitCount))
			} else {
				row.Cols = append(row.Cols, entry{}, entry{}, entry{}, entry{})
			}
			tokens := c.Tokens
			row.Cols = append(row.Cols, sumOf(tokens.NeededOutput, tokens.NeededPrompt), sumOf(tokens.Generated, tokens.ComputedPrompt),
				value(tokens.Redone, analysis.UnitCount), value(tokens.RedoneRatio, "ratio"),
				value(c.Batch.E2E.P50, c.Batch.E2E.Unit), value(c.Batch.E2E.P95, c.Batch.E2E.Unit), outputs(c.Outputs))
			rows = append(rows, row)
		}
		if len(rows) > first {
			rows[first].First, rows[first].Span = true, len(rows)-first
		}
	}
	return rows
}

// sumOf two counts of tokens; results.json has their parts.
func sumOf(a, b analysis.Value) entry {
	for _, v := range []analysis.Value{a, b} {
		if v.Value == nil {
			return value(v, "")
		}
	}
	return entry{Text: count(int64(*a.Value + *b.Value)), Title: fmt.Sprintf("output %s, prompt %s", count(int64(*a.Value)), count(int64(*b.Value)))}
}

// outputs says how many of the compared outputs are the same.
func outputs(o *analysis.OutputComparison) entry {
	if o == nil {
		return entry{}
	}
	return entry{
		Text:  strconv.Itoa(o.Compared-o.Different) + " of " + strconv.Itoa(o.Compared),
		Title: "compared with " + label(o.Reference), Alarm: o.Different > 0,
	}
}
