package analysis

import (
	"strings"
	"testing"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

func TestACacheThatWasFullBeforehandIsNoMerit(t *testing.T) {
	for _, c := range []struct {
		name     string
		cached   int64 // of 100 prompt tokens; 64 in the baseline
		change   func(*spec.Arm)
		ok       bool
		evidence string
	}{
		{"the same rate", 64, nil, true, "64.0 % of the prompt tokens of interactive requests were cached, 64.0 % in s0-interactive-only, limit 5 more"},
		{"at the limit", 69, nil, true, "69.0 %"},
		{"prompts of an earlier cell", 96, nil, false, "96.0 % of the prompt tokens of interactive requests were cached, 64.0 % in s0-interactive-only"},
		{"batch work that takes the blocks is what is measured", 10, nil, true, "10.0 %"},
		{"another engine", 96, func(a *spec.Arm) { a.Engine.NumGPUBlocks = 9000 }, true, "told, not demanded"},
		{"another way to pick one of two servers", 96, func(a *spec.Arm) { a.Router.Kind, a.Engine.Replicas = spec.RouterEPP, 2 }, true, "told, not demanded"},
		{"another way to pick the only server", 96, func(a *spec.Arm) { a.Router.Kind = spec.RouterEPP }, false, "limit 5 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var slots []*slot
			for _, arm := range []string{analysistest.S2, analysistest.S0} { // the baseline need not be the first
				cell := analysistest.New(arm, 1)
				if arm == analysistest.S2 {
					for i := range cell.Requests {
						if q := &cell.Requests[i]; q.Class == record.ClassInteractive {
							*q.CachedTokens = c.cached
						}
					}
				}
				read, err := gather(cell)
				if err != nil {
					t.Fatal(err)
				}
				result, err := read.result(arm)
				if err != nil {
					t.Fatal(err)
				}
				slots = append(slots, &slot{arm: read.arm, trial: 1, result: &result, meta: read.meta, cache: read.cacheHits()})
			}
			if c.change != nil {
				c.change(&slots[0].arm)
				if slots[0].arm.Engine.Replicas == 2 {
					slots[1].arm.Engine.Replicas = 2
				}
			}
			comparePrefixCache(slots, analysistest.Experiment())
			got := slots[0].result.Checks[len(slots[0].result.Checks)-1]
			if got.Name != "prefix cache comparable" || got.OK != c.ok || !strings.Contains(got.Evidence, c.evidence) {
				t.Errorf("found %+v, expected ok %v, …%s…", got, c.ok, c.evidence)
			}
			if last := slots[1].result.Checks[len(slots[1].result.Checks)-1]; last.Name == got.Name {
				t.Errorf("the baseline was held against itself: %+v", last)
			}
		})
	}
}
