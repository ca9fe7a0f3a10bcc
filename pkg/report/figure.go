package report

import (
	"encoding/json"
	"fmt"
	"html/template"
)

// figure is one chart with what says the same in text.
type figure struct {
	ID      string // no name from outside goes into it
	Arm     *tag   // the arm that the figure is about, nil if it is about all
	Alt     string // what is drawn, for who cannot see it
	Height  int    // pixels
	Folded  bool   // behind the name of its arm
	Wide    bool   // scrolls sideways where the screen is narrow
	Legend  []tag  // arms that can be switched off
	Option  template.JS
	Caption string
	Heads   []string // data table
	Rows    [][]string
}

// optionBuilder is a go-echarts chart. Only its options are used: its renderers
// neither escape names nor keep off the network.
type optionBuilder interface {
	Validate()
	JSON() map[string]any
}

// chartOption returns the options of chart as JSON that is inert inside a script
// element (encoding/json escapes <, > and &, and U+2028 and U+2029). edit changes
// what go-echarts has no words for: titles, renderItem by name, payloads.
//
// A colour that starts with -- is a custom property of page.css; boot.js looks it
// up, so that charts follow the light or dark scheme of the page.
func chartOption(chart optionBuilder, edit func(map[string]any)) (template.JS, error) {
	chart.Validate()
	built, err := json.Marshal(chart.JSON())
	if err != nil {
		return "", fmt.Errorf("building a chart: %w", err)
	}
	var option map[string]any
	if err := json.Unmarshal(built, &option); err != nil {
		return "", fmt.Errorf("building a chart: %w", err)
	}
	// HTML has the titles and legends, the arms have their own colours.
	for _, part := range []string{"title", "legend", "toolbox", "color"} {
		delete(option, part)
	}
	barePoints(option)
	edit(option)
	data, err := json.Marshal(option)
	if err != nil {
		return "", fmt.Errorf("building a chart: %w", err)
	}
	return template.JS(data), nil
}

// barePoints writes points that have nothing but a value as that value, which
// makes the page a third smaller.
func barePoints(option map[string]any) {
	series, _ := option["series"].([]any)
	for _, s := range series {
		one, _ := s.(map[string]any)
		points, _ := one["data"].([]any)
		for i, p := range points {
			if point, _ := p.(map[string]any); len(point) == 1 && point["value"] != nil {
				points[i] = point["value"]
			}
		}
	}
}

// colour is the custom property that holds the colour of an arm.
func (t tag) colour() string { return fmt.Sprintf("--arm-%d", t.Slot) }

// opacity sets arms apart that share a colour.
func (t tag) opacity() float32 { return 1 / float32(1+t.Lap) }

// chartText is a text that stands at a place of the chart, as its title component
// draws it.
func chartText(text, left, top string, heading bool) map[string]any {
	style := map[string]any{"fontSize": 12, "fontWeight": "normal", "color": "--muted"}
	if heading {
		style = map[string]any{"fontSize": 12, "fontWeight": 600, "color": "--ink"}
	}
	return map[string]any{"text": text, "left": left, "top": top, "padding": 0, "textStyle": style}
}
