package spec

import (
	"slices"
	"strconv"
)

func (r Router) problems(is *problems, path string) {
	is.oneOf(join(path, "kind"), r.Kind, RouterRoundRobin, RouterEPP)
	if r.Kind != RouterEPP {
		return
	}
	r.objectiveProblems(is, path)
	is.oneOf(join(path, "detector"), r.Detector, DetectorRequests, DetectorTokens, DetectorHybrid, DetectorUtilization)
	is.check(r.MaxConcurrency >= 1, join(path, "maxConcurrency"), "found %d, expected 1 or more", r.MaxConcurrency)
	is.check(r.MaxTokenConcurrency >= 1, join(path, "maxTokenConcurrency"), "found %d, expected 1 or more", r.MaxTokenConcurrency)
	is.check(r.QueueDepthThreshold >= 1, join(path, "queueDepthThreshold"), "found %d, expected 1 or more", r.QueueDepthThreshold)
	is.check(r.KVCacheUtilThreshold > 0 && r.KVCacheUtilThreshold <= 1, join(path, "kvCacheUtilThreshold"),
		"found %s, expected a share above 0 and up to 1", decimal(r.KVCacheUtilThreshold))
	is.check(r.DispatchLag >= 0, join(path, "dispatchLag"), "found %s, expected 0 or more", r.DispatchLag)
	is.check(r.DefaultRequestTTL >= 0, join(path, "defaultRequestTTL"), "found %s, expected 0 (none) or more", r.DefaultRequestTTL)
	r.Holdback.problems(is, join(path, "holdback"))
	if !r.FlowControl {
		is.check(len(r.Bands) == 0, join(path, "bands"), "found %d, expected none without flowControl", len(r.Bands))
		is.check(!r.Holdback.Active(), join(path, "holdback.minCeiling"), "found %s, expected 1 without flowControl", decimal(r.Holdback.MinCeiling))
		is.check(!r.Eviction, join(path, "eviction"), "found true, expected false without flowControl")
	}
	r.bandProblems(is, path)
}

func (r Router) objectiveProblems(is *problems, path string) {
	seen := map[string]bool{}
	for i, o := range r.Objectives {
		at := join(path, "objectives."+strconv.Itoa(i)+".name")
		is.name(at, o.Name)
		is.check(!seen[o.Name], at, "%q stands there twice", o.Name)
		seen[o.Name] = true
	}
	const unknown = "found %q, which is none of the objectives"
	is.check(r.InteractiveObjective == "" || seen[r.InteractiveObjective], join(path, "interactiveObjective"), unknown, r.InteractiveObjective)
	is.check(r.StandardObjective == "" || seen[r.StandardObjective], join(path, "standardObjective"), unknown, r.StandardObjective)
}

// bandProblems refuses a band that no request can reach: the endpoint picker would
// keep it for ever and spread the ceilings over it.
func (r Router) bandProblems(is *problems, path string) {
	seen := map[int]bool{0: false} // band 0 is always there
	for i, b := range r.Bands {
		at := join(path, "bands."+strconv.Itoa(i))
		is.check(!seen[b.Priority], join(at, "priority"), "%d stands there twice", b.Priority)
		seen[b.Priority] = true
		reached := b.Priority == 0 || slices.ContainsFunc(r.Objectives, func(o Objective) bool { return o.Priority == b.Priority })
		is.check(reached, join(at, "priority"), "no objective has priority %d", b.Priority)
		is.check(b.MaxRequests >= 0, join(at, "maxRequests"), "found %d, expected 0 (the default) or more", b.MaxRequests)
		is.oneOf(join(at, "fairness"), b.Fairness, FairnessGlobalStrict, FairnessRoundRobin)
		is.oneOf(join(at, "ordering"), b.Ordering, OrderingFCFS, OrderingEDF, OrderingSLODeadline)
	}
}

func (h Holdback) problems(is *problems, path string) {
	is.oneOf(join(path, "domain"), h.Domain, DomainRank, DomainValue)
	is.check(h.MinCeiling >= 0 && h.MinCeiling <= 1, join(path, "minCeiling"), "found %s, expected a share from 0 to 1 (no holdback)", decimal(h.MinCeiling))
	is.check(h.MaxCeiling > 0 && h.MaxCeiling <= 1, join(path, "maxCeiling"), "found %s, expected a share above 0 and up to 1", decimal(h.MaxCeiling))
	if h.Active() {
		is.check(h.MinCeiling < h.MaxCeiling, join(path, "minCeiling"), "%s is not below maxCeiling %s", decimal(h.MinCeiling), decimal(h.MaxCeiling))
	}
}
