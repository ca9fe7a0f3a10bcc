package report

import (
	"fmt"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// sweepCurves draws what a key that was swept changes: a panel a metric, the key along
// the axis, a line for each setting of the others.
func sweepCurves(s study) (section, error) {
	one := section{ID: "sweep", Title: "Over the sweep", Nav: "Sweep"}
	key := s.sweptKey()
	if key == "" {
		return one, nil
	}
	one.Lead = "What " + label(key) + " changes for both sides."
	type metric struct{ title, key, unit string }
	metrics := []metric{
		{"TTFT p95 of interactive requests in " + label(s.Burst), analysis.MetricKey(s.Burst, "interactive", analysis.MetricTTFT, analysis.StatP95), "s"},
		{"batch requests completed per second", analysis.MetricKey(analysis.PhaseAll, "batch", analysis.MetricRequestsPerS, analysis.StatValue), ""},
		{"good requests, of those offered in " + label(s.Burst), analysis.MetricKey(s.Burst, "interactive", analysis.MetricGoodput, analysis.StatRatio), "ratio"},
		{"evictions", analysis.MetricKey(analysis.PhaseAll, "batch", analysis.MetricEvictions, analysis.StatValue), ""},
	}
	f := figure{ID: one.ID, Wide: true, Alt: "Metrics over the values of " + label(key) + "; the table below has the numbers.",
		Heads: []string{"Metric", label(key), "Arm", "Median", "Min", "Max", "n"}}
	lines := s.sweptLines(key)
	from, to := lines[0].points[0].at, lines[0].points[0].at
	for _, l := range lines {
		for _, p := range l.points {
			from, to = min(from, p.at), max(to, p.at)
		}
	}
	room := 0.06 * (to - from)
	c := newCanvas("item")
	const height, columns = 176, 2
	shown := 0
	for _, m := range metrics {
		top := 0.0
		for _, a := range s.Arms {
			if e, ok := a.estimated(m.key); ok {
				top = max(top, *e.Median)
				if e.Max != nil {
					top = max(top, *e.Max)
				}
			}
		}
		if !slices.ContainsFunc(lines, func(l sweptLine) bool {
			return slices.ContainsFunc(l.points, func(p sweptPoint) bool { _, ok := p.arm.estimated(m.key); return ok })
		}) {
			continue
		}
		unit, factor := "", 1.0
		switch m.unit {
		case "s":
			unit, factor = secondsUnit(top)
			unit = "\u00a0" + unit
		case "ratio":
			unit, factor = "\u00a0%", 100
		}
		end, step := axisEnd(1.1 * top * factor)
		if m.unit == "ratio" {
			end, step = 100, 25
		}
		y := shown / columns * (height + 92)
		left := 7 + float64(shown%columns)*51
		c.text(m.title, percent(left-7), px(y+4), true)
		panel := c.panel(place{Left: percent(left), Width: "40%", Top: px(y + 36), Height: px(height)},
			scaleAxis{Min: from - room, Max: to + room, Open: true, Name: withUnit(lastPart(label(key)), key)}, scaleAxis{Min: 0, Max: end, Step: step, Unit: unit})
		if s.Baseline != nil {
			if e, ok := s.Baseline.estimated(m.key); ok {
				c.add(level(panel, *e.Median*factor, s.Baseline.Tag.Label(), false))
			}
		}
		for i, l := range lines {
			var path [][2]float64
			for _, p := range l.points {
				e, ok := p.arm.estimated(m.key)
				if !ok {
					continue
				}
				path = append(path, [2]float64{rounded(p.at), rounded(*e.Median * factor)})
			}
			c.line(panel, l.name, "--muted", path, mark{Width: 1.5, Opacity: 0.8, Dash: dashes[i%len(dashes)], Faint: true})
			for _, p := range l.points {
				e, ok := p.arm.estimated(m.key)
				if !ok {
					continue
				}
				var trials [][2]float64
				for _, v := range e.Values {
					if v != nil {
						trials = append(trials, [2]float64{rounded(p.at), rounded(*v * factor)})
					}
				}
				c.dots(panel, l.name, p.arm.Tag.colour(), trials, 5, map[string]any{"silent": true, "tooltip": map[string]any{"show": false},
					"itemStyle": map[string]any{"color": p.arm.Tag.colour(), "opacity": 0.5}})
				c.dots(panel, l.name, p.arm.Tag.colour(), []any{map[string]any{"name": p.arm.Tag.Label(), "value": [2]float64{rounded(p.at), rounded(*e.Median * factor)}}}, 11,
					map[string]any{"itemStyle": map[string]any{"color": p.arm.Tag.colour(), "borderColor": "--paper", "borderWidth": 1.5}})
				row := []string{m.title, fmt.Sprint(p.at), p.arm.Tag.Label(), median(e), dash, dash, fmt.Sprint(e.TrialsUse)}
				if e.Min != nil && e.Max != nil {
					row[4], row[5] = quantity(*e.Min, e.Unit), quantity(*e.Max, e.Unit)
				}
				f.Rows = append(f.Rows, row)
			}
		}
		shown++
	}
	if shown == 0 {
		return one, nil
	}
	f.Height = (shown+columns-1)/columns*(height+92) + 4
	f.Caption = "Large dot: median over trials, in the colour of its arm. Small dot: one trial. Lines only guide the eye."
	if len(lines) > 1 {
		var names []string
		for i, l := range lines {
			names = append(names, l.name+" "+dashes[i%len(dashes)])
		}
		f.Caption += " Lines: " + strings.Join(names, ", ") + "."
	}
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	return one, err
}

// sweptLine is the arms that differ in the swept key alone.
type sweptLine struct {
	name   string
	points []sweptPoint
}

type sweptPoint struct {
	at  float64
	arm arm
}

// sweptKey is the key with the most different numbers, the first of several; empty where
// no key has two.
func (s study) sweptKey() string {
	values := map[string]map[float64]bool{}
	best := ""
	for _, a := range s.Arms {
		for _, f := range a.Factors {
			if v, ok := f.Value.(float64); ok {
				if values[f.Key] == nil {
					values[f.Key] = map[float64]bool{}
				}
				values[f.Key][v] = true
				if len(values[f.Key]) > max(1, len(values[best])) {
					best = f.Key
				}
			}
		}
	}
	return best
}

func (s study) sweptLines(key string) []sweptLine {
	var lines []sweptLine
	for _, a := range s.Arms {
		name, at, ok := a.SweptFrom, 0.0, false
		for _, f := range a.Factors {
			if f.Key == key {
				at, ok = f.Value.(float64)
				continue
			}
			name += fmt.Sprintf(", %s %v", lastPart(f.Key), f.Value)
		}
		if !ok || a.ArmResult.Baseline {
			continue
		}
		name = label(name)
		i := slices.IndexFunc(lines, func(l sweptLine) bool { return l.name == name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, sweptLine{name: name})
		}
		lines[i].points = append(lines[i].points, sweptPoint{at, a})
	}
	for _, l := range lines {
		slices.SortStableFunc(l.points, func(x, y sweptPoint) int {
			switch {
			case x.at < y.at:
				return -1
			case x.at > y.at:
				return 1
			}
			return 0
		})
	}
	if lines == nil { // only baselines were swept
		lines = []sweptLine{{points: []sweptPoint{{}}}}
	}
	return lines
}

func lastPart(key string) string { return key[strings.LastIndex(key, ".")+1:] }
