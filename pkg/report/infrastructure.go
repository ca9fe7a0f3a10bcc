package report

import (
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// infrastructure lists what servers, router and gateways did in each phase, a table a metric.
func infrastructure(s study) (section, error) {
	one := section{ID: "infrastructure", Title: "Servers, router and gateways, phase by phase", Nav: "Infrastructure",
		Lead: "From the raw samples of the measured time, of which the curves above are drawn. Of a gauge the mean over time with the smallest and the largest sample below it; of a counter by how much it rose, and that per second."}
	var phases []string
	for _, phase := range append(slices.Clone(s.Phases), analysis.PhaseAll) {
		if slices.ContainsFunc(s.Results.Cells, func(c analysis.CellResult) bool {
			return slices.ContainsFunc(c.Infrastructure, func(i analysis.Infrastructure) bool { return i.Phase == phase })
		}) {
			phases = append(phases, phase)
		}
	}
	tables := map[string]*table{}
	var order []string
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			rows := map[string]tableRow{}
			var metrics []string
			for _, i := range c.Infrastructure {
				row, ok := rows[i.Metric]
				if !ok {
					metrics = append(metrics, i.Metric)
					row = armRow(a.Tag, word(fmt.Sprint(c.Trial)), word(count(int64(i.Series))))
					for range phases {
						row.Cells = append(row.Cells, entry{})
					}
				}
				if at := slices.Index(phases, i.Phase); at >= 0 {
					row.Cells[2+at] = infraEntry(i)
				}
				rows[i.Metric] = row
				if tables[i.Metric] == nil {
					order = append(order, i.Metric)
					tables[i.Metric] = &table{Texts: 1, Folded: infraTitle(i), Heads: []string{"Arm", "Trial", "Series"}}
					for _, phase := range phases {
						tables[i.Metric].Heads = append(tables[i.Metric].Heads, label(phase))
					}
				}
			}
			for _, name := range metrics {
				tables[name].Rows = append(tables[name].Rows, rows[name])
			}
		}
	}
	for _, name := range order {
		one.Tables = append(one.Tables, *tables[name])
	}
	return one, nil
}

// infraTitle names a metric by what it is, where that is known, and by its canonical name.
func infraTitle(i analysis.Infrastructure) string {
	name, group, _ := strings.Cut(i.Metric, "{")
	title := label(i.Metric)
	if g, at := gaugeOf(name); at < len(knownGauges) {
		title = g.title
		if group != "" {
			title += ", " + label(strings.TrimSuffix(strings.Replace(group, "=", " ", 1), "}"))
		}
		title += " · " + label(name)
	}
	if i.Series > 1 {
		title += ", the " + label(i.Of) + " of its series"
	}
	return title
}

func infraEntry(i analysis.Infrastructure) entry {
	unit := i.Unit
	if unit != "ratio" {
		unit = ""
	}
	if i.Rise.Value != nil {
		e := value(i.Rise, analysis.UnitCount)
		if i.PerS.Value != nil {
			e.Small = quantity(*i.PerS.Value, "") + "/s"
		}
		return e
	}
	e := value(i.Mean, unit)
	if i.Min.Value != nil && i.Max.Value != nil {
		e.Small = span(*i.Min.Value, *i.Max.Value, unit)
	}
	return e
}
