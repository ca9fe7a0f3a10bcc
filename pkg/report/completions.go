package report

import (
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// completions draws the progress of each job in all arms on one chart, with the phases
// of the interactive traffic and the deadline.
func completions(s study) (section, error) {
	one := section{ID: "completions", Title: "Batch jobs, arm against arm", Nav: "Jobs over time",
		Lead: "What each job had completed when. Shaded: the phases of the interactive traffic that are not idle."}
	var jobs []string
	for _, a := range s.withBatch() {
		cells, _ := a.drawn()
		for _, name := range curvesOf(cells, jobPrefix) {
			if !slices.Contains(jobs, name) {
				jobs = append(jobs, name)
			}
		}
	}
	slices.Sort(jobs)
	if jobs == nil {
		return one, nil
	}
	const height = 168
	axis := s.timeAxis()
	f := figure{ID: one.ID, Wide: true,
		Alt:   "Completed requests of each batch job over time, a line an arm; the table below has the numbers.",
		Heads: []string{"Job", "Arm", "Trial", "Done after", "Window", "Completed"}}
	c := newCanvas("axis")
	var beyond []string
	for i, name := range jobs {
		job := strings.TrimPrefix(name, jobPrefix)
		top, drawn := 0.0, 0
		for _, a := range s.withBatch() {
			cells, _ := a.drawn()
			for _, cell := range cells {
				for _, curve := range cell.Curves {
					if curve.Name == name {
						for _, p := range curve.Points {
							top = max(top, p[1])
						}
					}
				}
			}
		}
		end, step := axisEnd(1.04 * top)
		y := i * (height + 44)
		c.text("job "+label(job)+", requests completed", "0", px(y+4), true)
		x := scaleAxis{Min: axis.start, Max: axis.end, Open: true, Unit: "\u00a0" + axis.unit, Hidden: i < len(jobs)-1}
		panel := c.panel(place{Left: "52", Right: "26", Top: px(y + 34), Height: px(height)}, x, scaleAxis{Min: 0, Max: end, Step: step})
		for _, a := range s.withBatch() {
			cells, _ := a.drawn()
			for nth, cell := range cells {
				for _, curve := range cell.Curves {
					if curve.Name != name || len(curve.Points) == 0 {
						continue
					}
					m := mark{Width: 2, Opacity: float64(a.Tag.opacity())}
					if nth > 0 {
						m = mark{Width: 1, Opacity: 0.35 * float64(a.Tag.opacity()), Faint: true}
					}
					c.line(panel, a.Tag.Label(), a.Tag.colour(), thinned(scaledPoints(curve.Points, axis.factor, 1), 200), m)
				}
				for _, j := range cell.Jobs {
					if j.Job == job {
						f.Rows = append(f.Rows, []string{label(job), a.Tag.Label(), fmt.Sprint(cell.Trial), completionText(j), clock(j.WindowS), count(j.Completed)})
					}
				}
				if drawn == 0 {
					due, later := deadlines(cell, axis)
					due = slices.DeleteFunc(due, func(d deadline) bool { return d.job != label(job) })
					c.add(backdrop(cell.Bands, s.Idle, axis, panel, i == 0, due))
					for _, text := range later {
						if !slices.Contains(beyond, text) {
							beyond = append(beyond, text)
						}
					}
				}
				drawn++
			}
		}
	}
	f.Height = len(jobs)*(height+44) + 18
	f.Caption = "Strong line: the first valid trial. Faint lines: the others."
	if beyond != nil {
		f.Caption += " Due beyond the axis: " + list(beyond) + "."
	}
	f.Legend = tags(s.withBatch())
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	return one, err
}

func completionText(j analysis.JobSummary) string {
	if j.CompletionS.Value == nil {
		return dash
	}
	return clock(*j.CompletionS.Value)
}

// thinned keeps at most limit points of a line that only rises: every n-th and the last.
func thinned(points [][2]float64, limit int) [][2]float64 {
	if len(points) <= limit {
		return points
	}
	out := make([][2]float64, 0, limit)
	for i := range limit - 1 {
		out = append(out, points[i*len(points)/(limit-1)])
	}
	return append(out, points[len(points)-1])
}
