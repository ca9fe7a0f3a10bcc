package report

import (
	"fmt"
	"strings"

	"bgbench/pkg/analysis"
)

// deadlineOrder tells whether jobs end by their deadlines, the earliest first.
func deadlineOrder(s study) (section, error) {
	one := section{ID: "deadlines", Title: "Deadlines and their order", Nav: "Deadlines",
		Lead: "How many jobs kept their window, how much of the work was done in it, and whether the job that is due first ends first."}
	arms := table{Texts: 1, Heads: []string{"Arm", "Trials", "In order", "By chance, p", "Jobs met"},
		Note: "By chance: the probability of as many trials in order, or more, if every order of the jobs were as likely. It is a count over trials, not part of the family of verdicts."}
	cells := table{Texts: 1, Folded: "Every cell", Heads: []string{"Arm", "Trial", "Jobs met", "Lines in their window", "95\u00a0% interval within the trial", "Due", "Ended", "In order", "Apart"},
		Note: "Apart: the time between the first end and the last, as a share of that from the first submission to the last end. Jobs that share the servers to the end finish together, in some order by chance."}
	for _, a := range s.withBatch() {
		if len(a.Jobs) == 0 {
			continue
		}
		row := armRow(a.Tag, word(fmt.Sprint(a.Trials)), entry{Text: dash, Title: prose(a.Order.Reason)}, entry{Text: dash, Title: prose(a.Order.Reason)})
		if a.Order.Trials > 0 {
			row.Cells[1] = word(fmt.Sprintf("%d of %d", a.Order.Kept, a.Order.Trials))
		}
		if a.Order.P != nil {
			row.Cells[2] = word(pValue(*a.Order.P))
		}
		var met []string
		for _, j := range a.Jobs {
			text := fmt.Sprintf("%s %d of %d", label(j.Job), j.Met, j.Trials)
			if low, high := j.MetShare.Low, j.MetShare.High; low != nil && high != nil {
				text += " (" + span(*low, *high, "ratio") + ")"
			}
			met = append(met, text)
		}
		row.Cells = append(row.Cells, word(strings.Join(met, "; ")))
		arms.Rows = append(arms.Rows, row)
		for _, c := range a.Cells {
			cells.Rows = append(cells.Rows, deadlineRow(a, c))
		}
	}
	if arms.Rows != nil {
		one.Tables = []table{arms, cells}
	}
	return one, nil
}

func deadlineRow(a arm, c analysis.CellResult) tableRow {
	d := c.Batch.Deadlines
	met := numberOr(d.Met.Value, "ratio", d.Met.Reason)
	if d.Met.Value != nil {
		met.Text = fmt.Sprintf("%d of %d", d.Met.Count, d.Met.N)
	}
	kept := entry{Text: dash, Title: prose(d.Order.Reason)}
	if d.Order.Kept != nil {
		kept = entry{Text: "✗"}
		if *d.Order.Kept {
			kept.Text = "✓"
		}
	}
	return armRow(a.Tag, word(fmt.Sprint(c.Trial)), met, numberOr(d.Lines.Value, "ratio", d.Lines.Reason), word(shareInterval(d.Lines)),
		word(names(d.Order.Expected)), word(names(d.Order.Found)), kept, value(d.Order.SpreadRatio, "ratio"))
}

// names of jobs in a row.
func names(of []string) string {
	shown := make([]string, len(of))
	for i, name := range of {
		shown[i] = label(name)
	}
	return strings.Join(shown, " ")
}
