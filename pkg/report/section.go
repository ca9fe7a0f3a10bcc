package report

import (
	"fmt"

	"bgbench/pkg/analysis"
)

// section is a part of the page made of figures and tables. One without either is
// left out.
type section struct {
	ID      string
	Title   string
	Nav     string // short, for the list of sections
	Lead    string
	Figures []figure
	Small   bool // the figures are multiples, side by side
	Tables  []table
	Note    string
}

// table is a heading row and rows that may belong to an arm.
type table struct {
	Title  string
	Heads  []string
	Texts  int // columns that are words, from the left, the arm included
	Rows   []tableRow
	Note   string
	Folded string // what it is folded behind, empty if it is not
}

type tableRow struct {
	Arm   *tag
	Cells []entry
}

// composer makes one section.
type composer func(study) (section, error)

// Sections that are composed of figures, in the order of the page. To add a figure is to
// add its file and its name here.
var (
	verdictSections  = []composer{forest, tradeOff, sweepCurves, heatMaps, rateCurves, steps, suite, runs}
	latencySections  = []composer{cdfs, cycles, intervals, goodput, failures}
	progressSections = []composer{completions, deadlineOrder}
	loadSections     = []composer{queues, infrastructure, load, agreement, tokenCounts}
)

// compose makes those sections that have something to show.
func (s study) compose(composers []composer) ([]section, error) {
	var made []section
	for _, c := range composers {
		one, err := c(s)
		if err != nil {
			return nil, err
		}
		if one.Figures != nil || one.Tables != nil {
			made = append(made, one)
		}
	}
	return made, nil
}

// armRow begins a row of a table with an arm.
func armRow(t tag, cells ...entry) tableRow { return tableRow{Arm: &t, Cells: cells} }

// word is text without a reason.
func word(text string) entry { return entry{Text: text} }

// numberOr writes v, or a dash with the reason.
func numberOr(v *float64, unit, reason string) entry {
	return value(analysis.Value{Value: v, Reason: reason}, unit)
}

// repeatsOf writes the median with the range below.
func repeatsOf(r analysis.Repeats, unit string) entry {
	e := numberOr(r.Median, unit, r.Reason)
	if r.Median != nil && r.N > 1 && r.Min != nil && r.Max != nil {
		e.Title = fmt.Sprintf("%s, mean %s, n = %d", span(*r.Min, *r.Max, unit), quantity(*r.Mean, unit), r.N)
		e.Small = span(*r.Min, *r.Max, unit)
	}
	return e
}

// tagOf finds an arm by its name.
func (s study) tagOf(name string) (tag, bool) {
	for _, a := range s.Arms {
		if a.Name == name {
			return a.Tag, true
		}
	}
	return tag{}, false
}
