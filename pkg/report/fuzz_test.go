package report

import (
	"strings"
	"testing"

	"bgbench/pkg/analysis"
)

// What can be read, the page and the Markdown can show.
func FuzzRead(f *testing.F) {
	f.Add(`{"schema_version":"bgbench.results/1","arms":[{"name":"a","metrics":{"burst/interactive/ttft/p95":{"unit":"s","values":[1,null],"median":1}}}]}`)
	f.Add(`{"schema_version":"bgbench.results/1","arms":[{"name":"a","jobs":[{"job":"A","window_s":-1}]}],"cells":[{"arm":"a","trial":1,"curves":[{"name":"job:A","points":[[1e300,-1e300]]}],"bands":[{"phase":"","end_s":1e308}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		results, err := analysis.ReadResults(strings.NewReader(text), "results.json")
		if err != nil {
			return
		}
		var b strings.Builder
		if err := HTML(&b, results, Beside{}); err != nil {
			t.Error(err)
		}
		if err := Markdown(&b, results); err != nil {
			t.Error(err)
		}
	})
}
