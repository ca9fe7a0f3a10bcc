package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
)

// Measures of a heat map in pixels.
const (
	heatTile = 44
	heatHead = 50 // the title, and what the rows are
	heatFoot = 64 // the numbers and the name of the axis below
)

// heatSteps is the number of shades in page.css; from heatDark on they take light text.
const (
	heatSteps = 7
	heatDark  = 4
)

// heatRows bounds how many settings of the other keys are drawn one below the other.
const heatRows = 12

// heatMaps draws two keys that were swept against each other: what each pair of values gives
// interactive requests, and what it leaves batch work. Of more keys, each setting of the
// others has a row of its own.
func heatMaps(s study) (section, error) {
	one := section{ID: "heatmap", Title: "Two settings against each other", Nav: "Heat map"}
	keys := s.heatKeys()
	if len(keys) < 2 {
		return one, nil
	}
	across, down, rest := keys[0], keys[1], keys[2:]
	if down.key != "" {
		slices.Reverse(down.values) // upwards
	}
	one.Lead = "What " + across.label() + " and " + down.label() + " do together. Left: darker is slower for interactive requests. Right: darker is more batch work done."
	rows := s.heatBlocks(rest)
	f := figure{ID: one.ID, Wide: true,
		Alt:   "Heat maps of the ratio of interactive TTFT p95 to the baseline and of batch requests per second, by " + across.label() + " and " + down.label() + "; the table below has the numbers.",
		Heads: []string{"Arm"},
	}
	for _, k := range keys {
		f.Heads = append(f.Heads, k.label())
	}
	f.Heads = append(f.Heads, "TTFT p95", "Ratio", "95\u00a0% interval", "n", "Verdict", "Batch requests/s", "Min", "Max")
	key := analysis.MetricKey(s.Burst, record.ClassInteractive, analysis.MetricTTFT, analysis.StatP95)
	batch := analysis.MetricKey(analysis.PhaseAll, record.ClassBatch, analysis.MetricRequestsPerS, analysis.StatValue)
	ratio := func(a arm) heatValue {
		c := a.Against[key]
		if c.Ratio == nil {
			return heatValue{text: dash}
		}
		return heatValue{at: math.Log(*c.Ratio), known: true, text: times(*c.Ratio), small: verdictMark(c.Verdict)}
	}
	done := func(a arm) heatValue {
		e, ok := a.estimated(batch)
		if !ok {
			return heatValue{text: dash}
		}
		return heatValue{at: *e.Median, known: true, text: quantity(*e.Median, "")}
	}
	c := newCanvas("")
	y := 0
	for i, block := range rows {
		if i == heatRows {
			break
		}
		for j, side := range []struct {
			title string
			of    func(arm) heatValue
		}{{"TTFT p95 of interactive requests in " + label(s.Burst) + ", ratio to the baseline", ratio}, {"batch requests completed per second", done}} {
			left := 50 * float64(j)
			title := side.title
			if block.name != "" {
				title = block.name + ": " + title
			}
			c.text(title, percent(left), px(y+6), true)
			c.text(down.axis(), percent(left), px(y+28), false)
			panel := c.panel(place{Left: percent(left + 9), Width: "39%", Top: px(y + heatHead), Height: px(len(down.values) * heatTile)},
				scaleAxis{Names: across.names(), Name: across.axis()}, scaleAxis{Names: down.names()})
			c.add(heatSeries(panel, side.of, s.heatScale(side.of), block.arms, across, down))
		}
		y += heatHead + len(down.values)*heatTile + heatFoot
	}
	for _, block := range rows {
		for _, a := range block.arms {
			e, against := a.Metrics[key], a.Against[key]
			row := []string{a.Tag.Label()}
			for _, k := range keys {
				row = append(row, k.of(a))
			}
			row = append(row, median(e), dash, dash, fmt.Sprint(against.Pairs), label(against.Verdict), median(a.Metrics[batch]), dash, dash)
			at := len(keys)
			if against.Ratio != nil {
				row[at+2] = times(*against.Ratio)
			}
			if against.Low != nil && against.High != nil {
				row[at+3] = s.interval(*against.Low, *against.High)
			}
			if b := a.Metrics[batch]; b.Min != nil && b.Max != nil {
				row[at+7], row[at+8] = quantity(*b.Min, b.Unit), quantity(*b.Max, b.Unit)
			}
			f.Rows = append(f.Rows, row)
		}
	}
	f.Height = y
	f.Caption = "Left: mean paired ratio to the baseline of the same workload; ✓ protected, ✗ degraded, ? no conclusion. Right: median over trials. " +
		"All maps of a side share their shades, ratios by their logarithm. Empty: not measured."
	if len(rows) > heatRows {
		f.Caption += fmt.Sprintf(" %d of %d settings of the other keys are drawn; the table has all.", heatRows, len(rows))
	}
	f.Caption += " Of the tested settings alone: what lies between them was not measured."
	var err error
	f.Option, err = c.option()
	one.Figures = []figure{f}
	return one, err
}

// verdictMark stands for a verdict where there is no room for it.
func verdictMark(verdict string) string {
	switch verdict {
	case analysis.VerdictProtected:
		return "✓"
	case analysis.VerdictDegraded:
		return "✗"
	case analysis.VerdictNoConclusion:
		return "?"
	}
	return ""
}

// heatKey is a key that was swept, or the arm that it was swept in, with its values in order.
type heatKey struct {
	key    string // empty for the arm
	values []string
}

func (k heatKey) label() string {
	if k.key == "" {
		return "the arm"
	}
	return label(k.key)
}

// axis is the name of the axis, with the unit as far as the key tells it.
func (k heatKey) axis() string {
	if k.key == "" {
		return "arm"
	}
	return withUnit(shortened(label(strings.TrimPrefix(k.key, "profile.")), 44), k.key)
}

// withUnit is the name of an axis of the values of a key.
func withUnit(name, key string) string {
	if unit := keyUnit(key); unit != "" {
		return name + ", " + unit
	}
	return name
}

// keyUnit is the unit of the values of a key, by the end of its name.
func keyUnit(key string) string {
	last := strings.ToLower(lastPart(key))
	switch {
	case strings.HasSuffix(last, "rate"):
		return "requests/s"
	case strings.HasSuffix(last, "ceiling"), strings.HasSuffix(last, "headroom"):
		return "share of the pool"
	case strings.Contains(last, "concurrency"), strings.HasSuffix(last, "perendpoint"):
		return "requests"
	case strings.Contains(key, "prompt.isl"), strings.Contains(key, "prompt.osl"):
		return "tokens"
	}
	return ""
}

// of is the value that an arm has of the key.
func (k heatKey) of(a arm) string {
	if k.key == "" {
		return label(a.SweptFrom)
	}
	for _, f := range a.Factors {
		if f.Key == k.key {
			return label(fmt.Sprint(f.Value))
		}
	}
	return dash
}

func (k heatKey) names() []string {
	names := make([]string, len(k.values))
	for i, v := range k.values {
		names[i] = shortened(v, 14)
	}
	return names
}

// swept are the arms that a sweep made, without baselines.
func (s study) swept() []arm {
	var arms []arm
	for _, a := range s.Arms {
		if !a.ArmResult.Baseline && len(a.Factors) > 0 {
			arms = append(arms, a)
		}
	}
	return arms
}

// heatKeys are the keys with two values or more, those with the most first and the arm last.
func (s study) heatKeys() []heatKey {
	keys := []heatKey{{}}
	numbers := map[string]float64{}
	for _, a := range s.swept() {
		for _, f := range a.Factors {
			if !slices.ContainsFunc(keys, func(k heatKey) bool { return k.key == f.Key }) {
				keys = append(keys, heatKey{key: f.Key})
			}
			if v, ok := f.Value.(float64); ok {
				numbers[label(fmt.Sprint(f.Value))] = v
			}
		}
		for i := range keys {
			if v := keys[i].of(a); !slices.Contains(keys[i].values, v) {
				keys[i].values = append(keys[i].values, v)
			}
		}
	}
	keys = slices.DeleteFunc(keys, func(k heatKey) bool { return len(k.values) < 2 })
	for _, k := range keys {
		slices.SortStableFunc(k.values, func(a, b string) int {
			x, first := numbers[a]
			y, second := numbers[b]
			if !first || !second {
				return 0 // words stay in the order of the sweep
			}
			return cmp.Compare(x, y)
		})
	}
	slices.SortStableFunc(keys, func(a, b heatKey) int {
		return cmp.Or(-cmp.Compare(rankOf(a.key != ""), rankOf(b.key != "")), -cmp.Compare(len(a.values), len(b.values)))
	})
	return keys
}

func rankOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// heatBlock is the arms that agree in all keys but the two of the map.
type heatBlock struct {
	name string
	arms []arm
}

func (s study) heatBlocks(rest []heatKey) []heatBlock {
	var blocks []heatBlock
	for _, a := range s.swept() {
		var parts []string
		for _, k := range rest {
			part := k.of(a)
			if k.key != "" {
				part = lastPart(label(k.key)) + " " + part
			}
			parts = append(parts, part)
		}
		name := strings.Join(parts, ", ")
		i := slices.IndexFunc(blocks, func(b heatBlock) bool { return b.name == name })
		if i < 0 {
			i = len(blocks)
			blocks = append(blocks, heatBlock{name: name})
		}
		blocks[i].arms = append(blocks[i].arms, a)
	}
	return blocks
}

// heatValue is what one tile says.
type heatValue struct {
	at          float64 // on the scale of shades
	known       bool
	text, small string
}

// heatScale is the range of a side over all maps, so that a shade means the same in each.
func (s study) heatScale(of func(arm) heatValue) [2]float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, a := range s.swept() {
		if v := of(a); v.known {
			low, high = min(low, v.at), max(high, v.at)
		}
	}
	return [2]float64{min(low, 0), high} // 0: no work, or the ratio 1
}

func heatSeries(panel int, of func(arm) heatValue, scale [2]float64, arms []arm, across, down heatKey) map[string]any {
	var data [][2]int
	var tiles []map[string]any
	for _, a := range arms {
		v := of(a)
		shade := 0
		if width := scale[1] - scale[0]; v.known && width > 0 {
			shade = min(heatSteps-1, max(0, int(heatSteps*(v.at-scale[0])/width)))
		}
		t := map[string]any{"text": v.text, "fill": map[string]string{"color": fmt.Sprintf("--heat-%d", shade)}, "ink": map[string]string{"color": "--heat-ink"}}
		if shade >= heatDark {
			t["ink"] = map[string]string{"color": "--heat-paper"}
		}
		if v.small != "" {
			t["small"] = v.small
		}
		if !v.known {
			t["hollow"], t["fill"] = true, map[string]string{"color": "--paper"}
		}
		tiles = append(tiles, t)
		data = append(data, [2]int{slices.Index(across.values, across.of(a)), slices.Index(down.values, down.of(a))})
	}
	return map[string]any{"type": "custom", "renderItem": "bgTile", "xAxisIndex": panel, "yAxisIndex": panel, "data": data, "silent": true,
		"itemPayload": map[string]any{"tiles": tiles, "line": map[string]string{"color": "--line"}}}
}
