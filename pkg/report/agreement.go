package report

import (
	"fmt"

	"bgbench/pkg/analysis"
)

// agreement holds the clients' times to first token against the servers' own.
func agreement(s study) (section, error) {
	one := section{ID: "agreement", Title: "Clients against servers", Nav: "Agreement",
		Lead: "A cross-check from which nothing else is computed: the TTFT that the clients measured against the servers’ own histograms. The clients’ has the network and the router’s queue in it."}
	t := table{Texts: 1, Heads: []string{"Arm", "Trial", "Clients counted", "Servers counted", "Mean difference", "p50 client / bucket", "p95 client / bucket", "p99 client / bucket"}, Folded: "All cells"}
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			g := c.Agreement
			if g.Servers.Value == nil {
				continue
			}
			row := armRow(a.Tag, word(fmt.Sprint(c.Trial)), value(g.Clients, analysis.UnitCount), value(g.Servers, analysis.UnitCount), value(g.MeanDifferenceS, "s"))
			for i := range 3 {
				e := entry{Text: dash, Title: prose(g.MeanDifferenceS.Reason)}
				if i < len(g.Quantiles) {
					q := g.Quantiles[i]
					bucket := "above " + value(q.ServerLowS, "s").Text
					if q.ServerLowS.Value != nil && q.ServerHighS.Value != nil {
						bucket = span(*q.ServerLowS.Value, *q.ServerHighS.Value, "s")
					}
					e = entry{Text: value(q.ClientS, "s").Text, Small: bucket}
				}
				row.Cells = append(row.Cells, e)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if t.Rows != nil {
		one.Tables = []table{t}
	}
	return one, nil
}
