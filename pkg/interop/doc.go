// Package interop reads the result files of other benchmarks and writes those that
// their readers expect.
//
// Everything goes through one form, a Document of Runs. Tools give one name to
// different quantities and different names to one, so each Metric carries the
// Definition that it was measured by, and the way its percentiles were taken: only
// metrics that agree in all of it are comparable, see Metric.Comparable. guidellm's
// "time per output token", for one, counts the time to the first token in; here it is
// an ntpot and never stands beside a tpot.
//
// Where a file has a record for each request, Import returns them as rows, and
// metrics computed from them stand beside those that the file reports.
//
//	in, err := interop.Import(data, "benchmarks.csv", interop.Auto)
//	for _, run := range in.Document.Runs {
//
// cmd/bg-analyze calls it; pkg/analysis turns results.json into a Document.
package interop
