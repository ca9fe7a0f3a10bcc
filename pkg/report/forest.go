package report

import (
	"fmt"
	"slices"

	"bgbench/pkg/analysis"
)

// Measures of the forest plot in pixels.
const (
	forestRow  = 25
	forestHead = 30
	forestGap  = 12
)

// ratioRow is one line of a forest plot: a ratio, its interval and that of each trial.
type ratioRow struct {
	arm        tag
	text       string
	ratio      float64
	low, high  *float64
	points     []float64
	comparison analysis.Comparison
}

// forest draws the paired ratio of every comparison with a verdict, a block a metric.
func forest(s study) (section, error) {
	one := section{ID: "forest", Title: "Against the baseline", Nav: "Ratios",
		Lead: "The paired ratio of each arm to the baseline, trial by trial. Right of 1 is slower."}
	var keys []string
	for _, a := range s.Arms {
		for key, c := range a.Against {
			if c.Verdict != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, s.byImportance)
	var blocks []forestBlock
	for _, key := range keys {
		b := forestBlock{title: metricName(key)}
		for _, a := range s.Arms {
			if c, ok := a.Against[key]; ok && c.Verdict != "" && c.Ratio != nil {
				b.rows = append(b.rows, ratioRow{a.Tag, times(*c.Ratio) + ", " + label(c.Verdict), *c.Ratio, c.Low, c.High, s.trialRatios(a, key), c})
			}
		}
		if b.rows != nil {
			blocks = append(blocks, b)
		}
	}
	if blocks == nil {
		return one, nil
	}
	f, err := forestFigure("forest", blocks, s.Experiment.Margin)
	if err != nil {
		return one, err
	}
	f.Caption = "Square: mean paired ratio. Line: its 95\u00a0% interval. Dot: one trial. "
	if s.Experiment.Margin > 0 {
		f.Caption += "Shaded: within the margin of " + s.margin() + ", " + s.marginSince() + ". "
	}
	f.Caption += "The verdict goes by one-sided bounds, adjusted for all of them; they stand with the evidence of the answer."
	one.Figures = []figure{f}
	return one, nil
}

// trialRatios are the ratios of single trials, as far as both arms have the value.
func (s study) trialRatios(a arm, key string) []float64 {
	base, ok := s.BaselineOf(a.ArmResult)
	if !ok {
		return nil
	}
	var ratios []float64
	of, to := a.Metrics[key].Values, base.Metrics[key].Values
	for i := range min(len(of), len(to)) {
		if of[i] != nil && to[i] != nil && *to[i] > 0 && *of[i] > 0 {
			ratios = append(ratios, *of[i] / *to[i])
		}
	}
	return ratios
}

// forestBlock is the rows of one metric.
type forestBlock struct {
	title string
	rows  []ratioRow
}

func forestFigure(id string, blocks []forestBlock, margin float64) (figure, error) {
	f := figure{ID: id, Alt: "Forest plot of ratios with their intervals; the table below has the numbers.", Wide: true,
		Heads: []string{"Metric", "Arm", "Ratio", "95\u00a0% interval", "Trials", "n", "Verdict"}}
	low, high := 1.0, 1.0
	for _, b := range blocks {
		for _, r := range b.rows {
			for _, v := range append([]float64{r.ratio}, r.points...) {
				low, high = min(low, v), max(high, v)
			}
			if r.low != nil && r.high != nil {
				// Of two or three trials an interval may reach from nothing to everything.
				low, high = min(low, max(*r.low, low/3)), max(high, min(*r.high, high*3))
			}
		}
	}
	low, high = min(low, 1-margin), max(high, 1+margin)
	axis := ratioAxis(low/1.05, high*1.05)
	c := newCanvas("")
	y := 4
	for i, b := range blocks {
		names := make([]string, len(b.rows))
		marks := make([]map[string]any, len(b.rows))
		data := make([][2]float64, len(b.rows))
		for j, r := range b.rows {
			names[j] = shortened(r.arm.Label(), barsName)
			m := map[string]any{"median": rounded(r.ratio), "text": r.text, "color": r.arm.colour()}
			row := []string{b.title, r.arm.Label(), times(r.ratio), dash, "", fmt.Sprint(r.comparison.Pairs), label(r.comparison.Verdict)}
			if r.low != nil && r.high != nil {
				m["min"], m["max"] = rounded(max(*r.low, axis.Min)), rounded(min(*r.high, axis.Max))
				row[3] = times(*r.low) + "–" + times(*r.high)
			}
			var points []float64
			for k, p := range r.points {
				points = append(points, rounded(p))
				if k > 0 {
					row[4] += ", "
				}
				row[4] += times(p)
			}
			m["points"], marks[j], data[j] = points, m, [2]float64{1, float64(j)}
			f.Rows = append(f.Rows, row)
		}
		height := len(b.rows) * forestRow
		axis.Hidden = i < len(blocks)-1
		c.text(b.title, "0", px(y), true)
		panel := c.panel(place{Left: "176", Right: "150", Top: px(y + forestHead - 6), Height: px(height)},
			axis, scaleAxis{Names: names})
		area := map[string]any{"type": "line", "data": []any{}, "silent": true, "xAxisIndex": panel, "yAxisIndex": panel}
		if margin > 0 {
			area["markArea"] = map[string]any{"silent": true, "itemStyle": map[string]any{"color": "--band", "opacity": 1},
				"data": []any{[]any{map[string]any{"xAxis": rounded(1 - margin)}, map[string]any{"xAxis": rounded(1 + margin)}}}}
		}
		c.add(area)
		c.add(level(panel, 1, "", true))
		c.add(map[string]any{
			"type": "custom", "renderItem": "bgMarks", "xAxisIndex": panel, "yAxisIndex": panel, "data": data, "silent": true, "z": 5,
			"itemPayload": map[string]any{"marks": marks, "ink": map[string]string{"color": "--ink"}, "paper": map[string]string{"color": "--paper"}},
		})
		y += height + forestHead + forestGap
	}
	f.Height = y + 30
	option, err := c.option()
	f.Option = option
	return f, err
}
