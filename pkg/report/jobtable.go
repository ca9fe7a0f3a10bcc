package report

import "bgbench/pkg/analysis"

// jobRow is the end of one job in one cell.
type jobRow struct {
	cellRow
	Job    string
	Met    bool
	Reason string
}

// jobTable has a row a job of each cell.
func (s study) jobTable() []jobRow {
	var rows []jobRow
	for _, a := range s.withBatch() {
		first := len(rows)
		for _, c := range a.Cells {
			for _, j := range c.Jobs {
				done := dash
				if j.CompletionS.Value != nil {
					done = clock(*j.CompletionS.Value)
				}
				rows = append(rows, jobRow{
					cellRow: cellRow{Arm: a.Tag, Trial: c.Trial, Valid: c.Valid, Cols: []entry{
						{Text: label(j.Status)}, {Text: count(j.Total)}, {Text: count(j.Completed)}, {Text: count(j.Failed)},
						{Text: done, Title: prose(j.CompletionS.Reason)}, {Text: clock(j.WindowS)},
						clockEntry(j.WaitS), clockEntry(j.MarginS), value(j.InWindow, "ratio"),
					}},
					Job: label(j.Job), Met: j.Met, Reason: missedBecause(j),
				})
			}
		}
		if len(rows) > first {
			rows[first].First, rows[first].Span = true, len(rows)-first
		}
	}
	return rows
}

// clockEntry is a length of time, or a dash with the reason.
func clockEntry(v analysis.Value) entry {
	e := value(v, "s")
	if v.Value != nil {
		e.Text = clock(*v.Value)
	}
	return e
}

// missedBecause says why a job did not keep its promise, empty if it did.
func missedBecause(j analysis.JobSummary) string {
	switch {
	case j.Met:
		return ""
	case j.CompletionS.Value == nil && j.CompletionS.Reason != "":
		return prose(j.CompletionS.Reason)
	case j.CompletionS.Value == nil:
		return "did not complete"
	case *j.CompletionS.Value > j.WindowS:
		return "completed after its window"
	case j.Failed > 0:
		return analysis.Plural(int(j.Failed), "failed line")
	}
	return "not met"
}

// accounting has a row a cell: where the lines of its jobs went.
func (s study) accounting() []cellRow {
	var rows []cellRow
	for _, a := range s.withBatch() {
		first := len(rows)
		for _, c := range a.Cells {
			l := c.Batch.Lines
			rows = append(rows, cellRow{Arm: a.Tag, Trial: c.Trial, Valid: c.Valid, Cols: []entry{
				{Text: count(int64(l.Submitted))}, {Text: count(int64(l.OK))}, {Text: count(int64(l.Failed))},
				{Text: count(int64(l.Unfinished))}, retried(l),
				{Text: count(int64(l.Lost)), Alarm: l.Lost > 0}, {Text: count(int64(l.Duplicated)), Alarm: l.Duplicated > 0},
				value(c.Batch.IdlePerS, ""),
			}})
			if s.Burst != s.Idle {
				rows[len(rows)-1].Cols = append(rows[len(rows)-1].Cols, value(c.Batch.BurstPerS, ""))
			}
		}
		if len(rows) > first {
			rows[first].First, rows[first].Span = true, len(rows)-first
		}
	}
	return rows
}

// retried is the number of lines that took more than one attempt, where that can be known.
func retried(l analysis.Accounting) entry {
	if l.Retried == nil {
		return value(analysis.Value{Reason: l.Reason}, analysis.UnitCount)
	}
	return entry{Text: count(int64(*l.Retried))}
}
