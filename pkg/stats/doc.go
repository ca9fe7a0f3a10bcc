// Package stats holds the estimators, intervals and tests that results rest on.
//
// It knows numbers only: no row, cell or arm goes in. Callers decide what a number
// means, and keep values that are not finite out, except that Quantile and
// MinimumN serve samples with +Inf for what never happened. What draws at random draws
// from a source that the caller gives. Intervals cover what they say under the model
// that their comment states; a test counts it. pkg/analysis and pkg/interop call it.
//
//	slices.Sort(ttft)
//	if len(ttft) >= stats.MinimumN(0.95, 0.95) {
//		p95 := stats.Quantile(ttft, 0.95)
//	}
package stats
