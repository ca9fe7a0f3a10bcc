package report

import (
	"fmt"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
)

// cdfs draws how the latencies of interactive requests are spread: a panel a phase, a
// line an arm, the first trial strong and the others faint.
func cdfs(s study) (section, error) {
	one := section{ID: "cdf", Title: "How latencies are spread", Nav: "Spread",
		Lead: "The share of the interactive requests offered that took at most so long. Left is faster; a curve that ends below 100\u00a0% had failures."}
	for _, metric := range []string{analysis.MetricTTFT, analysis.MetricITL, analysis.MetricE2E} {
		f, err := s.cdf(metric)
		if err != nil {
			return one, err
		}
		if f.Rows != nil {
			one.Figures = append(one.Figures, f)
		}
	}
	return one, nil
}

// Measures of a figure of distributions in pixels.
const (
	cdfHeight = 220
	cdfTop    = 44
)

func (s study) cdf(metric string) (figure, error) {
	f := figure{ID: "cdf-" + metric, Wide: true, Height: cdfTop + cdfHeight + 34,
		Alt:     fmt.Sprintf("Cumulative distribution of interactive %s by arm and phase; the table below has percentiles.", quantityName(metric)),
		Caption: "Strong line: the first trial. Faint lines: the others. Points are measured values, decimated for drawing.",
		Heads:   []string{"Arm", "Phase", "Trial", "p50", "p90", "p95", "p99", "Max"}}
	phases := s.phasesOf(record.ClassInteractive)
	low, high := 0.0, 0.0
	each := func(do func(phase int, a arm, nth int, c analysis.CellResult, p analysis.PhaseSummary)) {
		for i, phase := range phases {
			for _, a := range s.Arms {
				cells, _ := a.drawn()
				for nth, c := range cells {
					for _, p := range c.Phases {
						if p.Phase == phase && p.Class == record.ClassInteractive && len(p.CDFs[metric]) > 0 {
							do(i, a, nth, c, p)
						}
					}
				}
			}
		}
	}
	each(func(_ int, _ arm, _ int, _ analysis.CellResult, p analysis.PhaseSummary) {
		for _, at := range p.CDFs[metric] {
			if at[0] <= 0 || at[1] < 0.01 { // the fastest hundredth would stretch the axis
				continue
			}
			if low == 0 || at[0] < low {
				low = at[0]
			}
			high = max(high, at[0])
		}
	})
	if high == 0 {
		return f, nil
	}
	unit, factor := secondsUnit(high)
	from, to := decades(low*factor, high*factor)
	c := newCanvas("item")
	columns := max(min(len(phases), 3), 1)
	width := (100.0 - 2*float64(columns+1)) / float64(columns)
	rows := (len(phases) + columns - 1) / columns
	f.Height = rows*(cdfTop+cdfHeight+34) - 10
	for i, phase := range phases {
		left := 4 + float64(i%columns)*(width+2.5)
		top := i / columns * (cdfTop + cdfHeight + 34)
		c.text(quantityName(metric)+" in "+label(phase), percent(left-4), px(top+8), true)
		panel := c.panel(place{Left: percent(left), Width: percent(width - 2), Top: px(top + cdfTop), Height: px(cdfHeight)},
			scaleAxis{Min: from, Max: to, Log: true, Unit: "\u00a0" + unit},
			scaleAxis{Min: 0, Max: 100, Step: 25, Unit: "\u00a0%", Hidden: i%columns > 0})
		for _, at := range []float64{50, 95} {
			c.add(level(panel, at, fmt.Sprintf("p%.0f", at), false))
		}
	}
	each(func(phase int, a arm, nth int, cell analysis.CellResult, p analysis.PhaseSummary) {
		m := mark{Width: 2, Opacity: float64(a.Tag.opacity())}
		if nth > 0 {
			m = mark{Width: 1, Opacity: 0.35 * float64(a.Tag.opacity()), Faint: true}
		}
		c.line(phase, a.Tag.Label(), a.Tag.colour(), scaledPoints(p.CDFs[metric], factor, 100), m)
		d := map[string]analysis.Distribution{analysis.MetricTTFT: p.TTFT, analysis.MetricITL: p.ITL, analysis.MetricE2E: p.E2E}[metric]
		row := []string{a.Tag.Label(), label(p.Phase), fmt.Sprint(cell.Trial)}
		for _, v := range []analysis.Value{d.P50, d.P90, d.P95, d.P99, d.Max} {
			row = append(row, value(v, d.Unit).Text)
		}
		f.Rows = append(f.Rows, row)
	})
	f.Legend = tags(s.Arms)
	var err error
	f.Option, err = c.option()
	return f, err
}
