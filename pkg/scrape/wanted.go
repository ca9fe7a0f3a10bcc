package scrape

import (
	_ "embed"
	"fmt"
	"strings"

	"bgbench/pkg/spec"
)

//go:embed wanted.tsv
var wantedTSV string

// Quantity is something that the report needs, by its canonical name. One that is not
// certain is exposed only once there was something to count.
type Quantity struct {
	Name    string
	Certain bool
}

// Wanted returns what the report needs of an arm.
func Wanted(arm spec.Arm) []Quantity {
	epp := arm.Router.Kind == spec.RouterEPP
	gateway := arm.Dispatch == spec.DispatchSync || arm.Dispatch == spec.DispatchAsync
	there := map[string]bool{
		"always": true, "router": epp, "flow-control": epp && arm.Router.FlowControl,
		"eviction": epp && arm.Router.FlowControl && arm.Router.Eviction,
		"gateway":  gateway, "aimd": arm.Dispatch == spec.DispatchSync && arm.Gateway.Concurrency.AIMD.Enabled,
		"async": arm.Dispatch == spec.DispatchAsync,
	}
	var out []Quantity
	for i, line := range strings.Split(wantedTSV, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		name, when, _ := strings.Cut(line, "\t")
		when, maybe := strings.CutSuffix(when, "?")
		in, ok := there[when]
		if !ok {
			panic(fmt.Sprintf("scrape: wanted.tsv:%d: found %q, expected a name, a tab and in which arms", i+1, line))
		}
		if in {
			out = append(out, Quantity{name, !maybe})
		}
	}
	return out
}
