package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/analysis"
)

func TestLogAxesHoldWhatIsDrawn(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, high float64
		from, to  float64
	}{
		{"several decades end at 1, 2 or 5", 0.03, 7, 0.02, 10},
		{"an end that is one already stays", 0.02, 50, 0.02, 50},
		{"one value has an axis around it", 3, 3, 2, 5},
		{"one value that is an end has an axis beyond it", 2, 2, 2, 4},
		{"nothing has some axis", 0, 0, 0.1, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			if from, to := decades(c.low, c.high); from != c.from || to != c.to {
				t.Errorf("from %v to %v, want %v to %v", from, to, c.from, c.to)
			}
		})
	}
}

func TestAxesOfRatiosHaveTicksEnough(t *testing.T) {
	if a := ratioAxis(0.9, 3.7); a.Min != 0.5 || a.Max != 4 || !a.Octaves {
		t.Errorf("a narrow range: %+v, want powers of two from 0.5 to 4", a)
	}
	if a := ratioAxis(0.9, 60); a.Min != 0.5 || a.Max != 100 || a.Octaves {
		t.Errorf("a wide range: %+v, want powers of ten from 0.5 to 100", a)
	}
}

func TestChartsAreJSONThatClosesNoScript(t *testing.T) {
	c := newCanvas("item")
	panel := c.panel(place{Left: "0", Right: "0", Top: "0", Height: "10"}, scaleAxis{Min: 0, Max: 1}, scaleAxis{Min: 0, Max: 1})
	c.line(panel, "</script><script>", "--arm-1", [][2]float64{{0, 0}, {1, 1}}, mark{Width: 1, Opacity: 1})
	option, err := c.option()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(option), "<>") {
		t.Errorf("the option holds what a page reads as an element: %s", option)
	}
	var back struct {
		Legend struct{ Data []string }
		Series []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(option), &back); err != nil {
		t.Fatal(err)
	}
	if back.Series[0].Name != "</script><script>" || len(back.Legend.Data) != 1 || back.Legend.Data[0] != back.Series[0].Name {
		t.Errorf("the name of the series became %q, in the legend %q", back.Series[0].Name, back.Legend.Data)
	}
}

func TestDrawingLosesNoPeak(t *testing.T) {
	curve := make([][2]float64, 6000)
	for i := range curve {
		curve[i] = [2]float64{float64(i), 1}
	}
	curve[1234][1], curve[4321][1] = 9, -9
	got := analysis.Decimate(curve, panelPoints)
	if len(got) > panelPoints || !slices.Contains(got, curve[1234]) || !slices.Contains(got, curve[4321]) || got[0] != curve[0] || got[len(got)-1] != curve[5999] {
		t.Errorf("%d points from %v to %v, want the ends, both peaks and %d at most", len(got), got[0], got[len(got)-1], panelPoints)
	}
	if short := analysis.Decimate(curve[:10], panelPoints); len(short) != 10 {
		t.Errorf("%d points of 10", len(short))
	}
}
