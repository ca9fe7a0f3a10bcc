package report

import (
	"slices"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
)

// goodput draws which share of the requests offered kept the declared SLO.
func goodput(s study) (section, error) {
	one := section{ID: "goodput", Title: "Goodput", Nav: "Goodput"}
	slo := ""
	for _, c := range s.Results.Cells {
		for _, p := range c.Phases {
			g := p.Goodput
			for _, bound := range []struct {
				name string
				at   *float64
			}{{"TTFT", g.TTFTS}, {"TPOT", g.TPOTS}, {"end-to-end", g.E2ES}} {
				if bound.at != nil && slo == "" {
					slo = bound.name + " ≤ " + quantity(*bound.at, "s")
				} else if bound.at != nil {
					slo += ", " + bound.name + " ≤ " + quantity(*bound.at, "s")
				}
			}
			if slo != "" {
				break
			}
		}
		if slo != "" {
			break
		}
	}
	key := func(phase string) string {
		return analysis.MetricKey(phase, record.ClassInteractive, analysis.MetricGoodput, analysis.StatRatio)
	}
	if slo == "" || !slices.ContainsFunc(s.Arms, func(a arm) bool {
		return slices.ContainsFunc(s.Phases, func(phase string) bool { _, ok := a.estimated(key(phase)); return ok })
	}) {
		return one, nil
	}
	one.Lead = "The share of the requests offered that ended ok and kept every bound of the SLO, declared before the run: " + slo + ". A request that failed counts against it."
	f, err := s.bars("goodput", record.ClassInteractive, []barColumn{
		{"good, of those offered", analysis.MetricGoodput, analysis.StatRatio},
		{"good requests per second", analysis.MetricGoodput, analysis.StatPerS},
	})
	f.Caption = "Bar: median over trials. Whisker: smallest to largest trial. Dot: one trial."
	one.Figures = []figure{f}
	return one, err
}
