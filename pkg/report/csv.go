package report

import (
	"encoding/csv"
	"fmt"
	"strings"

	"bgbench/pkg/analysis"
)

// summaryCSV is the summary table for a spreadsheet: numbers in base units, a column
// each for the median, the smallest and the largest trial and the ratio to the baseline.
func (s study) summaryCSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	var keys []string
	head := []string{"arm", "baseline", "trials", "invalid"}
	for _, metric := range []string{analysis.MetricTTFT, analysis.MetricITL} {
		for _, stat := range []string{analysis.StatP50, analysis.StatP95, analysis.StatP99} {
			keys = append(keys, analysis.MetricKey(s.Burst, "interactive", metric, stat))
		}
	}
	keys = append(keys, analysis.MetricKey(s.Idle, "batch", analysis.MetricRequestsPerS, analysis.StatValue),
		analysis.MetricKey(analysis.PhaseAll, "batch", analysis.MetricTTFT, analysis.StatP50))
	for _, key := range keys {
		for _, part := range []string{"median", "min", "max", "ratio", "verdict"} {
			head = append(head, label(key)+" "+part)
		}
	}
	jobs := []string{}
	for _, a := range s.Arms {
		for _, j := range a.Jobs {
			known := false
			for _, name := range jobs {
				known = known || name == j.Job
			}
			if !known {
				jobs = append(jobs, j.Job)
				head = append(head, "job "+label(j.Job)+" completion_s", "job "+label(j.Job)+" window_s", "job "+label(j.Job)+" met")
			}
		}
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%.6g", *v)
	}
	rows := [][]string{head}
	for _, a := range s.Arms {
		row := []string{cell(a.Tag.Label()), fmt.Sprint(a.ArmResult.Baseline), fmt.Sprint(a.Trials), fmt.Sprint(a.Invalid)}
		for _, key := range keys {
			e, c := a.Metrics[key], a.Against[key]
			row = append(row, number(e.Median), number(e.Min), number(e.Max), number(c.Ratio), c.Verdict)
		}
		for _, name := range jobs {
			found := []string{"", "", ""}
			for _, j := range a.Jobs {
				if j.Job == name {
					found = []string{number(j.CompletionS.Median), number(&j.WindowS), fmt.Sprintf("%d of %d", j.Met, j.Trials)}
				}
			}
			row = append(row, found...)
		}
		rows = append(rows, row)
	}
	for i := range rows[0] {
		rows[0][i] = cell(rows[0][i])
	}
	// A strings.Builder never fails.
	_ = w.WriteAll(rows)
	return b.String()
}

// cell keeps a spreadsheet from taking a name for a formula.
func cell(text string) string {
	if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r") {
		return "'" + text
	}
	return text
}
