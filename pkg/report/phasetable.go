package report

import (
	"maps"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// phaseTable is everything measured of one class in one phase, a row a cell.
type phaseTable struct {
	Phase, Class string
	CountHeads   []string
	Counts       []cellRow
	Blocks       []phaseBlock
}

// phaseBlock is one latency.
type phaseBlock struct {
	Title string
	Rows  []cellRow
}

// cellRow is a row that belongs to one cell.
type cellRow struct {
	Arm   tag
	First bool // of its arm
	Span  int  // rows of its arm, on the first
	Trial int
	Valid bool
	Cols  []entry
}

// entry is one value as it stands in a table.
type entry struct {
	Text  string
	Title string
	Small string // what stands below it
	Pill  string // class of a word that follows a test
	Alarm bool   // it should not be there
}

// phaseTables returns a table for each class of each phase that any cell has.
func (s study) phaseTables() []phaseTable {
	type place struct{ phase, class string }
	var places []place
	for _, phase := range append(slices.Clone(s.Phases), analysis.PhaseAll) {
		for _, cell := range s.Results.Cells {
			for _, p := range cell.Phases {
				at := place{p.Phase, p.Class}
				if p.Phase == phase && !slices.Contains(places, at) {
					places = append(places, at)
				}
			}
		}
	}
	var tables []phaseTable
	for _, at := range places {
		tables = append(tables, s.phaseTable(at.phase, at.class))
	}
	return tables
}

func (s study) phaseTable(phase, class string) phaseTable {
	t := phaseTable{
		Phase: label(phase), Class: label(class),
		CountHeads: []string{"Window", "Requests", "By status", "Error rate", "Offered/s", "Ok/s",
			"Output tok/s", "Prompt tok/s", "Cached", "Crossing", "Incomplete"},
	}
	var summaries []analysis.PhaseSummary
	var rows []cellRow
	for _, a := range s.Arms {
		first := len(rows)
		for _, c := range a.Cells {
			for _, p := range c.Phases {
				if p.Phase == phase && p.Class == class {
					summaries = append(summaries, p)
					rows = append(rows, cellRow{Arm: a.Tag, Trial: c.Trial, Valid: c.Valid})
				}
			}
		}
		if len(rows) > first {
			rows[first].First, rows[first].Span = true, len(rows)-first
		}
	}
	fill := func(columns func(analysis.PhaseSummary) []entry) []cellRow {
		filled := slices.Clone(rows)
		for i := range filled {
			filled[i].Cols = columns(summaries[i])
		}
		return filled
	}
	t.Counts = fill(phaseCounts)
	for _, d := range []struct {
		title string
		of    func(analysis.PhaseSummary) analysis.Distribution
	}{
		{"TTFT", func(p analysis.PhaseSummary) analysis.Distribution { return p.TTFT }},
		{"TTFT from due", func(p analysis.PhaseSummary) analysis.Distribution { return p.TTFTFromDue }},
		{"TTFT, failures as ∞", func(p analysis.PhaseSummary) analysis.Distribution { return p.TTFTAdjusted }},
		{"ITL", func(p analysis.PhaseSummary) analysis.Distribution { return p.ITL }},
		{"TPOT", func(p analysis.PhaseSummary) analysis.Distribution { return p.TPOT }},
		{"End to end", func(p analysis.PhaseSummary) analysis.Distribution { return p.E2E }},
		{"End to end from due", func(p analysis.PhaseSummary) analysis.Distribution { return p.E2EFromDue }},
		{"Lateness of the load generator", func(p analysis.PhaseSummary) analysis.Distribution { return p.Lateness }},
	} {
		t.Blocks = append(t.Blocks, phaseBlock{d.title, fill(func(p analysis.PhaseSummary) []entry {
			return distribution(d.of(p))
		})})
	}
	return t
}

func phaseCounts(p analysis.PhaseSummary) []entry {
	var statuses []string
	for _, status := range slices.Sorted(maps.Keys(p.ByStatus)) {
		statuses = append(statuses, label(status)+"\u00a0"+count(int64(p.ByStatus[status])))
	}
	return []entry{
		{Text: clock(p.WindowS)},
		{Text: count(int64(p.Requests))},
		{Text: strings.Join(statuses, ", ")},
		value(p.ErrorRate, "ratio"),
		value(p.OfferedPerS, ""),
		value(p.OKPerS, ""),
		value(p.OutputTokensPerS, ""),
		value(p.PromptTokensPerS, ""),
		value(p.CachedTokensRatio, "ratio"),
		{Text: count(int64(p.CrossesPhaseCount))},
		{Text: count(int64(p.IncompleteRequests))},
	}
}

func distribution(d analysis.Distribution) []entry {
	return []entry{
		{Text: count(int64(d.N))},
		value(d.Mean, d.Unit), value(d.P50, d.Unit), value(d.P90, d.Unit),
		value(d.P95, d.Unit), value(d.P99, d.Unit), value(d.Max, d.Unit),
	}
}

// value is v in unit, or a dash with the reason.
func value(v analysis.Value, unit string) entry {
	if v.Value != nil {
		return entry{Text: quantity(*v.Value, unit)}
	}
	reason := v.Reason
	if reason == "" {
		reason = "no reason was recorded"
	}
	return entry{Text: dash, Title: prose(reason)}
}
