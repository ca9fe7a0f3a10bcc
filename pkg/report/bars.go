package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"bgbench/pkg/analysis"
)

// Measures of the bars figure in pixels, and its columns in percent of the width.
const (
	barsRow    = 27 // one arm
	barsTop    = 26 // the headings of the columns
	barsGap    = 30 // between phases, with the name of the phase in it
	barsBottom = 34 // the axis
	barsName   = 22 // characters of the name of an arm
	barsLeft   = 19.0
	barsWidth  = 24.0
	barsStep   = 27.5
)

// barColumn is a metric that bars show side by side.
type barColumn struct{ head, metric, stat string }

// percentiles are the columns of a latency.
func percentiles(metric string) []barColumn {
	var columns []barColumn
	for _, stat := range []string{analysis.StatP50, analysis.StatP95, analysis.StatP99} {
		columns = append(columns, barColumn{stat, metric, stat})
	}
	return columns
}

// bars draws metrics of the requests of a class: a row an arm, a block a phase, a
// column a percentile. A bar is the median over trials, its whisker reaches from
// the smallest to the largest trial and each dot is a trial. The phases of a
// column share their axis, which begins at zero.
func (s study) bars(id, class string, columns []barColumn) (figure, error) {
	var heads []string
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	f := figure{
		ID: id, Wide: true,
		Alt: fmt.Sprintf("Bars of %s %s %s by arm and phase; the table below has the numbers.", class, quantityName(columns[0].metric), list(heads)),
		Caption: "Bar: median over trials. Whisker: smallest to largest trial. Dot: one trial. " +
			"Requests that ended ok, from the instant they were sent.",
		Heads: []string{"Arm", "Phase", "Statistic", "Median", "Min", "Max", "Interval", "n", "Trials"},
	}
	phases := s.phasesOf(class)
	block := len(s.Arms)*barsRow + barsGap
	f.Height = barsTop + max(len(phases), 1)*block + barsBottom

	names := make([]string, len(s.Arms))
	for i, a := range s.Arms {
		names[i] = shortened(a.Tag.Label(), barsName)
	}
	bar := charts.NewBar()
	bar.XYReversal()
	bar.SetXAxis(names)
	bar.XAxisList, bar.YAxisList = nil, nil
	var whiskers []map[string]any
	var texts []map[string]any
	var missing []string
	for row, phase := range phases {
		top := barsTop + row*block
		texts = append(texts, chartText(label(phase), "0", px(top+4), true))
		for column, of := range columns {
			index := row*len(columns) + column
			unit, factor := s.barsUnit(class, of, columns)
			left := barsLeft + float64(column)*barsStep
			if row == 0 {
				texts = append(texts, chartText(of.head, percent(left), "3", true))
			}
			bar.SetGlobalOptions(charts.WithGridOpts(opts.Grid{
				Left: percent(left), Width: percent(barsWidth), Top: px(top + barsGap - 4), Height: px(len(s.Arms) * barsRow),
			}))
			last := row == len(phases)-1
			// A quarter of the axis is for the number at the end of the longest whisker.
			end, step := axisEnd(1.28 * factor * s.largest(class, of.metric, of.stat))
			if of.stat == analysis.StatRatio {
				end, step = 130, 50 // nothing is above 100 %, the rest is for the numbers
			}
			bar.ExtendXAxis(opts.XAxis{
				Type: "value", GridIndex: index, Min: 0, Max: end, MinInterval: step, MaxInterval: step,
				AxisLabel: &opts.AxisLabel{Show: opts.Bool(last), Formatter: types.FuncStr("{value}" + unit), HideOverlap: opts.Bool(true),
					ShowMaxLabel: opts.Bool(of.stat != analysis.StatRatio)},
			})
			bar.ExtendYAxis(opts.YAxis{
				Type: "category", GridIndex: index, Data: names, Inverse: opts.Bool(true),
				AxisLabel: &opts.AxisLabel{Show: opts.Bool(column == 0), Interval: "0", Width: 168, Overflow: "truncate"},
			})
			var medians []opts.BarData
			var payload []map[string]any
			for _, a := range s.Arms {
				e := a.Metrics[analysis.MetricKey(phase, class, of.metric, of.stat)]
				medians = append(medians, opts.BarData{
					Value:     scaled(e.Median, factor),
					ItemStyle: &opts.ItemStyle{Color: a.Tag.colour(), Opacity: opts.Float(a.Tag.opacity())},
				})
				payload = append(payload, trialMarks(e, factor))
				f.Rows = append(f.Rows, estimateRow(a, phase, of.head, e))
				if reason := prose(e.Reason); e.Median == nil && reason != "" && !slices.Contains(missing, reason) {
					missing = append(missing, reason)
				}
			}
			bar.AddSeries(of.head+" in "+label(phase), medians, charts.WithBarChartOpts(opts.BarChart{
				XAxisIndex: index, YAxisIndex: index, BarWidth: "58%",
			}))
			whiskers = append(whiskers, trialSeries(index, len(s.Arms), payload))
		}
	}
	if missing != nil {
		f.Caption += " " + dash + ": " + strings.Join(missing, "; ") + "."
	}
	option, err := chartOption(horizontal{bar}, func(option map[string]any) {
		option["title"] = texts
		option["tooltip"] = map[string]any{"show": false}
		series, _ := option["series"].([]any)
		for i := range series {
			if one, ok := series[i].(map[string]any); ok {
				one["silent"] = true
			}
		}
		for _, w := range whiskers {
			series = append(series, w)
		}
		option["series"] = series
	})
	f.Option = option
	return f, err
}

// horizontal keeps the axes of a bar chart with several grids: Validate of
// go-echarts writes one list of categories into the first pair.
type horizontal struct{ *charts.Bar }

func (horizontal) Validate() {}

// barsUnit is the unit of a column: one for all that show the same quantity.
func (s study) barsUnit(class string, of barColumn, columns []barColumn) (unit string, factor float64) {
	switch of.stat {
	case analysis.StatRatio:
		return "\u00a0%", 100
	case analysis.StatPerS:
		return "", 1
	}
	largest := 0.0
	for _, c := range columns {
		largest = max(largest, s.largest(class, c.metric, c.stat))
	}
	unit, factor = secondsUnit(largest)
	return " " + unit, factor
}

// phasesOf lists the phases in which some arm has requests of a class.
func (s study) phasesOf(class string) []string {
	var phases []string
	for _, phase := range s.Phases {
		if slices.ContainsFunc(s.Results.Cells, func(c analysis.CellResult) bool {
			return slices.ContainsFunc(c.Phases, func(p analysis.PhaseSummary) bool {
				return p.Phase == phase && p.Class == class && p.Requests > 0
			})
		}) {
			phases = append(phases, phase)
		}
	}
	return phases
}

// has reports whether any arm has a value of a metric in any phase.
func (s study) has(class, metric string) bool {
	return slices.ContainsFunc(s.Arms, func(a arm) bool {
		return slices.ContainsFunc(s.Phases, func(phase string) bool {
			_, ok := a.estimated(analysis.MetricKey(phase, class, metric, analysis.StatP50))
			return ok
		})
	})
}

// largest is the highest value of a statistic in any trial of any arm and phase.
func (s study) largest(class, metric, stat string) float64 {
	largest := 0.0
	for _, a := range s.Arms {
		for _, phase := range s.Phases {
			e := a.Metrics[analysis.MetricKey(phase, class, metric, stat)]
			for _, v := range append([]*float64{e.Median, e.Max}, e.Values...) {
				if v != nil {
					largest = max(largest, *v)
				}
			}
		}
	}
	return largest
}

// axisEnd returns where an axis from zero ends and the step of its ticks: a round
// number of steps at or above want.
func axisEnd(want float64) (end, step float64) {
	if want <= 0 {
		return 1, 1
	}
	scale := math.Pow(10, math.Floor(math.Log10(want))-1)
	for _, m := range []float64{1, 2, 2.5, 5, 10, 20, 25, 50} {
		step = rounded(m * scale)
		if n := math.Ceil(want/step - 1e-9); n <= 4 {
			return rounded(n * step), step
		}
	}
	return rounded(100 * scale), rounded(25 * scale)
}

// trialMarks is what bgMarks of boot.js draws over one bar.
func trialMarks(e analysis.Estimate, factor float64) map[string]any {
	marks := map[string]any{"text": median(e)}
	if e.TrialsUse > 1 && e.Min != nil && e.Max != nil {
		marks["min"], marks["max"] = rounded(*e.Min*factor), rounded(*e.Max*factor)
	}
	if e.Median != nil {
		marks["median"] = rounded(*e.Median * factor)
	}
	var points []float64
	for _, v := range e.Values {
		if v != nil {
			points = append(points, rounded(*v*factor))
		}
	}
	marks["points"] = points
	return marks
}

func trialSeries(axis, arms int, payload []map[string]any) map[string]any {
	data := make([][2]int, arms) // [value, category]; the marks themselves are in the payload
	for i := range data {
		data[i] = [2]int{0, i}
	}
	return map[string]any{
		"type": "custom", "renderItem": "bgMarks", "xAxisIndex": axis, "yAxisIndex": axis,
		"data": data, "silent": true, "z": 5,
		"itemPayload": map[string]any{"marks": payload, "ink": map[string]string{"color": "--ink"}, "paper": map[string]string{"color": "--paper"}},
	}
}

func estimateRow(a arm, phase, stat string, e analysis.Estimate) []string {
	row := []string{a.Tag.Label(), label(phase), stat, median(e), dash, dash, dash, strconv.Itoa(e.TrialsUse), ""}
	if e.Min != nil {
		row[4] = quantity(*e.Min, e.Unit)
	}
	if e.Max != nil {
		row[5] = quantity(*e.Max, e.Unit)
	}
	if e.Low != nil && e.High != nil {
		row[6] = span(*e.Low, *e.High, e.Unit)
	}
	for i, v := range e.Values {
		if i > 0 {
			row[8] += ", "
		}
		if v == nil {
			row[8] += dash
		} else {
			row[8] += quantity(*v, e.Unit)
		}
	}
	if e.Median == nil {
		reason := e.Reason
		if reason == "" {
			reason = "not measured"
		}
		row[8] = prose(reason)
	}
	return row
}

// scaled is v in the unit of the figure, or ECharts' word for a gap.
func scaled(v *float64, factor float64) any {
	if v == nil {
		return "-"
	}
	return rounded(*v * factor)
}

func px(v int) string { return strconv.Itoa(v) }

func percent(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "%" }
