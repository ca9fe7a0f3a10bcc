package report

import (
	"fmt"
	"strings"

	"bgbench/pkg/analysis"
)

// tokenCounts holds the lengths that requests were made to have against what the servers
// counted.
func tokenCounts(s study) (section, error) {
	one := section{ID: "token-counts", Title: "Tokens requested and counted", Nav: "Tokens",
		Lead: "How long prompts and outputs were made to be, and how long the servers say they were: whether the workload that was measured is the one that was asked for."}
	t := table{Texts: 1, Folded: "All cells", Heads: []string{"Arm", "Trial", "Class", "Of the", "Requests", "Tokens requested", "Counted", "Counted / requested", "Exactly as many", "Least and most apart"}}
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			for _, n := range c.TokenCounts {
				for _, side := range []struct {
					name string
					of   analysis.TokensPaired
				}{{"prompt", n.Prompt}, {"output", n.Output}} {
					t.Rows = append(t.Rows, armRow(a.Tag, word(fmt.Sprint(c.Trial)), word(label(n.Class)), word(side.name), word(count(int64(side.of.Requested.N))),
						value(side.of.Requested, analysis.UnitCount), value(side.of.Counted, analysis.UnitCount), tokenRatio(side.of.Ratio),
						numberOr(side.of.Same.Value, "ratio", side.of.Same.Reason), apart(side.of)))
				}
			}
		}
	}
	if t.Rows != nil {
		one.Tables = []table{t}
		one.Note = "Requests of the whole run that ended ok. Outputs that only the client counted, by chunks, are left out. Apart: counted less requested, of a single request."
	}
	return one, nil
}

// tokenRatio keeps the digits by which counts differ.
func tokenRatio(v analysis.Value) entry {
	e := value(v, "")
	if v.Value != nil {
		e.Text = strings.TrimSuffix(fmt.Sprintf("%.4f", *v.Value), ".0000")
	}
	return e
}

func apart(p analysis.TokensPaired) entry {
	if p.Least.Value == nil || p.Most.Value == nil {
		return value(p.Least, "")
	}
	return word(signed(*p.Least.Value) + " to " + signed(*p.Most.Value))
}

func signed(v float64) string {
	if v > 0 {
		return "+" + count(int64(v))
	}
	return count(int64(v))
}
