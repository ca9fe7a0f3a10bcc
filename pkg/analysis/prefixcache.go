package analysis

import (
	"fmt"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// cacheHits is how much of the prompts of the measured interactive requests a server found in
// its prefix cache, of those that say so.
type cacheHits struct{ cached, prompt int64 }

func (h cacheHits) ratio() float64 { return float64(h.cached) / float64(h.prompt) }

func (c *cell) cacheHits() (h cacheHits) {
	for key, p := range c.rows.phases {
		if key.class == record.ClassInteractive {
			h.cached += p.cachedTokens
			h.prompt += p.cacheable
		}
	}
	return h
}

// hitRateLimit is by how much the hit rate may be above that of the baseline. Arms of a trial
// are asked the same in the same order, and those of the model agree to 0.001; a cache that
// still holds the prompts of an earlier cell finds nearly all.
const hitRateLimit = 0.05

// comparePrefixCache holds the hit rate of each cell against that of the baseline of its trial,
// or where that has none of the first arm that has: what a server need not compute is fast,
// and no merit of the arm. A lower rate stands: batch work that takes the blocks of interactive
// requests is part of what is measured.
func comparePrefixCache(slots []*slot, experiment spec.Experiment) {
	reference := make(map[workload]*slot)
	for _, s := range slots {
		if s.result == nil || s.cache.prompt == 0 {
			continue
		}
		if reference[s.workload()] == nil || s.arm.Name == experiment.BaselineOf(s.arm.Name) {
			reference[s.workload()] = s
		}
	}
	for _, s := range slots {
		if with := reference[s.workload()]; s.result != nil && s.cache.prompt > 0 && with != s {
			s.result.addCheck(s.cacheCheck(with))
		}
	}
}

func (s *slot) cacheCheck(with *slot) Check {
	above := s.cache.ratio() - with.cache.ratio()
	evidence := fmt.Sprintf("%.1f %% of the prompt tokens of interactive requests were cached, %.1f %% in %s, limit %.0f more",
		100*s.cache.ratio(), 100*with.cache.ratio(), with.arm.Name, 100*hitRateLimit)
	same := sameServers(s.arm, with.arm)
	if !same {
		evidence += "; told, not demanded, of arms with other servers or another way to pick one"
	}
	return check("prefix cache comparable", !same || above <= hitRateLimit, "%s", evidence)
}

// sameServers reports whether two arms would find as much in their caches without batch work.
// Of several servers, which one a request goes to decides what it finds.
func sameServers(a, b spec.Arm) bool {
	picks := a.Engine.Replicas == 1 || a.Router.Kind == b.Router.Kind && a.Router.Config == b.Router.Config
	return a.Engine == b.Engine && picks
}
