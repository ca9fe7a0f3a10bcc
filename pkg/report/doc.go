// Package report turns analysis.Results into something to look at: one
// self-contained HTML page, or a Markdown summary for a pull request.
//
//	results, err := analysis.ReadResults(file, "results.json")
//	err = report.HTML(out, results)
//
// It computes no statistics: every figure on the page is a number of results.json,
// rounded for reading, and every sentence of the answer is filled from its
// verdicts. The page holds its scripts (Apache ECharts), its styles and its data,
// asks the network for nothing, says everything in text and tables where scripts
// do not run, and is the same bytes for the same input. go-echarts builds chart
// options only; its own rendering escapes no names and loads from elsewhere.
//
// cmd/bg-report calls it.
package report
