package router

import (
	"math"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/sim"
)

// Request headers under their names since llm-d 0.9, each followed by the one it
// replaces. Where both are sent the new one counts.
var (
	objectiveHeaders = []string{"x-llm-d-inference-objective", "x-gateway-inference-objective"}
	fairnessHeaders  = []string{"x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id"}
	sloHeaders       = []string{"x-llm-d-slo-ttft-ms", "x-slo-ttft-ms"}
)

// ReadHeaders fills what a call's headers say to the router. lookup tells the value
// of a header, whose name it gets in lower case, and whether it was sent.
func ReadHeaders(call *sim.Call, lookup func(name string) (string, bool)) {
	first := func(names []string) string {
		for _, name := range names {
			if value, ok := lookup(name); ok {
				return value
			}
		}
		return ""
	}
	call.Objective = first(objectiveHeaders)
	call.FairnessID = first(fairnessHeaders)
	call.TTFTBudget = ttftBudget(first(sloHeaders))
}

// ttftBudget reads milliseconds; what is no such number is no budget. A budget of 0
// becomes the smallest there is, because 0 stands for none in a Call.
func ttftBudget(text string) time.Duration {
	ms, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return max(time.Duration(ms)*time.Millisecond, 1)
}
