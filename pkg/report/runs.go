package report

import (
	"fmt"
	"slices"

	"bgbench/pkg/analysis"
)

// Run is another experiment that the page lays beside its own.
type Run struct {
	Name    string
	Results analysis.Results
}

// runs lays the medians of other experiments beside those of this one, arm by arm.
func runs(s study) (section, error) {
	one := section{ID: "runs", Title: "Beside other runs", Nav: "Other runs",
		Lead: "Medians over valid trials with the smallest and the largest, and the change from this run. Runs replay no common schedule, so that nothing here is paired or tested."}
	if len(s.Runs) == 0 {
		return one, nil
	}
	metrics := []struct{ title, key string }{
		{"Interactive TTFT p50 in " + label(s.Burst), analysis.MetricKey(s.Burst, "interactive", analysis.MetricTTFT, analysis.StatP50)},
		{"Interactive TTFT p95 in " + label(s.Burst), analysis.MetricKey(s.Burst, "interactive", analysis.MetricTTFT, analysis.StatP95)},
		{"Interactive ITL p95 in " + label(s.Burst), analysis.MetricKey(s.Burst, "interactive", analysis.MetricITL, analysis.StatP95)},
		{"Good interactive requests in " + label(s.Burst), analysis.MetricKey(s.Burst, "interactive", analysis.MetricGoodput, analysis.StatRatio)},
		{"Batch requests per second", analysis.MetricKey(analysis.PhaseAll, "batch", analysis.MetricRequestsPerS, analysis.StatValue)},
	}
	for _, m := range metrics {
		t := table{Title: m.title, Texts: 1, Heads: []string{"Arm", "This run"}}
		for _, r := range s.Runs {
			t.Heads = append(t.Heads, label(r.Name))
		}
		for _, a := range s.Arms {
			row := armRow(a.Tag, estimateEntry(a.Metrics[m.key], nil))
			any := a.Metrics[m.key].Median != nil
			for _, r := range s.Runs {
				i := slices.IndexFunc(r.Results.Arms, func(other analysis.ArmResult) bool { return other.Name == a.Name })
				if i < 0 {
					row.Cells = append(row.Cells, entry{Text: dash, Title: "the run has no such arm"})
					continue
				}
				e := r.Results.Arms[i].Metrics[m.key]
				any = any || e.Median != nil
				row.Cells = append(row.Cells, estimateEntry(e, a.Metrics[m.key].Median))
			}
			if any {
				t.Rows = append(t.Rows, row)
			}
		}
		if t.Rows != nil {
			one.Tables = append(one.Tables, t)
		}
	}
	return one, nil
}

// estimateEntry is a median with its range and the change from another one.
func estimateEntry(e analysis.Estimate, from *float64) entry {
	if e.Median == nil {
		reason := e.Reason
		if reason == "" {
			reason = "not measured"
		}
		return entry{Text: dash, Title: prose(reason)}
	}
	cell := entry{Text: median(e), Title: fmt.Sprintf("n = %d", e.TrialsUse)}
	if e.TrialsUse > 1 && e.Min != nil && e.Max != nil {
		cell.Small = span(*e.Min, *e.Max, e.Unit)
	}
	if from != nil && *from > 0 {
		cell.Small += " " + change(*e.Median / *from)
	}
	return cell
}
