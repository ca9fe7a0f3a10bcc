package spec

import (
	"slices"
	"strconv"
	"strings"
)

// Mechanisms that an arm may promise. A cell in which a promised one did not engage
// is INVALID: its figures are those of an arm without it.
const (
	PromiseAIMD       = "aimd"       // the processor's limit was cut
	PromiseSaturation = "saturation" // the pool was full
	PromiseQueue      = "queue"      // requests waited in the router
	PromiseCeiling    = "ceiling"    // holdback kept the lowest band below the pool
	PromiseEviction   = "eviction"   // requests in flight were evicted
	PromiseGate       = "gate"       // the dispatch budget was both 0 and above 0
)

// Promises lists every mechanism, in the order in which reports show them.
func Promises() []string {
	return []string{PromiseAIMD, PromiseSaturation, PromiseQueue, PromiseCeiling, PromiseEviction, PromiseGate}
}

// Promised reports whether the arm promises a mechanism.
func (a Arm) Promised(mechanism string) bool { return slices.Contains(a.Promises, mechanism) }

// promiseProblems refuses a promise that the arm cannot keep, whatever its load.
func (a Arm) promiseProblems(is *problems) {
	seen := map[string]bool{}
	for i, name := range a.Promises {
		at := join("promises", strconv.Itoa(i))
		is.oneOf(at, name, Promises()...)
		is.check(!seen[name], at, "%q stands there twice", name)
		seen[name] = true
		if missing := a.lacks(name); missing != "" {
			is.addf(at, "found %s, which needs %s", name, missing)
			is.hintLast("set that, or promises without %s: a cell in which it does not engage is INVALID", name)
		}
	}
}

// lacks says what the arm needs for a mechanism and does not have, empty if nothing.
func (a Arm) lacks(mechanism string) string {
	r := a.Router
	var needs []string
	need := func(ok bool, what string) {
		if !ok {
			needs = append(needs, what)
		}
	}
	const below = "an objective of batch work whose priority is below that of interactive or standard requests"
	// What stands in Router.Config is the picker's to read.
	own := r.Kind == RouterEPP && r.Config == ""
	switch mechanism {
	case PromiseAIMD:
		need(a.Dispatch == DispatchSync, "dispatch: sync")
		c := a.Gateway.Concurrency
		need(c.AIMD.Enabled, "gateway.concurrency.aimd.enabled: true")
		need(!c.AIMD.Enabled || c.AIMD.Min < c.PerEndpoint, "gateway.concurrency.aimd.min below perEndpoint")
	case PromiseSaturation:
		need(r.Kind == RouterEPP, "router.kind: epp")
	case PromiseQueue:
		need(r.Kind == RouterEPP, "router.kind: epp")
		need(r.FlowControl || !own, "router.flowControl: true")
	case PromiseCeiling:
		need(a.Dispatch != DispatchNone, "batch work (dispatch)")
		need(r.Kind == RouterEPP, "router.kind: epp")
		need(r.Holdback.Active(), "router.holdback.minCeiling below 1")
		need(r.Kind != RouterEPP || a.batchPriority() < r.highestPriority(), below)
	case PromiseEviction:
		need(a.Dispatch != DispatchNone, "batch work (dispatch)")
		need(r.Kind == RouterEPP, "router.kind: epp")
		need(r.Eviction || !own, "router.eviction: true")
		need(r.Kind != RouterEPP || a.batchPriority() < r.highestPriority(), below)
	case PromiseGate:
		need(a.Dispatch == DispatchAsync, "dispatch: async")
		need(a.Async.Gate.Type != GateConstant, "async.gate.type other than constant")
		need(a.Async.Gate.Type != GatePrometheusBudget || r.Kind == RouterEPP, "router.kind: epp")
	}
	return strings.Join(needs, " and ")
}

// batchPriority is that of the batch requests in the router.
func (a Arm) batchPriority() int {
	if a.Dispatch == DispatchBacklog {
		return a.Router.Priority(a.Backlog.Objective)
	}
	return a.Router.Priority(a.Gateway.InferenceObjective)
}

// highestPriority is that of the requests which batch work makes way for.
func (r Router) highestPriority() int {
	return max(r.Priority(r.InteractiveObjective), r.Priority(r.StandardObjective))
}
