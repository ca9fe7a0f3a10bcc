package interop

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// stat is one number of a metric.
type stat struct {
	name   string
	value  *float64
	reason string
}

// stats of a metric in a fixed order; those that it could have but does not come with
// the reason.
func (m Metric) stats() []stat {
	all := []stat{{"mean", m.Mean, ""}, {"sd", m.SD, ""}, {"min", m.Min, ""}}
	names := slices.Collect(maps.Keys(m.Percentiles))
	for name := range m.Reasons {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, _ := strconv.ParseFloat(strings.TrimPrefix(a, "p"), 64)
		y, _ := strconv.ParseFloat(strings.TrimPrefix(b, "p"), 64)
		if x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		all = append(all, stat{name, m.percentile(name), m.Reasons[name]})
	}
	all = append(all, stat{"max", m.Max, ""})
	return slices.DeleteFunc(all, func(s stat) bool { return s.value == nil && s.reason == "" })
}

// writeCSV writes a line for each number.
func (d Document) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{
		"tool", "source", "run", "arm", "trial", "phase", "class", "valid", "metric", "definition", "called", "of", "from",
		"quantiles", "unit", "n", "counts", "stat", "value", "reason",
	}); err != nil {
		return err
	}
	for _, r := range d.Runs {
		for _, m := range r.Metrics {
			for _, s := range m.stats() {
				n, value := "", ""
				if m.N != nil {
					n = strconv.Itoa(*m.N)
				}
				if s.value != nil {
					value = strconv.FormatFloat(*s.value, 'g', -1, 64)
				}
				if err := out.Write([]string{
					r.Tool, r.Source, r.Name, r.Labels["arm"], r.Labels["trial"], r.Labels["phase"], r.Labels["class"],
					strconv.FormatBool(r.Invalid == ""), m.Name, string(m.Definition), m.Called, m.Of, m.From,
					m.Quantiles, m.Unit, n, m.Counts, s.name, value, s.reason,
				}); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// writeMarkdown writes a table for each kind of metric that can be compared, so that
// no table holds two things of one name.
func (d Document) writeMarkdown(w io.Writer) error {
	type row struct {
		run Run
		m   Metric
	}
	var tables [][]row
	for _, r := range d.Runs {
		for _, m := range r.Metrics {
			i := slices.IndexFunc(tables, func(t []row) bool { return t[0].m.Comparable(m) == nil })
			if i < 0 {
				i = len(tables)
				tables = append(tables, nil)
			}
			tables[i] = append(tables[i], row{r, m})
		}
	}
	slices.SortStableFunc(tables, func(a, b []row) int { return strings.Compare(string(a[0].m.Definition), string(b[0].m.Definition)) })
	var out strings.Builder
	for i, t := range tables {
		m := t[0].m
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "### %s (%s, requests: %s", m.Definition, m.Unit, m.Of)
		if m.Quantiles != "" {
			fmt.Fprintf(&out, ", percentiles: %s", m.Quantiles)
		}
		fmt.Fprintf(&out, ")\n\n%s.\n\n", m.Definition.Meaning())
		out.WriteString("| run | tool | n | mean | p50 | p90 | p95 | p99 | max |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, r := range t {
			name := r.run.Name
			if r.run.Invalid != "" {
				name += " (INVALID)"
			}
			n := "–"
			if r.m.N != nil {
				n = strconv.Itoa(*r.m.N)
			}
			fmt.Fprintf(&out, "| %s | %s, from %s | %s |", cell(name), r.run.Tool, r.m.From, n)
			for _, v := range []*float64{
				r.m.Mean, r.m.percentile("p50"), r.m.percentile("p90"), r.m.percentile("p95"), r.m.percentile("p99"), r.m.Max,
			} {
				if v == nil {
					out.WriteString(" – |")
				} else {
					fmt.Fprintf(&out, " %.4g |", *v)
				}
			}
			out.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// cell keeps a text inside its cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;").Replace(text)
}
