package spec

import (
	"slices"
	"testing"
)

func TestPromisesThatAnArmCannotKeepAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		arm  string
		set  []string
		want string // empty where it is a promise that can be kept
	}{
		"a mechanism that nobody knows":      {"s4-flow-control-aimd", []string{"promises=[amid]"}, `found "amid", expected one of aimd, saturation, queue, ceiling, eviction, gate`},
		"a promise made twice":               {"s4-flow-control-aimd", []string{"promises=[queue, queue]"}, `"queue" stands there twice`},
		"AIMD where it is off":               {"s2-ungated", []string{"promises=[aimd]"}, "found aimd, which needs gateway.concurrency.aimd.enabled: true"},
		"AIMD without a batch gateway":       {"e-evict", []string{"promises=[aimd]"}, "found aimd, which needs dispatch: sync and gateway.concurrency.aimd.enabled: true"},
		"saturation that no router knows":    {"s2-ungated", []string{"promises=[saturation]"}, "found saturation, which needs router.kind: epp"},
		"a queue without flow control":       {"s3-admission-aimd", []string{"promises=[queue]"}, "found queue, which needs router.flowControl: true"},
		"a ceiling without holdback":         {"h1-unprotected", []string{"promises=[ceiling]"}, "found ceiling, which needs router.holdback.minCeiling below 1"},
		"a ceiling over no batch work":       {"h0-realtime-only", []string{"promises=[ceiling]"}, "found ceiling, which needs batch work (dispatch) and router.holdback.minCeiling below 1"},
		"eviction that is off":               {"h2-holdback", []string{"promises=[eviction]"}, "found eviction, which needs router.eviction: true"},
		"a gate in front of a sync gateway":  {"s2-ungated", []string{"promises=[gate]"}, "found gate, which needs dispatch: async"},
		"a gate that is always open":         {"s5-async", []string{"async.gate.type=constant"}, "found gate, which needs async.gate.type other than constant"},
		"a gate on no router's metrics":      {"s5-async", []string{"router={kind: round-robin, flowControl: false, bands: []}", "async.gate.fallback=1"}, "found gate, which needs router.kind: epp"},
		"AIMD with nothing to cut":           {"s3-admission-aimd", []string{"promises=[aimd]", "gateway.concurrency={perEndpoint: 5}"}, "found aimd, which needs gateway.concurrency.aimd.min below perEndpoint"},
		"a ceiling over its equals":          {"h2-holdback", []string{"gateway.inferenceObjective=", "router.interactiveObjective=", "promises=[ceiling]"}, "found ceiling, which needs an objective of batch work whose priority is below that of interactive or standard requests"},
		"an eviction among equals":           {"h3-holdback-evict", []string{"gateway.inferenceObjective=", "router.interactiveObjective=", "promises=[eviction]"}, "found eviction, which needs an objective of batch work whose priority is below"},
		"admission with AIMD":                {"s3-admission-aimd", []string{"promises=[aimd, saturation]"}, ""},
		"flow control with AIMD":             {"s4-flow-control-aimd", []string{"promises=[aimd, queue, saturation]"}, ""},
		"holdback and eviction":              {"h3-holdback-evict", []string{"promises=[ceiling, eviction]"}, ""},
		"what a picker's own config decides": {"h1-unprotected", []string{"router.config=x", "promises=[queue, eviction]"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			arm, err := LoadArm(test.arm, test.set)
			if test.want != "" {
				wantError(t, err, "arm ", test.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, mechanism := range Promises() {
				if listed := slices.Contains(arm.Promises, mechanism); arm.Promised(mechanism) != listed {
					t.Errorf("promised(%s): found %t, expected %t", mechanism, !listed, listed)
				}
			}
		})
	}
}
