package report

import (
	"fmt"
	"slices"
	"strings"

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
				if differs := analysis.OtherWorkload(a.Name, r.Results, s.Results); differs != "" && e.Median != nil {
					cell := estimateEntry(e, nil)
					cell.Small, cell.Title = strings.TrimSpace(cell.Small+" other workload"), prose(differs)
					row.Cells = append(row.Cells, cell)
					continue
				}
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
	one.Note = strings.Join(s.Apart(s.Results), " ")
	return one, nil
}

// Apart says, run by run, in what the runs beside results are not of the same experiment: a
// sentence each. No ratio is made of arms whose workloads differ.
func (b Beside) Apart(results analysis.Results) []string {
	var said []string
	for _, r := range b.Runs {
		var parts []string
		differing, arms := map[string][]string{}, 0
		var order []string
		for _, a := range results.Arms {
			if !slices.ContainsFunc(r.Results.Arms, func(other analysis.ArmResult) bool { return other.Name == a.Name }) {
				continue
			}
			arms++
			if differs := analysis.OtherWorkload(a.Name, r.Results, results); differs != "" {
				if differing[differs] == nil {
					order = append(order, differs)
				}
				differing[differs] = append(differing[differs], label(a.Name))
			}
		}
		for _, differs := range order {
			of := ""
			if len(differing[differs]) < arms {
				of = " in " + list(differing[differs])
			}
			parts = append(parts, "another workload"+of+", so that no ratio is given: "+prose(differs))
		}
		if arms == 0 {
			parts = append(parts, "no arm of the same name")
		}
		if was, is := r.Results.Experiment.Question, results.Experiment.Question; was != is {
			parts = append(parts, "another question, “"+prose(was)+"”")
		}
		if was, is := r.Results.Experiment.Target, results.Experiment.Target; was != is {
			parts = append(parts, "another target: "+targetName(was)+", here "+targetName(is))
		}
		if parts != nil {
			said = append(said, label(r.Name)+" has "+strings.Join(parts, "; ")+".")
		}
	}
	return said
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
