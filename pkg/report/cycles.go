package report

import (
	"fmt"
	"slices"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
)

// cycles draws the cycles of the schedule one by one: whether the warm-up was long enough,
// and whether anything drifts from cycle to cycle.
func cycles(s study) (section, error) {
	one := section{ID: "cycles", Title: "Cycle by cycle", Nav: "Cycles",
		Lead: "Each phase as often as the schedule repeats it. Shaded: warm-up, which no summary counts. A line that still falls or rises behind it says that the run was too short."}
	const height, columns = 150, 2
	f := figure{ID: one.ID, Wide: true, Alt: "Interactive TTFT p95 and batch requests per second in each cycle, by arm and phase; the table below has the numbers.",
		Caption: "Strong line: the first trial. Faint lines: the others.",
		Heads: []string{"Phase", "Arm", "Trial", "Cycle", "Requests", "Failed", "Good", "Ok/s", "Output tok/s", "TTFT p50", "TTFT p95", "End-to-end p50",
			"End-to-end p95", "Batch requests/s"}}
	low, high, most, length := 0.0, 0.0, 0.0, 0
	s.eachPhase(record.ClassInteractive, func(_ string, _ arm, _ int, _ analysis.CellResult, p analysis.PhaseSummary) {
		length = max(length, len(p.Cycles))
		for _, c := range p.Cycles {
			if v := c.TTFT.P95.Value; v != nil && *v > 0 {
				if low == 0 || *v < low {
					low = *v
				}
				high = max(high, *v)
			}
			if v := c.BatchPerS.Value; v != nil {
				most = max(most, *v)
			}
		}
	})
	if length < 2 || high == 0 {
		return one, nil
	}
	unit, factor := secondsUnit(high)
	from, to := decades(low*factor, high*factor)
	end, step := axisEnd(1.1 * most)
	phases := s.phasesOf(record.ClassInteractive)
	c := newCanvas("item")
	panels := map[string]int{}
	wide := columns
	if most == 0 {
		wide = 1
	}
	for i, phase := range phases {
		y := i * (height + 58)
		x := scaleAxis{Min: 0, Max: float64(length + 1), Step: 1, Inner: true, Name: "cycle", Hidden: i < len(phases)-1}
		if x.Hidden {
			x.Name = ""
		}
		c.text("TTFT p95 in "+label(phase), "0", px(y+4), true)
		panels[phase] = c.panel(place{Left: "6%", Width: percent(92/float64(wide) - 6), Top: px(y + 30), Height: px(height)}, x,
			scaleAxis{Min: from, Max: to, Log: true, Unit: "\u00a0" + unit})
		if wide > 1 {
			c.text("batch requests completed per second in "+label(phase), "51%", px(y+4), true)
			c.panel(place{Left: "55%", Width: "43%", Top: px(y + 30), Height: px(height)}, x, scaleAxis{Min: 0, Max: end, Step: step})
		}
	}
	shaded := map[int]bool{}
	s.eachPhase(record.ClassInteractive, func(phase string, a arm, nth int, cell analysis.CellResult, p analysis.PhaseSummary) {
		m := mark{Width: 2, Opacity: float64(a.Tag.opacity()), Symbol: 6}
		if nth > 0 {
			m = mark{Width: 1, Opacity: 0.35 * float64(a.Tag.opacity()), Faint: true}
		}
		var ttft, done [][2]float64
		warm := 0
		for i, cycle := range p.Cycles {
			at := float64(i + 1)
			if cycle.Warmup {
				warm = i + 1
			}
			if v := cycle.TTFT.P95.Value; v != nil && *v > 0 {
				ttft = append(ttft, [2]float64{at, rounded(*v * factor)})
			}
			if v := cycle.BatchPerS.Value; v != nil {
				done = append(done, [2]float64{at, rounded(*v)})
			}
			name := fmt.Sprint(cycle.Cycle + 1)
			if cycle.Warmup {
				name += ", warm-up"
			}
			f.Rows = append(f.Rows, []string{label(phase), a.Tag.Label(), fmt.Sprint(cell.Trial), name, count(int64(cycle.Requests)), count(int64(cycle.Errors.Count)),
				numberOr(cycle.Good.Value, "ratio", cycle.Good.Reason).Text, value(cycle.OKPerS, "").Text, value(cycle.OutputTokensPerS, "").Text,
				value(cycle.TTFT.P50, "s").Text, value(cycle.TTFT.P95, "s").Text, value(cycle.E2E.P50, "s").Text, value(cycle.E2E.P95, "s").Text, value(cycle.BatchPerS, "").Text})
		}
		panel := panels[phase]
		for i, points := range [][][2]float64{ttft, done} {
			if i == 1 && wide == 1 {
				break
			}
			if !shaded[panel+i] && warm > 0 {
				shaded[panel+i] = true
				c.add(map[string]any{"type": "line", "data": []any{}, "silent": true, "xAxisIndex": panel + i, "yAxisIndex": panel + i,
					"markArea": map[string]any{"silent": true, "itemStyle": map[string]any{"color": "--band", "opacity": 0.7},
						"data": []any{[]any{map[string]any{"xAxis": 0}, map[string]any{"xAxis": float64(warm) + 0.5}}}}})
			}
			if points != nil {
				c.line(panel+i, a.Tag.Label(), a.Tag.colour(), points, m)
			}
		}
	})
	f.Height = len(phases)*(height+58) + 8
	f.Legend = tags(s.Arms)
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	one.Tables = s.steadiness()
	return one, err
}

// eachPhase visits the drawn cells of all arms, phase by phase; nth counts those of an arm.
func (s study) eachPhase(class string, do func(phase string, a arm, nth int, c analysis.CellResult, p analysis.PhaseSummary)) {
	for _, phase := range s.phasesOf(class) {
		for _, a := range s.Arms {
			cells, _ := a.drawn()
			for nth, c := range cells {
				if i := slices.IndexFunc(c.Phases, func(p analysis.PhaseSummary) bool { return p.Phase == phase && p.Class == class }); i >= 0 {
					do(phase, a, nth, c, c.Phases[i])
				}
			}
		}
	}
}

// steadiness holds the warm-up that was declared against what the data ask for.
func (s study) steadiness() []table {
	t := table{Texts: 1, Folded: "Steadiness of every cell",
		Heads: []string{"Arm", "Trial", "Phase", "Seconds with requests", "Warm-up declared", "MSER-5 would drop", "Correlation of seconds", "Independent seconds", "Mean TTFT, 95\u00a0% within the trial"},
		Note:  "MSER-5 looks at the mean TTFT of each second in order of time. It replaces no declared warm-up: a load of bursts is not steady. The interval holds within its trial and says nothing of others."}
	s.eachPhase(record.ClassInteractive, func(phase string, a arm, _ int, c analysis.CellResult, p analysis.PhaseSummary) {
		st := p.Steadiness
		if st.Seconds == 0 {
			return
		}
		mean := numberOr(st.MeanLow.Value, "s", st.MeanLow.Reason)
		if st.MeanLow.Value != nil && st.MeanHigh.Value != nil {
			mean.Text = span(*st.MeanLow.Value, *st.MeanHigh.Value, "s")
		}
		mser := value(st.MSERS, "")
		if st.MSERS.Value != nil {
			mser.Text = clock(*st.MSERS.Value)
		}
		t.Rows = append(t.Rows, armRow(a.Tag, word(fmt.Sprint(c.Trial)), word(label(phase)), word(count(int64(st.Seconds))), word(clock(st.DeclaredS)), mser,
			value(st.Correlation, ""), value(st.EffectiveN, ""), mean))
	})
	if t.Rows == nil {
		return nil
	}
	return []table{t}
}
