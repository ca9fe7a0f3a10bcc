package report

import (
	"cmp"
	"slices"

	"bgbench/pkg/analysis"
)

// tradeOff draws what each arm gives interactive requests against what it leaves batch
// work, with the best of the tested arms joined.
func tradeOff(s study) (section, error) {
	one := section{ID: "trade-off", Title: "What each arm gives both sides", Nav: "Trade-off",
		Lead: "Down is better for interactive requests, right is better for batch work."}
	type point struct {
		arm  arm
		x, y float64
		best bool
	}
	var points []point
	for _, p := range s.TradeOff {
		i := slices.IndexFunc(s.Arms, func(a arm) bool { return a.Name == p.Arm })
		if i >= 0 && p.BatchPerS.Value != nil && p.TTFTP95.Value != nil && *p.TTFTP95.Value > 0 {
			points = append(points, point{s.Arms[i], *p.BatchPerS.Value, *p.TTFTP95.Value, p.Frontier})
		}
	}
	if len(points) < 2 {
		return one, nil
	}
	key := analysis.MetricKey(s.Burst, "interactive", analysis.MetricTTFT, analysis.StatP95)
	f := figure{ID: one.ID, Height: 380, Wide: true,
		Alt:   "Scatter of interactive TTFT p95 against batch requests per second by arm; the table below has the numbers.",
		Heads: []string{"Arm", "Batch requests/s", "TTFT p95", "Frontier"}}
	batch := analysis.MetricKey(analysis.PhaseAll, "batch", analysis.MetricRequestsPerS, analysis.StatValue)
	low, high, right := points[0].y, points[0].y, 0.0
	see := func(x, y float64) { low, high, right = min(low, y), max(high, y), max(right, x) }
	for _, p := range points {
		see(p.x, p.y)
		for _, t := range p.arm.trialPoints(batch, key) {
			see(t[0], t[1])
		}
	}
	base, hasBase := 0.0, false
	if s.Baseline != nil {
		if e, ok := s.Baseline.estimated(key); ok && *e.Median > 0 {
			base, hasBase = *e.Median, true
			see(0, base)
		}
	}
	unit, factor := secondsUnit(high)
	y := scaleAxis{Unit: "\u00a0" + unit}
	if y.Min, y.Max = decades(low*factor/1.15, high*factor*1.15); y.Max > 4*y.Min { // a few times more is much
		y.Log = true
	} else { // little between them: the distance from nothing says more
		y.Min = 0
		y.Max, y.Step = axisEnd(1.15 * high * factor)
	}
	end, step := axisEnd(1.18 * right)
	c := newCanvas("item")
	panel := c.panel(place{Left: "64", Right: "24", Top: "30", Height: "296"},
		scaleAxis{Min: 0, Max: end, Step: step, Name: "batch requests completed per second, all measured phases"},
		y)
	c.text("TTFT p95 of interactive requests in "+label(s.Burst), "0", "3", false)
	if hasBase {
		c.add(level(panel, base*factor, s.Baseline.Tag.Label()+", without batch work", false))
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	var best [][2]float64
	for _, p := range points {
		if p.best {
			best = append(best, [2]float64{rounded(p.x), rounded(p.y * factor)})
		}
	}
	if len(best) > 1 && !s.pointed() {
		c.line(panel, "", "--axis", best, mark{Width: 1.5, Opacity: 1, Dash: "dashed", Faint: true})
	}
	room := 28 // characters of a name beside its dot
	if s.many() {
		room = 15
	}
	for i, p := range points {
		name := p.arm.Tag.Label()
		c.dots(panel, name, p.arm.Tag.colour(), scaledPoints(p.arm.trialPoints(batch, key), 1, factor), 5,
			map[string]any{"silent": true, "tooltip": map[string]any{"show": false}, "z": 4,
				"itemStyle": map[string]any{"color": p.arm.Tag.colour(), "opacity": 0.45}})
		c.dots(panel, name, p.arm.Tag.colour(), []any{map[string]any{"name": shortened(name, room), "value": [2]float64{rounded(p.x), rounded(p.y * factor)}}}, 13,
			map[string]any{"itemStyle": map[string]any{"color": p.arm.Tag.colour(), "opacity": p.arm.Tag.opacity(), "borderColor": "--paper", "borderWidth": 1.5},
				"labelLayout": map[string]any{"hideOverlap": true},
				"label": map[string]any{"show": true, "formatter": "{b}", "position": []string{"right", "top", "bottom"}[i%3],
					"distance": 7, "fontSize": 11.5, "color": "--ink", "width": 210, "overflow": "truncate"}})
		yes := ""
		if p.best {
			yes = "✓"
		}
		f.Rows = append(f.Rows, []string{name, quantity(p.x, ""), quantity(p.y, "s"), yes})
		f.Legend = append(f.Legend, p.arm.Tag)
	}
	f.Caption = "Large dot: median over trials. Small dot: one trial. "
	if len(best) > 1 && !s.pointed() {
		f.Caption += "Dashed: the frontier, arms that no other arm tested beats on both sides. "
	}
	f.Caption += "Best of the tested settings, by medians alone; nothing here is tested."
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	return one, err
}

// pointed reports whether keys of the profile are swept, so that arms differ in workload.
func (s study) pointed() bool {
	return slices.ContainsFunc(s.Arms, func(a arm) bool { return a.Point != "" })
}

// trialPoints pairs two metrics trial by trial.
func (a arm) trialPoints(x, y string) [][2]float64 {
	var points [][2]float64
	xs, ys := a.Metrics[x].Values, a.Metrics[y].Values
	for i := range min(len(xs), len(ys)) {
		if xs[i] != nil && ys[i] != nil && *ys[i] > 0 {
			points = append(points, [2]float64{*xs[i], *ys[i]})
		}
	}
	return points
}

// secondsUnit is the unit in which the axis of a time reads best.
func secondsUnit(largest float64) (unit string, factor float64) {
	if largest < 2 {
		return "ms", 1000
	}
	return "s", 1
}
