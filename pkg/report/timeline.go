package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"bgbench/pkg/analysis"
)

// timeAxis is the axis that all figures over time share.
type timeAxis struct {
	start, end float64 // in unit
	unit       string
	factor     float64 // seconds to unit
}

func (s study) timeAxis() timeAxis {
	start, end := 0.0, 0.0
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			for _, b := range c.Bands {
				end = max(end, b.EndS)
			}
			for _, curve := range c.Curves {
				if n := len(curve.Points); n > 0 {
					start, end = min(start, curve.Points[0][0]), max(end, curve.Points[n-1][0])
				}
			}
		}
	}
	if end-start >= 300 {
		return timeAxis{start / 60, end / 60, "min", 1.0 / 60}
	}
	return timeAxis{start, end, "s", 1}
}

func (t timeAxis) option(panel int, last bool) opts.XAxis {
	return opts.XAxis{
		Type: "value", GridIndex: panel, Min: rounded(t.start), Max: rounded(t.end),
		AxisLabel: &opts.AxisLabel{
			Show: opts.Bool(last), Formatter: types.FuncStr("{value} " + t.unit), HideOverlap: opts.Bool(true),
			ShowMinLabel: opts.Bool(t.start == 0), ShowMaxLabel: opts.Bool(false),
		},
		AxisPointer: &opts.AxisPointer{Label: &opts.Label{Formatter: "{value} " + t.unit}},
	}
}

// dashes tell jobs or sources apart within the colour of an arm.
var dashes = [...]string{"solid", "dashed", "dotted"}

const jobPrefix = "job:"

// timelines draws how the jobs of each arm progressed, small multiples with the
// same axes: a line a job, the first valid trial strong and the others faint.
func (s study) timelines() ([]figure, error) {
	axis := s.timeAxis()
	top := 0.0
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			for _, curve := range c.Curves {
				if strings.HasPrefix(curve.Name, jobPrefix) {
					for _, p := range curve.Points {
						top = max(top, p[1])
					}
				}
			}
			for _, j := range c.Jobs {
				top = max(top, float64(j.Total))
			}
		}
	}
	var figures []figure
	for _, a := range s.withBatch() {
		cells, caption := a.drawn()
		if len(curvesOf(cells, jobPrefix)) == 0 {
			continue
		}
		f, err := timeline(fmt.Sprintf("timeline-%d", len(figures)), a, cells, s.Idle, axis, top)
		if err != nil {
			return nil, err
		}
		f.Caption = caption + f.Caption
		figures = append(figures, f)
	}
	return figures, nil
}

// drawn returns the cells that figures over time show, and what has to be said
// about them.
func (a arm) drawn() (cells []analysis.CellResult, caption string) {
	if cells = a.valid(); len(cells) > 0 {
		return cells, ""
	}
	return a.Cells, "No trial of this arm is valid. "
}

// curvesOf returns the names of curves that begin with prefix, sorted.
func curvesOf(cells []analysis.CellResult, prefix string) []string {
	names := map[string]bool{}
	for _, c := range cells {
		for _, curve := range c.Curves {
			if strings.HasPrefix(curve.Name, prefix) && len(curve.Points) > 0 {
				names[curve.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func timeline(id string, a arm, cells []analysis.CellResult, idle string, axis timeAxis, top float64) (figure, error) {
	tag := a.Tag
	f := figure{
		ID: id, Arm: &tag, Height: 266,
		Alt: "Requests completed over time by the batch jobs of " + tag.Label() + "; the table below has the numbers.",
	}
	chart := charts.NewLine()
	chart.XAxisList, chart.YAxisList = nil, nil
	chart.SetGlobalOptions(
		charts.WithGridOpts(opts.Grid{Left: "48", Right: "26", Top: "46", Bottom: "26"}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
	)
	chart.ExtendXAxis(axis.option(0, true))
	end, step := axisEnd(1.08 * top) // room for the name at the end of a line
	chart.ExtendYAxis(opts.YAxis{Type: "value", Min: 0, Max: end, MinInterval: step, MaxInterval: step,
		AxisLabel: &opts.AxisLabel{Show: opts.Bool(true)}})
	jobs := curvesOf(cells, jobPrefix)
	f.Heads = []string{"At"}
	for i, name := range jobs {
		job := label(strings.TrimPrefix(name, jobPrefix))
		for nth, c := range cells {
			f.Heads = append(f.Heads, fmt.Sprintf("%s, trial %d", job, c.Trial))
			for _, curve := range c.Curves {
				if curve.Name != name || len(curve.Points) == 0 {
					continue
				}
				width, opacity := float32(2), a.Tag.opacity()
				if nth > 0 {
					width, opacity = 1, opacity*0.45
				}
				chart.AddSeries(fmt.Sprintf("%s, trial %d", job, c.Trial), linePoints(curve, axis, 1),
					charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false), Symbol: "none"}),
					charts.WithLineStyleOpts(opts.LineStyle{
						Color: tag.colour(), Width: width, Type: dashes[i%len(dashes)], Opacity: opts.Float(opacity),
					}),
					charts.WithItemStyleOpts(opts.ItemStyle{Color: tag.colour()}),
				)
			}
		}
	}
	due, beyond := deadlines(cells[0], axis)
	f.Caption += timelineCaption(cells, jobs, beyond)
	f.Rows = progressRows(cells, jobs)
	option, err := chartOption(chart, func(option map[string]any) {
		option["title"] = []any{chartText("completed requests", "0", "3", false)}
		series, _ := option["series"].([]any)
		series = append(series, backdrop(cells[0].Bands, idle, axis, 0, true, due))
		if ends := jobEnds(cells[0], jobs, axis, top, tag); ends != nil {
			series = append(series, ends)
		}
		option["series"] = series
	})
	f.Option = option
	return f, err
}

func linePoints(curve analysis.Curve, axis timeAxis, factor float64) []opts.LineData {
	drawn := analysis.Decimate(curve.Points, panelPoints)
	points := make([]opts.LineData, len(drawn))
	for i, p := range drawn {
		points[i] = opts.LineData{Value: [2]float64{rounded(p[0] * axis.factor), rounded(p[1] * factor)}}
	}
	return points
}

// jobEnds marks the last point of each job with the job's name. Jobs that end
// together share one label, which would be unreadable three times over.
func jobEnds(cell analysis.CellResult, jobs []string, axis timeAxis, top float64, t tag) map[string]any {
	var data []map[string]any
	var ends [][2]float64
	for _, curve := range cell.Curves {
		n := len(curve.Points)
		if n == 0 || !slices.Contains(jobs, curve.Name) {
			continue
		}
		end := [2]float64{rounded(curve.Points[n-1][0] * axis.factor), rounded(curve.Points[n-1][1])}
		name := label(strings.TrimPrefix(curve.Name, jobPrefix))
		near := slices.IndexFunc(ends, func(other [2]float64) bool {
			return math.Abs(end[0]-other[0]) < 0.05*(axis.end-axis.start) && math.Abs(end[1]-other[1]) < 0.08*top
		})
		if near >= 0 {
			data[near]["name"] = fmt.Sprint(data[near]["name"], " ", name)
			name = ""
		}
		ends = append(ends, end)
		data = append(data, map[string]any{"name": name, "value": end})
	}
	if data == nil {
		return nil
	}
	return map[string]any{
		"type": "scatter", "data": data, "symbolSize": 7, "silent": true, "z": 6,
		"tooltip":   map[string]any{"show": false},
		"itemStyle": map[string]any{"color": t.colour()},
		"label": map[string]any{
			"show": true, "formatter": "{b}", "position": "top", "distance": 4, "fontWeight": 600, "color": "--ink",
			"width": 60, "overflow": "truncate",
		},
	}
}

// deadline is where a job's window ends on the time axis.
type deadline struct {
	job string
	at  float64 // in the unit of the axis
}

// deadlines returns those that the axis reaches, and a phrase for each of the rest.
func deadlines(cell analysis.CellResult, axis timeAxis) (due []deadline, beyond []string) {
	for _, j := range cell.Jobs {
		if j.WindowS <= 0 {
			continue
		}
		created := 0.0
		for _, curve := range cell.Curves {
			if curve.Name == jobPrefix+j.Job && len(curve.Points) > 0 {
				created = curve.Points[0][0]
			}
		}
		at := (created + j.WindowS) * axis.factor
		if at > axis.end {
			beyond = append(beyond, label(j.Job)+" after "+clock(j.WindowS))
			continue
		}
		due = append(due, deadline{label(j.Job), rounded(at)})
	}
	return due, beyond
}

// backdrop is a line without points that carries phase bands and deadlines.
// The idle phase is the page's own colour, every other phase is shaded.
func backdrop(bands []analysis.Band, idle string, axis timeAxis, panel int, named bool, due []deadline) map[string]any {
	var areas [][]map[string]any
	seen := map[string]bool{}
	for _, b := range bands {
		if b.Phase == idle {
			continue
		}
		area := map[string]any{
			"xAxis":     rounded(b.StartS * axis.factor),
			"itemStyle": map[string]any{"color": "--band", "opacity": 1},
		}
		text := b.Phase
		if b.Warmup {
			text = "warm-up"
			area["itemStyle"] = map[string]any{"color": "--band", "opacity": 0.45}
		}
		if named && !seen[text] {
			seen[text] = true
			area["name"] = label(text)
		}
		areas = append(areas, []map[string]any{area, {"xAxis": rounded(b.EndS * axis.factor)}})
	}
	series := map[string]any{
		"type": "line", "data": []any{}, "silent": true, "xAxisIndex": panel, "yAxisIndex": panel,
		"markArea": map[string]any{
			"silent": true, "data": areas,
			"label": map[string]any{"position": "top", "distance": 8, "fontSize": 11, "color": "--muted", "formatter": "{b}"},
		},
	}
	if due != nil {
		var lines []map[string]any
		for _, d := range due {
			lines = append(lines, map[string]any{"xAxis": d.at, "name": d.job + " due"})
		}
		series["markLine"] = map[string]any{
			"silent": true, "symbol": []string{"none", "none"}, "data": lines, "animation": false,
			"lineStyle": map[string]any{"color": "--ink", "width": 1, "type": "dashed", "opacity": 0.7},
			"label": map[string]any{"formatter": "{b}", "position": "end", "distance": 3, "fontSize": 11, "color": "--ink",
				"width": 90, "overflow": "truncate"},
		}
	}
	return series
}

// lift returns the caption that all figures share and takes it from them, so that
// it is read once.
func lift(figures []figure) string {
	if len(figures) < 2 {
		return ""
	}
	shared := figures[0].Caption
	for _, f := range figures {
		if f.Caption != shared {
			return ""
		}
	}
	for i := range figures {
		figures[i].Caption = ""
	}
	return shared
}

func timelineCaption(cells []analysis.CellResult, jobs, beyond []string) string {
	parts := []string{fmt.Sprintf("Strong line: trial %d.", cells[0].Trial)}
	if len(cells) > 1 {
		parts = append(parts, "Faint lines: the other trials.")
	}
	if len(jobs) > 1 {
		var styles []string
		for i, name := range jobs {
			styles = append(styles, label(strings.TrimPrefix(name, jobPrefix))+" "+dashes[i%len(dashes)])
		}
		parts = append(parts, "Jobs: "+strings.Join(styles, ", ")+".")
	}
	if beyond != nil {
		parts = append(parts, "Due beyond the axis: "+list(beyond)+".")
	}
	return strings.Join(parts, " ")
}

// progressRows reads the curves at the end of each phase.
func progressRows(cells []analysis.CellResult, jobs []string) [][]string {
	var rows [][]string
	for _, b := range cells[0].Bands {
		row := []string{fmt.Sprintf("%s, end of %s %d", clock(b.EndS), label(b.Phase), b.Cycle+1)}
		for _, name := range jobs {
			for _, c := range cells {
				row = append(row, valueAt(c, name, b.EndS, ""))
			}
		}
		rows = append(rows, row)
	}
	row := []string{"end of the run"}
	for _, name := range jobs {
		for _, c := range cells {
			row = append(row, valueAt(c, name, 1e18, ""))
		}
	}
	return append(rows, row)
}

// valueAt is the last sample of a curve up to an instant.
func valueAt(c analysis.CellResult, name string, at float64, unit string) string {
	for _, curve := range c.Curves {
		if curve.Name == name {
			return sampleAt(curve, at, unit)
		}
	}
	return dash
}

func sampleAt(curve analysis.Curve, at float64, unit string) string {
	i, found := slices.BinarySearchFunc(curve.Points, at, func(p [2]float64, at float64) int { return cmp.Compare(p[0], at) })
	if !found {
		i--
	}
	if i < 0 {
		return dash
	}
	return quantity(curve.Points[i][1], unit)
}
