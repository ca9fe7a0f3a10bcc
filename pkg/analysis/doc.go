// Package analysis turns rows into numbers: rows of a cell into a cell summary,
// cells into comparisons across arms and trials, all of it into results.json.
//
// Within a cell every figure comes from the pooled raw rows of a phase over the
// measured cycles. Across trials the trial is the unit: values per trial stand
// beside their median, range and interval, and nothing is averaged twice. What
// cannot be computed is null with the reason. cmd/bg-analyze calls it; pkg/report
// reads its Results and computes nothing of its own.
package analysis
