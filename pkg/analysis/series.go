package analysis

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/record"
)

// Metrics of the components, by canonical name.
const (
	metricRunning    = "vllm:num_requests_running"
	metricWaiting    = "vllm:num_requests_waiting"
	metricKVUsage    = "vllm:kv_cache_usage_perc"
	metricGenerated  = "vllm:generation_tokens_total"
	metricPrompt     = "vllm:prompt_tokens_total"
	metricCached     = "vllm:prompt_tokens_cached_total"
	metricPrefixHits = "vllm:prefix_cache_hits_total"

	metricSaturation     = "llm_d_epp_flow_control_pool_saturation"
	metricQueueSize      = "llm_d_epp_flow_control_queue_size"
	metricQueueCount     = "llm_d_epp_flow_control_request_queue_duration_seconds_count"
	metricQueueBucket    = "llm_d_epp_flow_control_request_queue_duration_seconds_bucket"
	metricEvictions      = "llm_d_epp_flow_control_revocations_issued_total"
	metricRouterRequests = "llm_d_epp_inflight_requests"
	metricRouterTokens   = "llm_d_epp_inflight_tokens"
	metricRouterErrors   = "llm_d_epp_request_error_total"

	metricAIMDLimit     = "batch_processor_aimd_concurrency_limit"
	metricAIMDDecreases = "batch_processor_aimd_decreases_total"
	metricAIMDIncreases = "batch_processor_aimd_increases_total"
	metricProcessor     = "processor_inflight_requests"

	metricBudget       = "llm_d_async_async_dispatch_budget"
	metricAsync        = "llm_d_async_async_inflight_requests"
	metricAsyncRetries = "llm_d_async_async_request_retries_total"
)

// keptMetrics are those that something is computed from.
var keptMetrics = []string{
	metricGenerated, metricPrompt, metricCached, metricPrefixHits,
	metricSaturation, metricQueueSize, metricQueueCount, metricQueueBucket, metricEvictions,
	metricRouterRequests, metricRouterTokens, metricRouterErrors,
	metricAIMDLimit, metricAIMDDecreases, metricAIMDIncreases, metricProcessor,
	metricBudget, metricAsync, metricAsyncRetries,
	metricTTFTBucket, metricTTFTSum, metricTTFTCount,
	metricPreemptions, metricQueueSum, metricReleaseBucket, metricReleaseSum, metricReleaseCount, metricRevocations,
}

// keepsMetric reports whether samples of a metric are kept.
func keepsMetric(canonical string) bool {
	_, drawn := curveUnits[canonical]
	return drawn || slices.Contains(keptMetrics, canonical)
}

// ofBound returns the buckets of one bound: 0.1 may be written as 0.10.
func ofBound(buckets []track, bound float64) []track {
	var out []track
	for _, t := range buckets {
		if v, err := strconv.ParseFloat(t.labels["le"], 64); err == nil && v == bound {
			out = append(out, t)
		}
	}
	return out
}

// series is the samples of one series.
type series struct {
	key     seriesKey
	kept    bool
	samples []sampleAt
}

type sampleAt struct {
	micros int64 // Unix time
	value  float64
}

// addSamples takes samples in any order. Those of a series mostly follow each other, so
// that it looks at what a series is once.
func (r *rows) addSamples(samples []record.Sample) error {
	for len(samples) > 0 {
		first := &samples[0]
		// The descriptor of a lone arm's stack names no experiment, and neither do the rows
		// of its scrape: they are of the one that the inputs were drawn for.
		if err := r.same(identity{cmp.Or(first.Experiment, r.identity.Experiment), first.Arm, first.Trial}); err != nil {
			return err
		}
		n := 1
		for n < len(samples) && sameSeries(first, &samples[n]) {
			n++
		}
		r.addRun(samples[:n])
		samples = samples[n:]
	}
	return nil
}

// sameSeries reports whether two samples are of one series of one cell.
func sameSeries(a, b *record.Sample) bool {
	return a.Experiment == b.Experiment && a.Arm == b.Arm && a.Trial == b.Trial &&
		a.Canonical == b.Canonical && a.Metric == b.Metric && a.Source == b.Source && a.Labels == b.Labels
}

// addRun takes samples of one series.
func (r *rows) addRun(samples []record.Sample) {
	of := r.seriesOf(seriesKey{samples[0].Canonical, samples[0].Metric, samples[0].Source, samples[0].Labels})
	first, known := r.scraped[of.key.source]
	if of.kept {
		of.samples = slices.Grow(of.samples, len(samples))
	}
	for i := range samples {
		s := &samples[i]
		if !known || s.At.Before(first) {
			first, known = s.At, true
		}
		// An exporter may say NaN for a gauge without a value: a gap in the curve.
		if of.kept && !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) {
			of.samples = append(of.samples, sampleAt{s.At.UnixMicro(), s.Value})
		}
	}
	r.scraped[of.key.source] = first
}

func (r *rows) seriesOf(key seriesKey) *series {
	of := r.series[key]
	if of == nil {
		of = &series{key: key, kept: keepsMetric(key.canonical)}
		r.series[key] = of
	}
	return of
}

func bySampleTime(a, b sampleAt) int {
	return cmp.Or(cmp.Compare(a.micros, b.micros), cmp.Compare(a.value, b.value))
}

// seriesKey is one series of one source. Metric is the name that it was exposed under.
type seriesKey struct{ canonical, metric, source, labels string }

// track is one series over time, in seconds of schedule time.
type track struct {
	source  string
	labels  map[string]string
	at      []float64
	values  []float64
	scraped float64 // when its source was first asked
}

// find returns the series of a metric by source and labels. An exporter that has a
// metric under its old and its new name counts once.
func (r *rows) find(canonical string, start time.Time) []track {
	var keys []seriesKey
	current := make(map[string]bool) // sources that have the canonical name
	for key, of := range r.series {
		if key.canonical == canonical && len(of.samples) > 0 {
			keys = append(keys, key)
			current[key.source] = current[key.source] || key.metric == canonical
		}
	}
	keys = slices.DeleteFunc(keys, func(k seriesKey) bool { return current[k.source] && k.metric != canonical })
	slices.SortFunc(keys, func(a, b seriesKey) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.labels, b.labels), cmp.Compare(a.metric, b.metric))
	})
	tracks := make([]track, 0, len(keys))
	for _, key := range keys {
		samples := r.series[key].samples
		slices.SortFunc(samples, bySampleTime)
		t := track{
			source: key.source, scraped: r.scraped[key.source].Sub(start).Seconds(),
			at: make([]float64, len(samples)), values: make([]float64, len(samples)),
		}
		// Labels that are not JSON are no labels that anything is looked up by.
		_ = json.Unmarshal([]byte(key.labels), &t.labels)
		for i, s := range samples {
			t.at[i], t.values[i] = time.UnixMicro(s.micros).Sub(start).Seconds(), s.value
		}
		tracks = append(tracks, t)
	}
	return tracks
}

// with returns the tracks whose label has a value.
func with(tracks []track, label, value string) []track {
	var out []track
	for _, t := range tracks {
		if t.labels[label] == value {
			out = append(out, t)
		}
	}
	return out
}

// valuesOf lists the values of a label, sorted.
func valuesOf(tracks []track, label string) []string {
	seen := make(map[string]bool)
	for _, t := range tracks {
		seen[t.labels[label]] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// before is the index of the last sample at or before an instant, -1 if there is none.
func (t track) before(at float64) int {
	i, found := slices.BinarySearch(t.at, at)
	if found {
		for i+1 < len(t.at) && t.at[i+1] == at {
			i++
		}
		return i
	}
	return i - 1
}

// rise is by how much a counter rose in a stretch, as its samples say: from the last
// one at or before its beginning to the last one at or before its end. A fall is a
// restart of the process, after which it counted from 0. A series that is not there
// when its source is first asked begins at 0 with its first use.
func (t track) rise(in span) float64 {
	i, last := t.before(in.from), t.before(in.to)
	base := 0.0
	switch {
	case last < 0:
		return 0
	case i >= 0:
		base = t.values[i]
	case t.at[0] <= t.scraped:
		base = t.values[0]
	}
	sum := 0.0
	for _, v := range t.values[i+1 : last+1] {
		if v >= base {
			sum += v - base
		} else {
			sum += v
		}
		base = v
	}
	return sum
}

// rises sums over series.
func rises(tracks []track, in span) float64 {
	sum := 0.0
	for _, t := range tracks {
		sum += t.rise(in)
	}
	return sum
}

// step is a value and since when it holds.
type step struct{ at, value float64 }

// steps are the values of a gauge in a stretch, as it was sampled: the one that held at
// its beginning, if it is known, and each sample in it.
func (t track) steps(in span) []step {
	var out []step
	if i := t.before(in.from); i >= 0 {
		out = append(out, step{in.from, t.values[i]})
	}
	for i, at := range t.at {
		if at > in.from && at <= in.to {
			out = append(out, step{at, t.values[i]})
		}
	}
	return out
}

// mean of steps over time, from the first of them to an instant.
func mean(steps []step, until float64) (float64, bool) {
	sum, length := 0.0, 0.0
	for i, s := range steps {
		end := until
		if i+1 < len(steps) {
			end = steps[i+1].at
		}
		sum += s.value * (end - s.at)
		length += end - s.at
	}
	return sum / length, length > 0
}

func extremes(steps []step) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range steps {
		low, high = min(low, s.value), max(high, s.value)
	}
	return low, high
}

// changes leaves out the steps that repeat the one before.
func changes(steps []step) []step {
	return slices.CompactFunc(slices.Clone(steps), func(a, b step) bool { return a.value == b.value })
}

// total is the sum of tracks at each instant at which any of them was sampled. One that
// was not there yet, or is there no more, counts as it was seen last.
func total(tracks []track) track {
	sum := track{scraped: math.Inf(1)}
	for _, t := range tracks {
		sum.at = append(sum.at, t.at...)
		sum.scraped = min(sum.scraped, t.scraped)
	}
	slices.Sort(sum.at)
	sum.at = slices.Compact(sum.at)
	for _, at := range sum.at {
		v := 0.0
		for _, t := range tracks {
			if i := t.before(at); i >= 0 {
				v += t.values[i]
			}
		}
		sum.values = append(sum.values, v)
	}
	return sum
}

// telling is what distinguishes the labels of a series from those of its siblings, for
// a name: priority=-1.
func telling(t track, siblings []track) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.labels)) {
		if slices.ContainsFunc(siblings, func(s track) bool { return s.source == t.source && s.labels[name] != t.labels[name] }) {
			parts = append(parts, name+"="+t.labels[name])
		}
	}
	return strings.Join(parts, " ")
}
