package report

import (
	"fmt"
	"maps"
	"slices"

	"bgbench/pkg/analysis"
)

// failures draws which share of the requests offered did not end ok, by kind: a bar an
// arm, a block a phase and class.
func failures(s study) (section, error) {
	one := section{ID: "failures", Title: "Failures by kind", Nav: "Failures",
		Lead: "The share of the requests offered that did not end ok, all valid trials together."}
	type stretch struct{ phase, class string }
	var places []stretch
	var kinds []string
	for _, a := range s.Arms {
		cells, _ := a.drawn()
		for _, c := range cells {
			for _, p := range c.Phases {
				for kind := range maps.Keys(p.ErrorsByKind) {
					if !slices.Contains(kinds, kind) {
						kinds = append(kinds, kind)
					}
					if at := (stretch{p.Phase, p.Class}); !slices.Contains(places, at) {
						places = append(places, at)
					}
				}
			}
		}
	}
	if kinds == nil {
		return one, nil
	}
	slices.Sort(kinds)
	slices.SortFunc(places, func(a, b stretch) int {
		return slices.Index(s.Phases, a.phase) - slices.Index(s.Phases, b.phase)
	})
	f := figure{ID: one.ID, Wide: true,
		Alt:     "Stacked bars of failed requests by kind, arm and phase; the table below has the numbers.",
		Caption: "Shades tell the kinds apart, from left to right: ",
		Heads:   []string{"Phase", "Class", "Arm", "Trial", "Offered", "Failed", "Rate", "95\u00a0% interval within the trial", "By kind"}}
	for i, kind := range kinds {
		if i > 0 {
			f.Caption += ", "
		}
		f.Caption += label(kind)
	}
	f.Caption += ". Counts over trials describe and test nothing; each trial has its own interval in the table."
	names := make([]string, len(s.Arms))
	for i, a := range s.Arms {
		names[i] = shortened(a.Tag.Label(), barsName)
	}
	shares := func(at stretch, a arm) (map[string]float64, float64) {
		by, offered, failed := map[string]float64{}, 0, 0
		cells, _ := a.drawn()
		for _, c := range cells {
			for _, p := range c.Phases {
				if p.Phase != at.phase || p.Class != at.class {
					continue
				}
				offered += p.Requests
				for kind, share := range p.ErrorsByKind {
					by[kind] += float64(share.Count)
					failed += share.Count
				}
			}
		}
		if offered == 0 {
			return by, 0
		}
		for kind := range by {
			by[kind] /= float64(offered)
		}
		return by, float64(failed) / float64(offered)
	}
	top := 0.0
	for _, at := range places {
		for _, a := range s.Arms {
			_, share := shares(at, a)
			top = max(top, 100*share)
		}
	}
	end, step := axisEnd(1.12 * top)
	c := newCanvas("item")
	y := 4
	for i, at := range places {
		height := len(s.Arms) * 22
		c.text(label(at.class)+" in "+label(at.phase), "0", px(y), true)
		panel := c.panel(place{Left: "176", Right: "70", Top: px(y + 26), Height: px(height)},
			scaleAxis{Min: 0, Max: end, Step: step, Unit: "\u00a0%", Hidden: i < len(places)-1}, scaleAxis{Names: names})
		for k, kind := range kinds {
			data := make([]any, len(s.Arms))
			for j, a := range s.Arms {
				by, total := shares(at, a)
				bar := map[string]any{"value": rounded(100 * by[kind]), "itemStyle": map[string]any{
					"color": a.Tag.colour(), "opacity": rounded(1 - 0.6*float64(k)/float64(len(kinds)))}}
				if k == len(kinds)-1 {
					bar["label"] = map[string]any{"show": true, "position": "right", "color": "--ink", "fontSize": 11.5, "formatter": quantity(total, "ratio")}
				}
				data[j] = bar
			}
			c.add(map[string]any{"type": "bar", "name": label(kind), "stack": fmt.Sprint("p", panel), "xAxisIndex": panel, "yAxisIndex": panel,
				"data": data, "barWidth": "58%"})
		}
		for _, a := range s.Arms {
			for _, cell := range a.Cells {
				for _, p := range cell.Phases {
					if p.Phase != at.phase || p.Class != at.class {
						continue
					}
					f.Rows = append(f.Rows, []string{label(at.phase), label(at.class), a.Tag.Label(), fmt.Sprint(cell.Trial),
						count(int64(p.Requests)), count(int64(p.Errors.Count)), numberOr(p.Errors.Value, "ratio", p.Errors.Reason).Text,
						shareInterval(p.Errors), byKind(p.ErrorsByKind)})
				}
			}
		}
		y += height + 34
	}
	f.Height = y + 28
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	return one, err
}

func shareInterval(s analysis.Share) string {
	if s.Low == nil || s.High == nil {
		return dash
	}
	return span(*s.Low, *s.High, "ratio")
}

func byKind(kinds map[string]analysis.Share) string {
	text := ""
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		if i > 0 {
			text += ", "
		}
		text += label(kind) + "\u00a0" + count(int64(kinds[kind].Count))
	}
	return text
}
