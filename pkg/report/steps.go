package report

import (
	"strings"

	"bgbench/pkg/analysis"
)

// steps tells what each link of a declared chain gains and what it costs.
func steps(s study) (section, error) {
	one := section{ID: "steps", Title: "Step by step", Nav: "Steps",
		Lead: "Each link of the chains that the experiment declared: what an arm has over the one before it, and what that costs.",
		Note: "Words follow two-sided tests at 5\u00a0%, adjusted by Holm’s method within the step. No difference shown is not the same as none."}
	for _, step := range s.Steps {
		t := table{Title: label(step.Chain) + ": " + label(step.From) + " → " + label(step.To), Texts: 1,
			Heads: []string{"Metric", label(step.From), label(step.To), "Ratio", "95\u00a0% interval", "p, adjusted", "Finding"}}
		if step.Reason != "" {
			t.Note = prose(step.Reason)
		}
		for _, c := range step.Change {
			if c.From == nil && c.To == nil {
				continue
			}
			row := tableRow{Cells: []entry{word(metricName(c.Key)), numberOr(c.From, c.Unit, c.Comparison.Reason), numberOr(c.To, c.Unit, c.Comparison.Reason),
				word(dash), word(dash), word(dash), {Text: label(c.Word), Pill: pillOf(c.Word)}}}
			if c.Comparison.Ratio != nil {
				row.Cells[3].Text = times(*c.Comparison.Ratio)
			}
			if c.Comparison.Low != nil && c.Comparison.High != nil {
				row.Cells[4].Text = strings.TrimPrefix(times(*c.Comparison.Low), "×") + "–" + strings.TrimPrefix(times(*c.Comparison.High), "×")
			}
			if p := c.Comparison.PAdjusted; p != nil {
				row.Cells[5].Text = pValue(*p)
			}
			t.Rows = append(t.Rows, row)
		}
		if t.Rows != nil || t.Note != "" {
			one.Tables = append(one.Tables, t)
		}
	}
	return one, nil
}

// pillOf is the colour of a word that follows a test.
func pillOf(word string) string {
	switch word {
	case analysis.WordBetter, analysis.VerdictProtected:
		return "good"
	case analysis.WordWorse, analysis.VerdictDegraded:
		return "bad"
	}
	return "open"
}
