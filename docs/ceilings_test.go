package docs

import (
	"fmt"
	"strings"
	"testing"

	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/router"
	"bgbench/pkg/spec"
)

// TestCeilingsAreThoseOfTheRouter makes the table of flow-control.md with the router of
// the model, which is held to recordings of the real one.
func TestCeilingsAreThoseOfTheRouter(t *testing.T) {
	out := newTable("objectives", "domain", "`minCeiling`", "ceilings of the bands", "of 48 requests")
	for _, c := range []struct {
		priorities []int
		domain     string
		min        float64
	}{
		{[]int{100, -1}, spec.DomainRank, 0.5},
		{[]int{100, -1}, spec.DomainValue, 0.5},
		{[]int{100, -1, -2}, spec.DomainRank, 0.5},
		{[]int{100, -1, -2}, spec.DomainValue, 0.5},
		{[]int{10, -1, -2, -3}, spec.DomainRank, 0.5},
		{[]int{100, -10}, spec.DomainValue, 0.5},
		{[]int{10, -1}, spec.DomainRank, 0.8},
		{[]int{10, -1}, spec.DomainRank, 0.9},
	} {
		var names, shares, counts []string
		for _, p := range c.priorities {
			names = append(names, fmt.Sprint(p))
		}
		for _, b := range ceilingsOf(t, c.priorities, c.domain, c.min) {
			shares = append(shares, fmt.Sprintf("%d: %.3g", b.Priority, b.Ceiling))
			counts = append(counts, fmt.Sprint(b.Requests))
		}
		out.row(strings.Join(names, ", "), c.domain, fmt.Sprint(c.min), strings.Join(shares, " · "), strings.Join(counts, " · "))
	}
	hasGenerated(t, "docs/flow-control.md", "ceilings", out.String())
}

func ceilingsOf(t *testing.T, priorities []int, domain string, minCeiling float64) []router.Ceiling {
	t.Helper()
	arm, err := spec.LoadArm("h2-holdback", []string{
		"router.holdback.domain=" + domain, fmt.Sprintf("router.holdback.minCeiling=%g", minCeiling),
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := arm.Router.EndpointPickerConfig()
	if err != nil {
		t.Fatal(err)
	}
	objectives := make(map[string]int)
	for _, p := range priorities {
		objectives[fmt.Sprintf("p%d", p)] = p
	}
	r, err := router.New(kernel.NewVirtual(), router.Config{
		EndpointPicker: config, Objectives: objectives, Flags: router.Flags{AllowExperimentalPlugins: true},
	}, []router.Endpoint{{Name: spec.EngineName(0)}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Ceilings()
}
