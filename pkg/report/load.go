package report

import (
	"fmt"

	"bgbench/pkg/analysis"
)

// load draws the load as it was planned and as it came, and how late.
func load(s study) (section, error) {
	one := section{ID: "load", Title: "The load that came", Nav: "Load",
		Lead: "What the schedule offered and what the generator sent. Every arm of a trial replays the same schedule, so the lines should lie on each other."}
	panels := []struct{ curve, title, unit string }{
		{"load:sent", "requests sent per second; grey: offered", ""},
		{"load:lateness", "largest lateness", "\u00a0ms"},
		{"load:failed", "requests per second that ended otherwise than ok", ""},
	}
	axis := s.timeAxis()
	f := figure{ID: one.ID, Wide: true, Caption: "The first valid trial of each arm.",
		Alt:   "Offered and sent requests per second, lateness and failures over time; the table below has the numbers.",
		Heads: []string{"Arm", "Trial", "Phase", "Offered/s", "Ok/s", "Lateness p50", "p99", "Max"}}
	c := newCanvas("axis")
	any := false
	const height = 96
	for i, p := range panels {
		top, factor := 0.0, 1.0
		if p.curve == "load:lateness" {
			factor = 1000
		}
		for _, a := range s.Arms {
			for _, curve := range a.firstCurves(p.curve) {
				for _, point := range curve.Points {
					top = max(top, point[1]*factor)
				}
			}
		}
		end, step := axisEnd(1.05 * top)
		y := i * (height + 40)
		c.text(p.title, "0", px(y+3), false)
		panel := c.panel(place{Left: "56", Right: "16", Top: px(y + 26), Height: px(height)},
			scaleAxis{Min: axis.start, Max: axis.end, Open: true, Unit: "\u00a0" + axis.unit, Hidden: i < len(panels)-1},
			scaleAxis{Min: 0, Max: end, Step: step, Unit: p.unit})
		for n, a := range s.Arms {
			if n == 0 {
				for _, curve := range a.firstCurves("load:offered") {
					if p.curve == "load:sent" {
						c.line(panel, "offered", "--axis", scaledPoints(curve.Points, axis.factor, 1), mark{Width: 0.5, Opacity: 1, Area: true, Step: true, Faint: true})
					}
				}
			}
			for _, curve := range a.firstCurves(p.curve) {
				any = true
				c.line(panel, a.Tag.Label(), a.Tag.colour(), scaledPoints(curve.Points, axis.factor, factor),
					mark{Width: 1.3, Opacity: 0.8 * float64(a.Tag.opacity()), Step: true})
			}
		}
	}
	if !any {
		return one, nil
	}
	for _, a := range s.Arms {
		for _, cell := range a.Cells {
			for _, p := range cell.Phases {
				if p.Lateness.N == 0 {
					continue
				}
				f.Rows = append(f.Rows, []string{a.Tag.Label(), fmt.Sprint(cell.Trial), label(p.Phase), value(p.OfferedPerS, "").Text, value(p.OKPerS, "").Text,
					value(p.Lateness.P50, "s").Text, value(p.Lateness.P99, "s").Text, value(p.Lateness.Max, "s").Text})
			}
		}
	}
	f.Height = len(panels)*(height+40) + 16
	f.Legend = tags(s.Arms)
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	return one, err
}

// firstCurves are the curves of a name in the first cell that figures over time show.
func (a arm) firstCurves(name string) []analysis.Curve {
	cells, _ := a.drawn()
	if len(cells) == 0 {
		return nil
	}
	var found []analysis.Curve
	for _, curve := range cells[0].Curves {
		if curve.Name == name && len(curve.Points) > 0 {
			found = append(found, curve)
		}
	}
	return found
}
