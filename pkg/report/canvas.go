package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"

	"bgbench/pkg/analysis"
)

// canvas is a chart of panels that stand below or beside each other. It writes the
// options of ECharts that go-echarts has no words for: log axes beside linear ones,
// marks and series that scripts of the page draw. Names in it are data, escaped as JSON.
type canvas struct {
	grids, xs, ys, texts, series []any
	names                        []string // of series that can be switched off
	trigger                      string   // of the tooltip: axis or item
}

// scaleAxis is one axis of a panel.
type scaleAxis struct {
	Min, Max float64
	Step     float64 // between ticks, 0 to leave it to the chart
	Unit     string  // behind every number
	Name     string  // of the axis
	Log      bool
	Octaves  bool // of a log axis: ticks at powers of two
	Hidden   bool // the numbers, which stand at a panel below
	Open     bool // it ends where it ends: no number there
	Inner    bool // neither end has a number
	Names    []string
}

// place of a panel, in pixels or percent.
type place struct{ Left, Right, Width, Top, Height string }

// mark is how a series looks.
type mark struct {
	Width   float64
	Opacity float64
	Dash    string
	Step    bool
	Area    bool
	Faint   bool // drawn, but not in the tooltip
	Symbol  int  // size of the points, 0 for none
}

func newCanvas(trigger string) *canvas { return &canvas{trigger: trigger} }

// panel adds a panel and returns its index.
func (c *canvas) panel(p place, x, y scaleAxis) int {
	grid := map[string]any{"top": p.Top, "height": p.Height, "left": p.Left}
	if p.Width != "" {
		grid["width"] = p.Width
	} else {
		grid["right"] = p.Right
	}
	index := len(c.grids)
	c.grids = append(c.grids, grid)
	c.xs = append(c.xs, x.option(index, true))
	c.ys = append(c.ys, y.option(index, false))
	return index
}

func (a scaleAxis) option(index int, horizontal bool) map[string]any {
	o := map[string]any{"gridIndex": index, "type": "value",
		"axisLabel": map[string]any{"show": !a.Hidden, "formatter": "{value}" + a.Unit, "hideOverlap": true},
		"axisLine":  map[string]any{"onZero": false, "show": horizontal}}
	if a.Name != "" {
		o["name"], o["nameLocation"], o["nameGap"] = a.Name, "middle", 28
		if !horizontal {
			o["nameGap"] = 46
		}
	}
	if a.Names != nil {
		o["type"], o["data"], o["inverse"] = "category", a.Names, !horizontal
		o["axisLabel"] = map[string]any{"show": !a.Hidden, "interval": 0, "width": 168, "overflow": "truncate"}
		return o
	}
	if a.Open {
		o["axisLabel"].(map[string]any)["showMaxLabel"], o["axisLabel"].(map[string]any)["showMinLabel"] = false, a.Min == 0
	}
	if a.Inner {
		o["axisLabel"].(map[string]any)["showMaxLabel"], o["axisLabel"].(map[string]any)["showMinLabel"] = false, false
	}
	if a.Log {
		o["type"] = "log"
		if a.Octaves {
			o["logBase"] = 2
		}
	}
	if a.Max > a.Min {
		o["min"], o["max"] = rounded(a.Min), rounded(a.Max)
	}
	if a.Step > 0 && !a.Log {
		o["interval"] = rounded(a.Step)
	}
	return o
}

// line draws points as a line that is switched by name.
func (c *canvas) line(panel int, name, colour string, points [][2]float64, m mark) {
	style := map[string]any{"color": colour, "width": m.Width, "opacity": m.Opacity}
	if m.Dash != "" {
		style["type"] = m.Dash
	}
	s := map[string]any{
		"type": "line", "name": name, "xAxisIndex": panel, "yAxisIndex": panel, "data": points,
		"showSymbol": false, "symbol": "none", "lineStyle": style, "itemStyle": map[string]any{"color": colour},
	}
	if m.Symbol > 0 {
		s["showSymbol"], s["symbol"], s["symbolSize"] = true, "circle", m.Symbol
	}
	if m.Step {
		s["step"] = "end"
	}
	if m.Area {
		s["areaStyle"] = map[string]any{"color": colour, "opacity": 0.14}
	}
	if m.Faint {
		s["silent"], s["tooltip"] = true, map[string]any{"show": false}
	}
	c.add(s)
}

// dots draws single points.
func (c *canvas) dots(panel int, name, colour string, data any, size int, more map[string]any) {
	s := map[string]any{
		"type": "scatter", "name": name, "xAxisIndex": panel, "yAxisIndex": panel, "data": data,
		"symbolSize": size, "itemStyle": map[string]any{"color": colour}, "z": 5,
	}
	for k, v := range more {
		s[k] = v
	}
	c.add(s)
}

// add takes any series. What has a name can be switched off by it.
func (c *canvas) add(series map[string]any) {
	c.series = append(c.series, series)
	if name, _ := series["name"].(string); name != "" && !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
}

// text writes at a place of the chart.
func (c *canvas) text(text, left, top string, heading bool) {
	c.texts = append(c.texts, chartText(text, left, top, heading))
}

func (c *canvas) option() (template.JS, error) {
	tooltip := map[string]any{"show": c.trigger != "", "trigger": c.trigger}
	if c.trigger == "axis" {
		tooltip["order"] = "valueDesc"
	}
	data, err := json.Marshal(map[string]any{
		"grid": c.grids, "xAxis": c.xs, "yAxis": c.ys, "title": c.texts, "series": c.series, "tooltip": tooltip,
		// Never seen: it switches series, for the buttons that the page has instead.
		"legend": map[string]any{"show": false, "data": c.names},
	})
	if err != nil {
		return "", fmt.Errorf("building a chart: %w", err)
	}
	return template.JS(data), nil
}

// level is a line across a panel with its name at the end.
func level(panel int, at float64, name string, vertical bool) map[string]any {
	axis := "yAxis"
	if vertical {
		axis = "xAxis"
	}
	return map[string]any{
		"type": "line", "data": []any{}, "silent": true, "xAxisIndex": panel, "yAxisIndex": panel,
		"markLine": map[string]any{
			"silent": true, "symbol": []string{"none", "none"}, "animation": false,
			"data":      []any{map[string]any{axis: rounded(at), "name": name}},
			"lineStyle": map[string]any{"color": "--ink", "width": 1, "type": "dashed", "opacity": 0.6},
			"label": map[string]any{"formatter": "{b}", "position": "insideEndTop", "fontSize": 11, "color": "--muted",
				"width": 220, "overflow": "truncate", "show": name != ""},
		},
	}
}

// narrow is up to which ratio of its ends an axis of ratios has ticks at powers of two: those
// of ten would be too few.
const narrow = 32

// ratioAxis is a log axis of ratios that holds what lies between low and high.
func ratioAxis(low, high float64) scaleAxis {
	a := scaleAxis{Log: true, Unit: "×"}
	if a.Octaves = low > 0 && high >= low && high < narrow*low; a.Octaves {
		a.Min, a.Max = math.Exp2(math.Floor(math.Log2(low))), math.Exp2(math.Floor(math.Log2(high))+1)
	} else {
		a.Min, a.Max = decades(low, high)
	}
	return a
}

// decades is a log axis that holds what lies between low and high. It begins and ends at
// 1, 2 or 5 times a power of ten.
func decades(low, high float64) (from, to float64) {
	if !(low > 0) || !(high >= low) {
		return 0.1, 10
	}
	steps := [...]float64{1, 2, 5, 10}
	floor := math.Pow(10, math.Floor(math.Log10(low)))
	from = floor
	for _, m := range steps {
		if m*floor <= low*(1+1e-9) {
			from = m * floor
		}
	}
	ceiling := math.Pow(10, math.Floor(math.Log10(high)))
	for _, m := range steps {
		if to = m * ceiling; to >= high*(1-1e-9) {
			break
		}
	}
	if from == to {
		to *= 2
	}
	return rounded(from), rounded(to)
}

// scaledPoints multiplies both sides of points.
func scaledPoints(points [][2]float64, x, y float64) [][2]float64 {
	out := make([][2]float64, len(points))
	for i, p := range points {
		out[i] = [2]float64{rounded(p[0] * x), rounded(p[1] * y)}
	}
	return out
}

// tags of arms, as the legend of a figure.
func tags(arms []arm) []tag {
	var list []tag
	for _, a := range arms {
		list = append(list, a.Tag)
	}
	return list
}

// estimated is the median of a metric of an arm and its trials.
func (a arm) estimated(key string) (analysis.Estimate, bool) {
	e, ok := a.Metrics[key]
	return e, ok && e.Median != nil
}

// panelPoints is how many points a line of a small panel has at most: two for each of its
// pixels that can be told apart on paper.
const panelPoints = 300
