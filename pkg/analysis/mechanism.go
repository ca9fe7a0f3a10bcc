package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// Limits of the checks of mechanisms.
const (
	// waitedS is a bound of the router's histogram of queue times. A request that passes
	// straight through is in the queue for some milliseconds.
	waitedS = 0.1
	// ceilingSlack: how much of its ceiling a band may be above it, and the pool below
	// it, and still count as held there. In-flight requests are counted after they were
	// scheduled, so that one freed slot lets two waiting ones through now and then
	// (llm-d router v0.10).
	ceilingSlack = 0.25
	// ceilingSlackRequests is the least that a small ceiling may be exceeded by.
	ceilingSlackRequests = 4
	// aboveLimit is the share of the time for which a band may be above that too: many
	// requests dispatched at once overshoot without a bound. 40 in flight were recorded
	// under a ceiling of 16 (llm-d router v0.10).
	aboveLimit = 0.05
	// full allows for the rounding of sums of shares.
	full = 1 - 1e-9
)

// mechanisms says what engaged in the measured time.
func (c *cell) mechanisms() Mechanisms {
	m := Mechanisms{Promised: append([]string{}, c.arm.Promises...)}
	aimd := c.arm.Dispatch == spec.DispatchSync && c.arm.Gateway.Concurrency.AIMD.Enabled
	epp := c.arm.Router.Kind == spec.RouterEPP
	if aimd {
		m.AIMD = c.aimd()
	}
	if epp {
		m.Saturation = c.saturation()
	}
	if epp && c.flowControl() {
		m.Queue = c.queue()
	}
	if epp && c.arm.Router.Holdback.Active() {
		m.Ceiling = c.ceiling()
	}
	if c.evicts() {
		m.Eviction = c.eviction()
	}
	if c.arm.Dispatch == spec.DispatchAsync {
		m.Gate = c.gate()
	}
	return m
}

// flowControl and evicts read the arm; what stands in a picker's own configuration is
// known by the metrics that it gives rise to.
func (c *cell) flowControl() bool {
	return c.arm.Router.FlowControl || c.arm.Router.Config != "" && len(c.tracks(metricQueueCount)) > 0
}

func (c *cell) evicts() bool {
	r := c.arm.Router
	return r.Kind == spec.RouterEPP && (r.Eviction || r.Config != "" && len(c.tracks(metricEvictions)) > 0)
}

// tracks are the series of a metric, which many ask for and nobody changes.
func (c *cell) tracks(metric string) []track {
	found, ok := c.rows.tracks[metric]
	if !ok {
		found = c.rows.find(metric, c.start)
		c.rows.tracks[metric] = found
	}
	return found
}

// measuredTime reaches from the first measured band to the last.
func (c *cell) measuredTime() span {
	bands := c.measuredBands("")
	return span{bands[0].StartS, bands[len(bands)-1].EndS}
}

// absent says why a metric has no value.
func (c *cell) absent(metric string) Value {
	switch {
	case c.start.IsZero():
		return missing(0, "the schedule never started")
	case len(c.rows.scraped) == 0:
		return missing(0, "the cell has no metrics")
	}
	return missing(0, "metrics.parquet has no %s", metric)
}

// unseen is absent for a metric of which no sample lies in the measured time.
func (c *cell) unseen(metric string) Value {
	if len(c.tracks(metric)) == 0 || c.start.IsZero() {
		return c.absent(metric)
	}
	return missing(0, "%s was not sampled in the measured time", metric)
}

// counted is the rise of a counter that appears with its first use. It is 0 where
// another metric of the same component shows that the component was asked.
func (c *cell) counted(metric, witness string) Value {
	tracks := c.tracks(metric)
	if len(tracks) == 0 && (c.start.IsZero() || len(c.tracks(witness)) == 0) {
		return c.absent(metric)
	}
	return measured(rises(tracks, c.measuredTime()), len(tracks))
}

func (c *cell) aimd() *AIMDState {
	a := &AIMDState{
		Decreases: c.counted(metricAIMDDecreases, metricAIMDLimit),
		Increases: c.counted(metricAIMDIncreases, metricAIMDLimit),
		Limits:    [][2]float64{},
	}
	in := c.measuredTime()
	// One processor has one limit an endpoint; of several the one that was cut most tells.
	var lowest []step
	for _, t := range c.tracks(metricAIMDLimit) {
		steps := t.steps(in)
		if len(steps) == 0 {
			continue
		}
		if low, _ := extremes(steps); lowest == nil || low < lowestOf(lowest) {
			lowest = steps
		}
	}
	if lowest == nil || c.start.IsZero() {
		a.LowestLimit, a.MeanLimit = c.unseen(metricAIMDLimit), c.unseen(metricAIMDLimit)
		return a
	}
	a.LowestLimit = measured(lowestOf(lowest), len(lowest))
	if m, ok := mean(lowest, in.to); ok {
		a.MeanLimit = measured(m, len(lowest))
	} else {
		a.MeanLimit = c.unseen(metricAIMDLimit)
	}
	for _, s := range changes(lowest) {
		a.Limits = append(a.Limits, point(seconds(s.at), s.value))
	}
	a.Limits = Decimate(a.Limits, maxPoints)
	return a
}

func lowestOf(steps []step) float64 {
	low, _ := extremes(steps)
	return low
}

// pool is the number of requests that fit in before the requests detector calls the
// pool full.
func (c *cell) pool() float64 {
	return float64(c.arm.Router.MaxConcurrency * c.arm.Engine.Replicas)
}

// saturationTrack is the gauge of flow control, or what a router without flow control
// says about its requests in flight.
func (c *cell) saturationTrack() (track, string) {
	if gauges := c.tracks(metricSaturation); len(gauges) > 0 {
		return total(gauges), metricSaturation
	}
	metric, capacity := metricRouterRequests, c.pool()
	switch c.arm.Router.Detector {
	case spec.DetectorTokens:
		metric, capacity = metricRouterTokens, float64(c.arm.Router.MaxTokenConcurrency*c.arm.Engine.Replicas)
	case spec.DetectorRequests:
	default: // hybrid and utilization have no sum to derive them from
		return track{}, metricSaturation
	}
	inFlight := total(c.tracks(metric))
	for i := range inFlight.values {
		inFlight.values[i] /= capacity
	}
	return inFlight, metric
}

func (c *cell) saturation() *SaturationState {
	t, source := c.saturationTrack()
	s := &SaturationState{Source: source, Refused: c.refused()}
	in := c.measuredTime()
	steps := t.steps(in)
	if len(steps) == 0 || c.start.IsZero() {
		s.Max, s.Full = c.unseen(source), c.unseen(source)
		return s
	}
	_, high := extremes(steps)
	s.Max = measured(high, len(steps))
	s.Full = share01(steps, in.to, func(v float64) bool { return v >= full })
	return s
}

// refused counts the answers of admission control alone: a router with it and without
// flow control says ResourceExhausted for nothing else.
func (c *cell) refused() Value {
	if c.flowControl() {
		return missing(0, "the router has flow control, which refuses for other causes too")
	}
	errors := c.tracks(metricRouterErrors)
	if len(errors) == 0 || c.start.IsZero() {
		return c.absent(metricRouterErrors)
	}
	return measured(rises(with(errors, "error_code", "ResourceExhausted"), c.measuredTime()), len(errors))
}

// share01 is the share of the time for which a gauge was such.
func share01(steps []step, until float64, such func(float64) bool) Value {
	marked := slices.Clone(steps)
	for i := range marked {
		marked[i].value = 0
		if such(steps[i].value) {
			marked[i].value = 1
		}
	}
	m, ok := mean(marked, until)
	if !ok {
		return missing(len(steps), "the samples span no time")
	}
	return measured(m, len(steps))
}

func (c *cell) queue() *QueueState {
	q := &QueueState{Waited: c.absent(metricQueueCount), Longest: c.unseen(metricQueueSize), ByPriority: map[string]float64{}}
	in := c.measuredTime()
	if counts := c.tracks(metricQueueCount); len(counts) > 0 && !c.start.IsZero() {
		within := ofBound(c.tracks(metricQueueBucket), waitedS)
		sum := 0.0
		for _, priority := range valuesOf(counts, "priority") {
			waited := rises(with(counts, "priority", priority), in) - rises(with(within, "priority", priority), in)
			q.ByPriority[priority] = waited
			sum += waited
		}
		q.Waited = measured(sum, len(counts))
	}
	if steps := total(c.tracks(metricQueueSize)).steps(in); len(steps) > 0 && !c.start.IsZero() {
		_, high := extremes(steps)
		q.Longest = measured(high, len(steps))
	}
	return q
}

// lowestBand is the band that holdback gives its lowest ceiling.
func (c *cell) lowestBand() int {
	lowest := 0 // band 0 is always there
	for _, o := range c.arm.Router.Objectives {
		lowest = min(lowest, o.Priority)
	}
	return lowest
}

// ceiling looks at the lowest band: how many of its requests were in flight, and
// whether it waited while the pool stood between the band's ceiling and full, which is
// what only holdback makes it do.
func (c *cell) ceiling() *CeilingState {
	r := c.arm.Router
	priority := strconv.Itoa(c.lowestBand())
	s := &CeilingState{Priority: c.lowestBand(), Ceiling: r.Holdback.MinCeiling}
	in := c.measuredTime()
	s.MaxInFlight, s.Above = c.unseen(metricRouterRequests), c.unseen(metricRouterRequests)
	if r.Detector == spec.DetectorRequests {
		s.Limit = math.Ceil(s.Ceiling*c.pool() - 1e-9)
	}
	if steps := total(with(c.tracks(metricRouterRequests), "priority", priority)).steps(in); len(steps) > 0 && !c.start.IsZero() {
		_, high := extremes(steps)
		s.MaxInFlight = measured(high, len(steps))
		s.Above = share01(steps, in.to, func(v float64) bool { return v > s.allowed() })
	}
	pool, source := c.saturationTrack()
	waiting := total(with(c.tracks(metricQueueSize), "priority", priority))
	switch {
	case len(pool.steps(in)) == 0 || c.start.IsZero():
		s.Held = c.unseen(source)
		return s
	case len(waiting.steps(in)) == 0:
		s.Held = missing(0, "%s was not sampled for priority %s in the measured time", metricQueueSize, priority)
		return s
	}
	floor := s.Ceiling * (1 - ceilingSlack)
	steps := waiting.steps(in)
	held := slices.Clone(steps)
	for i, w := range steps {
		held[i].value = 0
		if at := pool.before(w.at); at >= 0 && w.value > 0 && pool.values[at] >= floor && pool.values[at] < full {
			held[i].value = 1
		}
	}
	s.Held = share01(held, in.to, func(v float64) bool { return v > 0 })
	return s
}

// allowed is how many requests of a band may be in flight under a ceiling for any time.
func (s CeilingState) allowed() float64 {
	return s.Limit + max(ceilingSlackRequests, math.Ceil(ceilingSlack*s.Limit))
}

func (c *cell) eviction() *EvictionState {
	tracks := c.tracks(metricEvictions)
	e := &EvictionState{
		Issued:     c.counted(metricEvictions, metricRouterRequests),
		ByPriority: map[string]float64{},
		ByPhase:    map[string]Value{},
	}
	in := c.measuredTime()
	for _, phase := range phaseNames(c.meta.Profile.Interactive) {
		if e.ByPhase[phase] = e.Issued; e.Issued.Value != nil {
			e.ByPhase[phase] = c.evictionsIn(phase, tracks)
		}
	}
	for _, priority := range valuesOf(tracks, "priority") {
		e.ByPriority[priority] = rises(with(tracks, "priority", priority), in)
	}
	interactive := 0
	for key, p := range c.rows.phases {
		if key.class == record.ClassInteractive {
			interactive += p.requests
		}
	}
	switch {
	case e.Issued.Value == nil:
		e.PerInteractive = e.Issued
	case interactive == 0:
		e.PerInteractive = missing(0, "no interactive request was due in the measured time")
	default:
		of := strconv.Itoa(c.arm.Router.Priority(c.arm.Router.InteractiveObjective))
		e.PerInteractive = measured(e.ByPriority[of]/float64(interactive), interactive)
	}
	return e
}

// evictionsIn counts those of the measured bands of a phase.
func (c *cell) evictionsIn(phase string, tracks []track) Value {
	bands := c.measuredBands(phase)
	if len(bands) == 0 {
		return missing(0, "the phase is not measured")
	}
	sum := 0.0
	for _, b := range bands {
		sum += rises(tracks, span{b.StartS, b.EndS})
	}
	return measured(sum, len(tracks))
}

func (c *cell) gate() *GateState {
	g := &GateState{Min: c.unseen(metricBudget), Max: c.unseen(metricBudget), Closed: c.unseen(metricBudget)}
	in := c.measuredTime()
	if c.start.IsZero() {
		return g
	}
	// Each queue has its gate. The one that was closed for longest tells.
	for _, t := range c.tracks(metricBudget) {
		steps := t.steps(in)
		if len(steps) == 0 {
			continue
		}
		low, high := extremes(steps)
		closed := share01(steps, in.to, func(v float64) bool { return v <= 0 })
		if g.Min.Value != nil && g.Closed.Value != nil && (closed.Value == nil || *closed.Value <= *g.Closed.Value) {
			continue
		}
		g.Min, g.Max, g.Closed = measured(low, len(steps)), measured(high, len(steps)), closed
	}
	return g
}

// checkPromises turns each promise of the arm into a check.
func (m Mechanisms) checkPromises() []Check {
	var out []Check
	for _, name := range spec.Promises() {
		if slices.Contains(m.Promised, name) {
			out = append(out, m.checkPromise(name))
		}
	}
	return out
}

// checkPromise: what was not measured did not hold.
func (m Mechanisms) checkPromise(promise string) Check {
	name := promised(promise)
	switch {
	case promise == spec.PromiseAIMD && m.AIMD != nil:
		return m.AIMD.check(name)
	case promise == spec.PromiseSaturation && m.Saturation != nil:
		return m.Saturation.check(name)
	case promise == spec.PromiseQueue && m.Queue != nil:
		return m.Queue.check(name)
	case promise == spec.PromiseCeiling && m.Ceiling != nil:
		return m.Ceiling.check(name)
	case promise == spec.PromiseEviction && m.Eviction != nil:
		return m.Eviction.check(name)
	case promise == spec.PromiseGate && m.Gate != nil:
		return m.Gate.check(name)
	}
	return check(name, false, "the arm cannot have it")
}

// Holds reports whether the check of a promise did.
func (r CellResult) Holds(promise string) bool {
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == promised(promise) })
	return i >= 0 && r.Checks[i].OK
}

// promised is the name of the check of a promise.
func promised(promise string) string {
	switch promise {
	case spec.PromiseAIMD:
		return "AIMD cut its limit"
	case spec.PromiseSaturation:
		return "pool saturated"
	case spec.PromiseQueue:
		return "router queued requests"
	case spec.PromiseCeiling:
		return "band held at its ceiling"
	case spec.PromiseEviction:
		return "router evicted requests"
	case spec.PromiseGate:
		return "gate closed and opened"
	}
	return "promise " + promise
}

func (a AIMDState) check(name string) Check {
	if a.Decreases.Value == nil {
		return check(name, false, "%s", a.Decreases.Reason)
	}
	limit := a.LowestLimit.Reason
	if a.LowestLimit.Value != nil {
		limit = fmt.Sprintf("lowest limit seen %g", *a.LowestLimit.Value)
	}
	return check(name, *a.Decreases.Value > 0, "%g decreases in the measured time; %s", *a.Decreases.Value, limit)
}

func (s SaturationState) check(name string) Check {
	refused := s.Refused.Value != nil && *s.Refused.Value > 0
	if s.Max.Value == nil {
		return check(name, false, "%s", s.Max.Reason)
	}
	evidence := fmt.Sprintf("saturation at most %.3g in %d samples of the measured time, from %s", *s.Max.Value, s.Max.N, s.Source)
	if refused {
		evidence += fmt.Sprintf("; admission control refused %g requests, which it does only while the pool is full", *s.Refused.Value)
	}
	return check(name, refused || *s.Max.Value >= full, "%s", evidence)
}

func (q QueueState) check(name string) Check {
	if q.Waited.Value == nil {
		return check(name, false, "%s", q.Waited.Reason)
	}
	evidence := fmt.Sprintf("%g requests left the router's queue after more than %g s in the measured time", *q.Waited.Value, waitedS)
	if q.Longest.Value != nil {
		evidence += fmt.Sprintf("; longest queue seen %g", *q.Longest.Value)
	}
	return check(name, *q.Waited.Value > 0, "%s", evidence)
}

func (s CeilingState) check(name string) Check {
	switch {
	case s.Held.Value == nil:
		return check(name, false, "%s", s.Held.Reason)
	case s.Limit > 0 && s.MaxInFlight.Value == nil:
		return check(name, false, "%s", s.MaxInFlight.Reason)
	case s.Limit > 0 && s.Above.Value == nil:
		return check(name, false, "%s", s.Above.Reason)
	}
	evidence := fmt.Sprintf("priority %d waited between its ceiling of %g and a full pool for %s of the measured time",
		s.Priority, s.Ceiling, percent(*s.Held.Value))
	ok := *s.Held.Value > 0
	if s.Limit > 0 {
		evidence += fmt.Sprintf("; ceiling %g, above %g of it in flight (overshoot allowed for) for %s of the time, limit %.0f %%, at most %g",
			s.Limit, s.allowed(), percent(*s.Above.Value), 100*aboveLimit, *s.MaxInFlight.Value)
		ok = ok && *s.Above.Value <= aboveLimit
	}
	return check(name, ok, "%s", evidence)
}

func (e EvictionState) check(name string) Check {
	if e.Issued.Value == nil {
		return check(name, false, "%s", e.Issued.Reason)
	}
	return check(name, *e.Issued.Value > 0, "%g evictions issued in the measured time", *e.Issued.Value)
}

func (g GateState) check(name string) Check {
	if g.Min.Value == nil || g.Max.Value == nil {
		return check(name, false, "%s", g.Min.Reason)
	}
	evidence := fmt.Sprintf("dispatch budget from %.3g to %.3g in %d samples of the measured time", *g.Min.Value, *g.Max.Value, g.Min.N)
	if g.Closed.Value != nil {
		evidence += ", 0 for " + percent(*g.Closed.Value) + " of it"
	}
	return check(name, *g.Min.Value <= 0 && *g.Max.Value > 0, "%s", evidence)
}
