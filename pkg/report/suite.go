package report

import (
	"slices"

	"bgbench/pkg/analysis"
	"bgbench/pkg/spec"
)

// suite puts arms of holdback and eviction as published runs do.
func suite(s study) (section, error) {
	one := section{ID: "suite", Title: "Holdback and eviction, as published runs put them", Nav: "Suite",
		Lead: "The median over runs with the smallest and the largest below it; counts are medians too."}
	holds := func(a spec.Arm) bool { return a.Router.Holdback.Active() }
	if !slices.ContainsFunc(s.Experiment.Arms, holds) {
		return one, nil
	}
	t := table{Texts: 1, Heads: []string{"Arm", "Runs", "TTFT p50", "TTFT p95", "Change of p95", "Batch done", "Batch span", "Line p95", "Evictions", "One final result", "Redone tokens"}}
	for _, r := range s.Suite {
		name, ok := s.tagOf(r.Arm)
		if !ok {
			continue
		}
		changed := numberOr(r.TTFTChange.Value, "", r.TTFTChange.Reason)
		if v := r.TTFTChange.Value; v != nil {
			changed.Text = change(1 + *v)
		}
		result := numberOr(r.OneResult.Value, "ratio", r.OneResult.Reason)
		if r.OneResult.Value != nil {
			result.Text = count(int64(r.OneResult.Count)) + " of " + count(int64(r.OneResult.N))
		}
		t.Rows = append(t.Rows, armRow(name, word(count(int64(r.Runs))), repeatsOf(r.TTFTP50, "s"), repeatsOf(r.TTFTP95, "s"), changed,
			repeatsOf(r.Completed, analysis.UnitCount), repeatsOf(r.Span, "s"), repeatsOf(r.BatchE2E, "s"), repeatsOf(r.Evictions, analysis.UnitCount), result, repeatsOf(r.Redone, analysis.UnitCount)))
	}
	if t.Rows != nil {
		one.Tables = []table{t}
		one.Note = "Published in this form to be laid beside other runs; nothing in it is tested. A dash has its reason as a tooltip."
	}
	return one, nil
}
