package report

import (
	"fmt"
	"slices"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
)

// rateCurves draws throughput against latency over the offered rate, as a rate sweep
// measured them, with the knee of each curve marked.
func rateCurves(s study) (section, error) {
	one := section{ID: "rates", Title: "Throughput against latency", Nav: "Rates",
		Lead: "Each point is one offered rate. Left of the knee another request a second costs little; beyond it latency rises faster than throughput."}
	var points []analysis.RatePoint
	low, high, right := 0.0, 0.0, 0.0
	for _, p := range s.Rates {
		ttft := p.Summary.TTFTFromDue.P95.Value
		if p.Summary.Class != record.ClassInteractive || ttft == nil || *ttft <= 0 || p.Summary.OKPerS.Value == nil {
			continue
		}
		points = append(points, p)
		if low == 0 || *ttft < low {
			low = *ttft
		}
		high, right = max(high, *ttft), max(right, *p.Summary.OKPerS.Value)
	}
	if points == nil {
		return one, nil
	}
	unit, factor := secondsUnit(high)
	from, to := decades(low*factor/1.1, high*factor*1.1)
	end, step := axisEnd(1.1 * right)
	c := newCanvas("item")
	panel := c.panel(place{Left: "64", Right: "24", Top: "30", Height: "300"},
		scaleAxis{Min: 0, Max: end, Step: step, Name: "requests that ended ok per second"},
		scaleAxis{Min: from, Max: to, Log: true, Unit: "\u00a0" + unit})
	c.text("TTFT p95 from the due time", "0", "3", false)
	f := figure{ID: one.ID, Wide: true, Height: 386, Alt: "Latency against throughput by arm, a point an offered rate; the table below has the numbers.",
		Caption: "Ring: the knee, where throughput over TTFT p95 is highest (Kleinrock 1979), of the rates that were tried. Hollow: the cell is INVALID.",
		Heads:   []string{"Arm", "Trial", "Offered/s", "Ok/s", "TTFT p50", "TTFT p95", "ITL p95", "Good", "Failed", "Knee", "Valid"}}
	type curve struct {
		arm   string
		trial int
	}
	paths := map[curve][][2]float64{}
	var order []curve
	strangers := 0
	colours := map[string]tag{}
	for _, p := range points {
		t, ok := s.tagOf(p.Arm)
		if known, seen := colours[p.Arm]; seen {
			t = known
		} else if !ok {
			t = tag{Name: p.Arm, Slot: 1 + strangers%(slots-1), Lap: strangers / (slots - 1)}
			strangers++
		}
		if _, seen := colours[p.Arm]; !seen {
			colours[p.Arm] = t
			f.Legend = append(f.Legend, t)
		}
		at := [2]float64{rounded(*p.Summary.OKPerS.Value), rounded(*p.Summary.TTFTFromDue.P95.Value * factor)}
		of := curve{p.Arm, p.Trial}
		if !slices.Contains(order, of) {
			order = append(order, of)
		}
		paths[of] = append(paths[of], at)
		style := map[string]any{"color": t.colour()}
		if !p.Valid {
			style = map[string]any{"color": "--paper", "borderColor": t.colour(), "borderWidth": 1.5}
		}
		c.dots(panel, t.Label(), t.colour(), []any{map[string]any{"name": t.Label() + ", offered " + value(p.Summary.OfferedPerS, "").Text + "/s", "value": at}}, 8,
			map[string]any{"itemStyle": style})
		knee := ""
		if p.Knee {
			knee = "✓"
			c.dots(panel, t.Label(), t.colour(), []any{map[string]any{"name": "knee", "value": at}}, 20, map[string]any{
				"silent": true, "itemStyle": map[string]any{"color": "transparent", "borderColor": "--ink", "borderWidth": 1.5},
				"label": map[string]any{"show": true, "formatter": "knee, " + value(p.Summary.OfferedPerS, "").Text + "/s", "position": "right", "fontSize": 11, "color": "--ink"}})
		}
		valid := "✓"
		if !p.Valid {
			valid = "✗"
		}
		q := p.Summary
		f.Rows = append(f.Rows, []string{t.Label(), fmt.Sprint(p.Trial), value(q.OfferedPerS, "").Text, value(q.OKPerS, "").Text, value(q.TTFTFromDue.P50, "s").Text,
			value(q.TTFTFromDue.P95, "s").Text, value(q.ITL.P95, "s").Text, numberOr(q.Goodput.Good.Value, "ratio", q.Goodput.Good.Reason).Text, value(q.ErrorRate, "ratio").Text, knee, valid})
	}
	for _, of := range order {
		t := colours[of.arm]
		c.line(panel, t.Label(), t.colour(), paths[of], mark{Width: 1.5, Opacity: 0.7, Faint: true})
	}
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	return one, err
}
