package gateway

import (
	"testing"

	"bgbench/pkg/sim"
)

func TestWhatIsRetried(t *testing.T) {
	cases := map[string]struct {
		end  sim.End
		want bool
	}{
		"an answer":                               {sim.End{Status: 200}, false},
		"a refusal":                               {sim.End{Status: 400}, false},
		"a request timeout said by the server":    {sim.End{Status: 408}, false},
		"too many requests":                       {sim.End{Status: 429}, true},
		"any server error":                        {sim.End{Status: 501}, true},
		"a broken connection":                     {sim.End{Status: sim.StatusNoAnswer}, true},
		"what waited too long at the router":      {sim.End{Status: 429, DroppedReason: droppedTTLExpired}, false},
		"the same with its newer status":          {sim.End{Status: 503, DroppedReason: droppedTTLExpired}, false},
		"the same reason on an unusual status":    {sim.End{Status: 500, DroppedReason: droppedTTLExpired}, true},
		"what the router evicted for its betters": {sim.End{Status: 429, DroppedReason: "evicted"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := retryable(c.end); got != c.want {
				t.Errorf("retried: %t, expected %t", got, c.want)
			}
		})
	}
}
