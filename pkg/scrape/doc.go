// Package scrape turns Prometheus metrics into record.Sample rows.
//
// Run asks the /metrics pages of a stack once an interval, as a Prometheus server
// would, and hands the rows of each scrape on. Range takes from a Prometheus server
// what it has of a stretch of time, Import from OpenMetrics text; Export writes that.
// A Page does the translation alone: the
// stack model gives it what its registries gather, so that both clocks yield the
// same rows:
//
//	page := scrape.NewPage("vllm-0", record.Sample{Experiment: "x", Arm: "s2-ungated", Trial: 1})
//	rows = page.Append(rows[:0], registry.Gather(), now)
//
// Rows keep what was exposed: names, labels, NaN, cumulative buckets (those of native
// histograms, too). Only the canonical column says the same of all versions of an exporter; names.tsv lists
// what was renamed. Rates and quantiles are for who reads the rows.
//
// cmd/bg-scrape and pkg/load call it.
package scrape
