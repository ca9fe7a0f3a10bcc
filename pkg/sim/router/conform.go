package router

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// Difference is one thing in which the model and a recording disagree.
type Difference struct {
	What, Got, Want string
}

func (d Difference) String() string { return fmt.Sprintf("%s: got %s, want %s", d.What, d.Got, d.Want) }

// Seeds is how many runs of a burst have to fall into the recorded range.
const Seeds = 5

// Conform replays one recorded case of the endpoint picker, a JSON file, on the
// model and returns where they disagree. An error means that the case itself cannot
// be read.
//
// A deterministic case is held to outcome, status, reason, body, order, metrics and
// times, without dispatch lag; one that is not to outcome and order of any of its
// runs. A burst is replayed with the lag, and how many requests went which way has
// to fall into the recorded range under every seed. Of a start only counts whether
// the router serves or exits.
func Conform(caseJSON []byte) ([]Difference, error) {
	c, err := decodeRecording(caseJSON)
	if err != nil {
		return nil, err
	}
	if c.Startup != nil {
		return conformStart(c), nil
	}
	if len(c.Ranges) > 0 {
		return conformBurst(c)
	}
	p, err := play(c, 0, 1)
	if err != nil {
		return startDifference(err, "it serves"), nil
	}
	v := comparison{c: c, p: p}
	if c.Deterministic {
		v.requests(c.Observed, true)
		v.order("dispatch_order", c.DispatchOrder, p.dispatches())
		v.order("evict_order", c.EvictOrder, p.evictions())
		v.metrics()
		return v.diffs, nil
	}
	v.requests(c.Observed, false)
	v.order("dispatch_order", c.DispatchOrder, p.dispatches())
	v.order("evict_order", c.EvictOrder, p.evictions())
	for _, other := range c.OtherRuns {
		if len(v.diffs) == 0 {
			break
		}
		w := comparison{c: c, p: p}
		w.requests(other.apply(c.Observed), false)
		w.order("dispatch_order", other.order(c.DispatchOrder), p.dispatches())
		if len(w.diffs) == 0 {
			v.diffs = nil
		}
	}
	return v.diffs, nil
}

func conformStart(c *recording) []Difference {
	flags, err := caseFlags(c.Flags)
	if err == nil {
		_, err = Parse(c.Config, flags)
	}
	switch {
	case err != nil && !c.Startup.Exits:
		return startDifference(err, "it serves")
	case err == nil && c.Startup.Exits:
		return []Difference{{"start", "it serves", "it exits: " + c.Startup.Message}}
	}
	return nil
}

func startDifference(err error, want string) []Difference {
	return []Difference{{"start", "it exits: " + err.Error(), want}}
}

// apply returns the observations of another run.
func (o otherRun) apply(observed []observation) []observation {
	list := slices.Clone(observed)
	for i := range list {
		if changed, ok := o.Outcomes[list[i].ID]; ok {
			list[i] = observation{ID: list[i].ID, Outcome: changed, MS: list[i].MS}
		}
	}
	return list
}

// order puts the requests into the order of another run's times. Evicted ones keep
// the place of their dispatch, of which no time is recorded.
func (o otherRun) order(groups [][]string) [][]string {
	ids := slices.Concat(groups...)
	for id, outcome := range o.Outcomes {
		if outcome == "dispatched" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	sort.SliceStable(ids, func(i, j int) bool { return o.MS[ids[i]] < o.MS[ids[j]] })
	var single [][]string
	for _, id := range ids {
		single = append(single, []string{id})
	}
	return single
}

// comparison collects differences of one replay.
type comparison struct {
	c     *recording
	p     *replay
	diffs []Difference
}

func (v *comparison) differ(what string, got, want any) {
	v.diffs = append(v.diffs, Difference{what, fmt.Sprint(got), fmt.Sprint(want)})
}

func (v *comparison) requests(observed []observation, times bool) {
	seen := map[string]bool{}
	for _, o := range observed {
		seen[o.ID] = true
		q := v.p.runs[o.ID]
		if q == nil {
			v.differ(o.ID, "no such request", o.Outcome)
			continue
		}
		if got := q.outcome(); got != o.Outcome {
			v.differ(o.ID+": outcome", got, o.Outcome)
			continue
		}
		v.answer(q, o)
		if times {
			v.times(q, o)
		}
		if o.Endpoint != "" && v.c.Endpoints > 1 && v.forced(q) && q.server.name != o.Endpoint {
			v.differ(o.ID+": endpoint", q.server.name, o.Endpoint)
		}
	}
	for _, q := range v.p.order {
		if !seen[q.id] {
			v.differ(q.id, q.outcome(), "not in the recording")
		}
	}
}

// forced reports whether a request could go to one endpoint only; else the real
// router drew one.
func (v *comparison) forced(q *run) bool {
	r, ok := q.reply.(*request)
	return ok && r.forced
}

// answer compares what the client got.
func (v *comparison) answer(q *run, o observation) {
	if o.Outcome != "rejected" && o.Outcome != "evicted" || o.HTTPStatus == 0 {
		return
	}
	end := *q.end
	if end.Cut != o.AfterFirstChunk {
		v.differ(o.ID+": after the first chunk", end.Cut, o.AfterFirstChunk)
	}
	if end.Cut {
		// Between recorder and router stood no proxy that would have cut the stream.
		end = evictedEnd()
	}
	if end.Status != o.HTTPStatus {
		v.differ(o.ID+": status", end.Status, o.HTTPStatus)
	}
	if o.DroppedReason != nil && end.DroppedReason != *o.DroppedReason {
		v.differ(o.ID+": dropped reason", fmt.Sprintf("%q", end.DroppedReason), fmt.Sprintf("%q", *o.DroppedReason))
	}
	if o.BodyPrefix != nil && !strings.HasPrefix(string(end.Body), *o.BodyPrefix) {
		v.differ(o.ID+": body", fmt.Sprintf("%q", end.Body), fmt.Sprintf("%q", *o.BodyPrefix))
	}
}

func (v *comparison) times(q *run, o observation) {
	tolerance := v.c.ToleranceMS
	if tolerance == 0 {
		tolerance = 20
	}
	check := func(what string, got, want float64) {
		if math.Abs(got-want) > tolerance {
			v.differ(o.ID+": "+what, fmt.Sprintf("%.1f ms", got), fmt.Sprintf("%.1f ms give or take %v", want, tolerance))
		}
	}
	switch o.Outcome {
	case "dispatched":
		check("dispatched", v.p.ms(q.sentAt), o.MS)
	case "rejected":
		check("rejected", v.p.ms(q.endAt), o.MS)
	case "evicted":
		check("evicted", v.p.ms(q.endAt), o.MS)
		if o.DispatchedMS != nil {
			check("dispatched", v.p.ms(q.sentAt), *o.DispatchedMS)
		}
	case "aborted":
		check("aborted", v.p.ms(q.abortedAt), o.MS)
	}
}

// order compares a sequence with groups whose members may come in any order.
func (v *comparison) order(what string, groups [][]string, got []*run) {
	rank := map[string]int{}
	for i, group := range groups {
		for _, id := range group {
			rank[id] = i
		}
	}
	var ids []string
	last, sorted := 0, true
	for _, q := range got {
		ids = append(ids, q.id)
		at, ok := rank[q.id]
		sorted = sorted && ok && at >= last
		last = at
	}
	if len(ids) != len(rank) || !sorted {
		v.differ(what, ids, groups)
	}
}

func (v *comparison) metrics() {
	for i, s := range v.c.Samples {
		if i < len(v.p.samples) {
			v.page(fmt.Sprintf("sample at %v ms", s.MS), v.p.samples[i], s.Metrics)
		}
	}
	v.page("metrics at the end", v.p.gather(), v.c.Metrics)
}

func (v *comparison) page(where string, got map[string]map[string]float64, want recordedMetrics) {
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		values, err := metricRanges(want[name])
		if err != nil {
			v.differ(where+": "+name, "unreadable", err)
			continue
		}
		if strings.HasPrefix(name, "inflight_") && !v.allForced() {
			// Endpoints were drawn: only the sum over them is the same.
			values = summed(values)
			got[name] = map[string]float64{"": total(got[name])}
		}
		keys := make([]string, 0, len(values))
		for key := range values {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			r, n := values[key], got[name][key]
			const rounding = 1e-6 // recordings hold six decimals
			if n < r[0]-rounding || n > r[1]+rounding {
				v.differ(fmt.Sprintf("%s: %s{%s}", where, name, key), n, describe(r))
			}
		}
	}
}

func (v *comparison) allForced() bool {
	for _, q := range v.p.order {
		if q.place > 0 && !v.forced(q) {
			return false
		}
	}
	return true
}

func summed(values map[string][2]float64) map[string][2]float64 {
	var sum [2]float64
	for _, r := range values {
		sum[0] += r[0]
		sum[1] += r[1]
	}
	return map[string][2]float64{"": sum}
}

func total(values map[string]float64) (sum float64) {
	for _, n := range values {
		sum += n
	}
	return sum
}

func describe(r [2]float64) string {
	if r[0] == r[1] {
		return fmt.Sprint(r[0])
	}
	return fmt.Sprintf("%v to %v", r[0], r[1])
}

// metricRanges reads a number or a range, alone or by key.
func metricRanges(raw json.RawMessage) (map[string][2]float64, error) {
	if r, err := metricRange(raw); err == nil {
		return map[string][2]float64{"": r}, nil
	}
	var keyed map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keyed); err != nil {
		return nil, fmt.Errorf("found %s, expected a number, a range or either by key", raw)
	}
	values := map[string][2]float64{}
	for key, raw := range keyed {
		r, err := metricRange(raw)
		if err != nil {
			return nil, err
		}
		values[key] = r
	}
	return values, nil
}

func metricRange(raw json.RawMessage) (r [2]float64, err error) {
	var n float64
	if json.Unmarshal(raw, &n) == nil {
		return [2]float64{n, n}, nil
	}
	var pair []float64
	if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 {
		return r, fmt.Errorf("found %s, expected a number or a range of two", raw)
	}
	return [2]float64(pair), nil
}

func conformBurst(c *recording) ([]Difference, error) {
	var diffs []Difference
	for seed := range int64(Seeds) {
		p, err := play(c, DefaultDispatchLag, seed+1)
		if err != nil {
			return startDifference(err, "it serves"), nil
		}
		v := comparison{c: c, p: p}
		v.burst()
		for _, d := range v.diffs {
			d.What = fmt.Sprintf("seed %d: %s", seed+1, d.What)
			diffs = append(diffs, d)
		}
	}
	return diffs, nil
}

func (v *comparison) burst() {
	counts := map[string]float64{}
	for _, q := range v.p.order {
		counts[q.outcome()]++
		if o := q.outcome(); o == "rejected" || o == "evicted" {
			v.known(q)
		}
	}
	names := make([]string, 0, len(v.c.Ranges))
	for name := range v.c.Ranges {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		r := [2]float64(v.c.Ranges[name])
		if name == "evict_gap_ms" {
			v.gaps(r)
			continue
		}
		if n := counts[name]; n < r[0] || n > r[1] {
			v.differ(name, n, describe(r))
		}
	}
	v.page("metrics at the end", v.p.gather(), v.c.Metrics)
}

// known compares an answer with those that were seen.
func (v *comparison) known(q *run) {
	for _, a := range v.c.Answers {
		w := comparison{c: v.c, p: v.p}
		w.answer(q, a)
		if a.Outcome == q.outcome() && len(w.diffs) == 0 {
			return
		}
	}
	v.differ(q.id+": answer", fmt.Sprintf("%d %q %q", q.end.Status, q.end.DroppedReason, q.end.Body), "one of those seen")
}

// resolution is that of the recorded times between two answers, in ms.
const resolution = 1

// gaps compares the time between evictions.
func (v *comparison) gaps(r [2]float64) {
	evictions := v.p.evictions()
	for i := 1; i < len(evictions); i++ {
		gap := v.p.ms(evictions[i].endAt) - v.p.ms(evictions[i-1].endAt)
		if gap < r[0]-resolution || gap > r[1]+resolution {
			v.differ(evictions[i].id+": gap to the eviction before", fmt.Sprintf("%.1f ms", gap), describe(r))
		}
	}
}
