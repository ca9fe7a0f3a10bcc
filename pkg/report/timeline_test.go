package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/analysis"
)

func ending(job string, at, done float64) analysis.Curve {
	return analysis.Curve{Name: "job:" + job, Points: [][2]float64{{0, 0}, {at, done}}}
}

func TestJobsThatEndTogetherShareALabel(t *testing.T) {
	axis := timeAxis{start: 0, end: 100, unit: "s", factor: 1}
	for name, c := range map[string]struct {
		curves []analysis.Curve
		want   []any
	}{
		"all together":      {[]analysis.Curve{ending("A", 50, 10), ending("B", 52, 10), ending("C", 54, 10)}, []any{"A B C", "", ""}},
		"one after another": {[]analysis.Curve{ending("A", 20, 10), ending("B", 50, 10), ending("C", 90, 10)}, []any{"A", "B", "C"}},
		"cut at one time":   {[]analysis.Curve{ending("A", 100, 9), ending("B", 100, 2)}, []any{"A", "B"}},
	} {
		t.Run(name, func(t *testing.T) {
			series := jobEnds(analysis.CellResult{Curves: c.curves}, []string{"job:A", "job:B", "job:C"}, axis, 10, tag{})
			var got []any
			for _, point := range series["data"].([]map[string]any) {
				got = append(got, point["name"])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeadlinesCountFromTheCreationOfTheJob(t *testing.T) {
	cell := analysis.CellResult{
		Curves: []analysis.Curve{{Name: "job:A", Points: [][2]float64{{-30, 0}, {500, 10}}}},
		Jobs:   []analysis.JobSummary{{Job: "A", WindowS: 600}, {Job: "B", WindowS: 7200}, {Job: "C"}},
	}
	due, beyond := deadlines(cell, timeAxis{start: -0.5, end: 18, unit: "min", factor: 1.0 / 60})
	if diff := cmp.Diff([]deadline{{"A", 9.5}}, due, cmp.AllowUnexported(deadline{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"B after 2h"}, beyond); diff != "" {
		t.Error(diff)
	}
}

func TestSampleIsTheLastOneUpToAnInstant(t *testing.T) {
	curve := analysis.Curve{Points: [][2]float64{{0, 1}, {10, 2}, {20, 3}}}
	for at, want := range map[float64]string{-1: dash, 0: "1.00", 9.9: "1.00", 10: "2.00", 1e9: "3.00"} {
		if got := sampleAt(curve, at, ""); got != want {
			t.Errorf("at %v s: got %s, want %s", at, got, want)
		}
	}
}
