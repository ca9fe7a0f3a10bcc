// Package metric holds the counters, gauges and histograms of the stack model.
//
// They are plain values without locks: everything in the model runs on the
// kernel's goroutine. Gather gives them in the data model of the Prometheus
// client libraries, which pkg/sim/serve encodes for a scraper and pkg/scrape turns
// into rows directly, so that both clocks yield the same samples. Histogram.ObserveN
// is why client_golang is not used: thousands of tokens with one gap are one call.
package metric
