package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"bgbench/pkg/analysis"
)

// gauge is a metric of a component that has a name of its own here.
type gauge struct {
	name  string // canonical
	title string
	share bool // of 1, shown in percent
}

// knownGauges come first and in this order; what else there is follows by name.
var knownGauges = [...]gauge{
	{"vllm:num_requests_running", "requests running", false},
	{"vllm:num_requests_waiting", "requests waiting", false},
	{"vllm:kv_cache_usage_perc", "KV cache in use", true},
	{"batch_processor_aimd_concurrency_limit", "AIMD concurrency limit", false},
	{"llm_d_async_async_dispatch_budget", "dispatch budget of the async processor", true},
	{"llm_d_epp_flow_control_pool_saturation", "saturation of the pool", true},
	{"llm_d_epp_flow_control_queue_size", "waiting in the router", false},
	{"load:failed", "attempts that ended otherwise than ok, per second", false},
	{"llm_d_epp_flow_control_revocations_issued_total", "evictions so far", false},
	{"processor_inflight_requests", "in flight from the batch gateway", false},
	{"llm_d_async_async_inflight_requests", "in flight from the async processor", false},
	{"llm_d_epp_inflight_requests", "requests in flight at the router", false},
	{"llm_d_epp_inflight_tokens", "tokens in flight at the router", false},
	{"vllm:num_preemptions_total", "preemptions", false},
	{"vllm:generation_tokens_total", "tokens generated", false},
	{"vllm:prompt_tokens_total", "prompt tokens", false},
	{aimdDecreases, "AIMD decreases", false},
	{aimdIncreases, "AIMD increases", false},
	{"llm_d_async_async_request_retries_total", "retries of the async processor", false},
}

func gaugeOf(name string) (gauge, int) {
	for i, g := range knownGauges {
		if g.name == name {
			return g, i
		}
	}
	return gauge{name: name, title: label(name)}, len(knownGauges)
}

// Measures of a panel in pixels.
const (
	panelHeight = 74
	panelGap    = 30
)

// servers draws the gauges of each arm over time, a panel a gauge, with the same
// axes for all arms.
func (s study) servers() ([]figure, error) {
	var names []string
	top := map[string]float64{}
	for _, a := range s.Arms {
		cells, _ := a.drawn()
		for _, c := range cells[:min(1, len(cells))] {
			for _, curve := range c.Curves {
				if !isGauge(curve) {
					continue
				}
				if !slices.Contains(names, curve.Name) {
					names = append(names, curve.Name)
				}
				for _, p := range curve.Points {
					top[curve.Name] = max(top[curve.Name], p[1])
				}
			}
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		_, i := gaugeOf(x)
		_, j := gaugeOf(y)
		if i != j {
			return i - j
		}
		return strings.Compare(x, y)
	})
	var figures []figure
	if len(names) == 0 {
		return figures, nil
	}
	axis := s.timeAxis()
	for _, a := range s.Arms {
		cells, caption := a.drawn()
		if len(cells) == 0 || !hasCurve(cells[0], names) {
			continue
		}
		f, err := serverPanels(fmt.Sprintf("servers-%d", len(figures)), a, cells[0], s.Idle, names, top, axis)
		if err != nil {
			return nil, err
		}
		f.Caption = caption + f.Caption
		figures = append(figures, f)
	}
	return figures, nil
}

// AIMD counts its signals; they are marks on its limit.
const (
	aimdLimit     = "batch_processor_aimd_concurrency_limit"
	aimdDecreases = "batch_processor_aimd_decreases_total"
	aimdIncreases = "batch_processor_aimd_increases_total"
	gateBudget    = "llm_d_async_async_dispatch_budget"
	evictions     = "llm_d_epp_flow_control_revocations_issued_total"
	failedLoad    = "load:failed"
)

// isGauge reports whether a curve has a panel of its own. Failures have one where there
// were any.
func isGauge(curve analysis.Curve) bool {
	switch {
	case len(curve.Points) == 0, strings.HasPrefix(curve.Name, jobPrefix), curve.Name == aimdDecreases, curve.Name == aimdIncreases:
		return false
	case curve.Name == failedLoad, curve.Name == evictions:
		return slices.ContainsFunc(curve.Points, func(p [2]float64) bool { return p[1] > 0 })
	}
	return !strings.HasPrefix(curve.Name, "load:")
}

// rises are the points at which a counter had grown.
func rises(curve analysis.Curve) [][2]float64 {
	var at [][2]float64
	for i, p := range curve.Points {
		if i > 0 && p[1] > curve.Points[i-1][1] {
			at = append(at, p)
		}
	}
	return at
}

// events marks what happened in a panel: cuts of the AIMD limit, closings of the gate,
// evictions.
func events(cell analysis.CellResult, name string, axis timeAxis, factor float64, panel int) map[string]any {
	var data []any
	text := ""
	mark := func(at, level float64) {
		data = append(data, []float64{rounded(at * axis.factor), rounded(level * factor)})
	}
	for _, curve := range cell.Curves {
		switch {
		case name == aimdLimit && curve.Name == aimdLimit:
			text = "limit cut"
			for i, p := range curve.Points {
				if i > 0 && p[1] < curve.Points[i-1][1] {
					mark(p[0], p[1])
				}
			}
		case name == gateBudget && curve.Name == gateBudget:
			text = "gate closed"
			for i, p := range curve.Points {
				if p[1] == 0 && (i == 0 || curve.Points[i-1][1] > 0) {
					mark(p[0], 0)
				}
			}
		case name == evictions && curve.Name == evictions:
			text = "evicted"
			for _, p := range rises(curve) {
				mark(p[0], p[1])
			}
		}
	}
	if data == nil {
		return nil
	}
	return map[string]any{"type": "scatter", "name": text, "xAxisIndex": panel, "yAxisIndex": panel, "data": data, "symbol": "triangle", "symbolRotate": 180,
		"symbolSize": 6, "silent": true, "z": 6, "tooltip": map[string]any{"show": false}, "itemStyle": map[string]any{"color": "--ink", "opacity": 0.75}}
}

// ownAxis is how much higher the highest arm may be before another one has an axis of its
// own: on the common one nothing of it could be seen.
const ownAxis = 20

func highest(cell analysis.CellResult, name string) float64 {
	most := 0.0
	for _, curve := range cell.Curves {
		if curve.Name == name {
			for _, p := range curve.Points {
				most = max(most, p[1])
			}
		}
	}
	return most
}

func hasCurve(c analysis.CellResult, names []string) bool {
	return slices.ContainsFunc(c.Curves, func(curve analysis.Curve) bool {
		return slices.Contains(names, curve.Name) && isGauge(curve)
	})
}

func serverPanels(id string, a arm, cell analysis.CellResult, idle string, names []string,
	top map[string]float64, axis timeAxis) (figure, error) {
	tag := a.Tag
	var present []string
	for _, name := range names {
		if hasCurve(cell, []string{name}) {
			present = append(present, name)
		}
	}
	f := figure{
		ID: id, Arm: &tag, Height: len(present)*(panelHeight+panelGap) + 26,
		Alt:     "Gauges of servers, router and gateways of " + tag.Label() + " over time; the table below has the numbers.",
		Caption: fmt.Sprintf("Trial %d.", cell.Trial),
		Heads:   []string{"At"},
	}
	chart := charts.NewLine()
	chart.XAxisList, chart.YAxisList = nil, nil
	chart.SetGlobalOptions(charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}))
	var texts, backdrops []any
	var columns []analysis.Curve
	sources := 0
	var marked []string
	for panel, name := range present {
		g, _ := gaugeOf(name)
		unit, factor := "", 1.0
		end, _ := axisEnd(1.02 * top[name])
		if g.share {
			unit, factor = " %", 100
			if end = 100; top[name] > 1 {
				end, _ = axisEnd(102 * top[name])
			}
		}
		y := panel * (panelHeight + panelGap)
		title := g.title
		if own := highest(cell, name); !g.share && own > 0 && own < top[name]/ownAxis {
			end, _ = axisEnd(1.02 * own)
			title += ", on an axis of its own"
		}
		texts = append(texts, chartText(title, "0", px(y+3), false))
		chart.SetGlobalOptions(charts.WithGridOpts(opts.Grid{
			Left: "48", Right: "14", Top: px(y + panelGap - 6), Height: px(panelHeight)}))
		chart.ExtendXAxis(axis.option(panel, panel == len(present)-1))
		chart.ExtendYAxis(opts.YAxis{Type: "value", GridIndex: panel, Min: 0, Max: end,
			MinInterval: end / 2, MaxInterval: end / 2, AxisLabel: &opts.AxisLabel{Show: opts.Bool(true), Formatter: types.FuncStr("{value}" + unit)}})
		nth := 0
		for _, curve := range cell.Curves {
			if curve.Name != name || !isGauge(curve) {
				continue
			}
			chart.AddSeries(seriesName(g, curve), linePoints(curve, axis, factor),
				charts.WithLineChartOpts(opts.LineChart{
					XAxisIndex: panel, YAxisIndex: panel, ShowSymbol: opts.Bool(false), Symbol: "none"}),
				charts.WithLineStyleOpts(opts.LineStyle{
					Color: tag.colour(), Width: 1.2, Opacity: opts.Float(0.75 * tag.opacity())}),
				charts.WithItemStyleOpts(opts.ItemStyle{Color: tag.colour()}),
			)
			f.Heads = append(f.Heads, seriesName(g, curve))
			columns = append(columns, curve)
			nth++
		}
		sources = max(sources, nth)
		backdrops = append(backdrops, backdrop(cell.Bands, idle, axis, panel, false, nil))
		if marks := events(cell, name, axis, factor, panel); marks != nil {
			backdrops = append(backdrops, marks)
			marked = append(marked, fmt.Sprint(marks["name"]))
		}
	}
	if sources > 1 {
		f.Caption += " A line a server."
	}
	if marked != nil {
		f.Caption += " Triangles: " + list(marked) + "."
	}
	for _, b := range cell.Bands {
		middle := (b.StartS + b.EndS) / 2
		row := []string{fmt.Sprintf("%s, middle of %s %d", clock(middle), label(b.Phase), b.Cycle+1)}
		for _, curve := range columns {
			unit := ""
			if g, _ := gaugeOf(curve.Name); g.share {
				unit = "ratio"
			}
			row = append(row, sampleAt(curve, middle, unit))
		}
		f.Rows = append(f.Rows, row)
	}
	option, err := chartOption(chart, func(option map[string]any) {
		option["title"] = texts
		series, _ := option["series"].([]any)
		option["series"] = append(series, backdrops...)
	})
	f.Option = option
	return f, err
}

func seriesName(g gauge, curve analysis.Curve) string {
	if curve.Source == "" {
		return g.title
	}
	return g.title + ", " + label(curve.Source)
}
