package report

import (
	"io"
	"strings"
	"testing"

	"bgbench/pkg/analysis"
)

// What can be read, the page and the Markdown can show.
func FuzzRead(f *testing.F) {
	f.Add(`{"schema_version":"bgbench.results/1","arms":[{"name":"a","metrics":{"burst/interactive/ttft/p95":{"unit":"s","values":[1,null],"median":1}}}]}`)
	f.Add(`{"schema_version":"bgbench.results/1","arms":[{"name":"a","jobs":[{"job":"A","window_s":-1}]}],"cells":[{"arm":"a","trial":1,"curves":[{"name":"job:A","points":[[1e300,-1e300]]}],"bands":[{"phase":"","end_s":1e308}]}]}`)
	f.Add(`{"schema_version":"bgbench.results/1","arms":[{"name":"a","factors":[{"key":"k","value":1},{"key":"l","value":[]}],"against_baseline":{"/interactive/ttft/p95":{"ratio":-1}}},{"name":"b","factors":[{"key":"k","value":"x"},{"key":"l","value":{}}]}],"cells":[{"arm":"a","trial":1,"phases":[{"class":"interactive","requests":1,"cycles":[{},{"ttft":{"p95":{"value":1e-300}}}]}],"queue_times":[{"times":{"mean_s":{"value":-1}}}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		results, err := analysis.ReadResults(strings.NewReader(text), "results.json")
		if err != nil {
			return
		}
		var b strings.Builder
		if err := HTML(&b, results, Beside{Runs: []Run{{"itself", results}}}); err != nil {
			t.Error(err)
		}
		if err := Markdown(&b, results); err != nil {
			t.Error(err)
		}
	})
}

// The points of a rate sweep come from a file of their own.
func FuzzRates(f *testing.F) {
	f.Add(`[{"arm":"s2-ungated","trial":1,"valid":true,"knee":true,"summary":{"phase":"rate","class":"interactive","offered_requests_per_s":{"value":12},"ok_requests_per_s":{"value":11.9},"ttft_from_due":{"unit":"s","p95":{"value":0.4}}}}]`)
	f.Add(`[{"arm":"</script>","trial":-1,"summary":{"phase":"\u202e","class":"interactive","ok_requests_per_s":{"value":-1e308},"ttft_from_due":{"p95":{"value":1e308}}}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		points, err := analysis.ReadRatePoints(strings.NewReader(text), "rates.json")
		if err != nil {
			return
		}
		results := analysis.Results{Arms: []analysis.ArmResult{{Name: "s2-ungated"}}}
		if err := HTML(io.Discard, results, Beside{Rates: points}); err != nil {
			t.Error(err)
		}
	})
}
