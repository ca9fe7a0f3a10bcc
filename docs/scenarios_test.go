package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bgbench/pkg/spec"
)

// TestScenariosAreThoseOfTheCatalogue makes the table of scenarios.md.
func TestScenariosAreThoseOfTheCatalogue(t *testing.T) {
	entries, err := spec.Arms()
	if err != nil {
		t.Fatal(err)
	}
	out := newTable("arm", "what it is", "dispatch", "batch in flight", "router", "must engage")
	for _, e := range entries {
		arm, err := spec.LoadArm(e.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		out.row(code(arm.Name), arm.Description, arm.Dispatch, batchInFlight(arm), routerOf(arm.Router), strings.Join(arm.Promises, ", "))
	}
	hasGenerated(t, "docs/scenarios.md", "arms", out.String())
}

// TestEveryScenarioIsDiscussed: a row of the table says what an arm is, not how to read it.
// Of the eviction suite the text speaks by factors.
func TestEveryScenarioIsDiscussed(t *testing.T) {
	data, err := os.ReadFile("scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := spec.Arms()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, "e-") && !strings.Contains(string(data), "**"+e.Name+"**") {
			t.Errorf("docs/scenarios.md: found nothing on %s", e.Name)
		}
	}
}

func batchInFlight(a spec.Arm) string {
	switch c := a.Gateway.Concurrency; a.Dispatch {
	case spec.DispatchBacklog:
		if a.Backlog.Rate > 0 {
			return fmt.Sprintf("%g requests/s", a.Backlog.Rate)
		}
		return fmt.Sprint(a.Backlog.Concurrency)
	case spec.DispatchSync:
		if c.AIMD.Enabled {
			return fmt.Sprintf("%d to %d by AIMD", c.AIMD.Min, c.PerEndpoint)
		}
		return fmt.Sprint(c.PerEndpoint)
	case spec.DispatchAsync:
		if g := a.Async.Gate; g.Type != spec.GateConstant {
			return fmt.Sprintf("%d, gate %s", a.Async.Concurrency, g.Type)
		}
		return fmt.Sprint(a.Async.Concurrency)
	}
	return ""
}

func routerOf(r spec.Router) string {
	if r.Kind != spec.RouterEPP {
		return r.Kind
	}
	limit := fmt.Sprintf("%s %d", r.Detector, r.MaxConcurrency)
	switch r.Detector {
	case spec.DetectorTokens:
		limit = fmt.Sprintf("%s %d", r.Detector, r.MaxTokenConcurrency)
	case spec.DetectorHybrid:
		limit = fmt.Sprintf("%s %d and %d", r.Detector, r.MaxConcurrency, r.MaxTokenConcurrency)
	case spec.DetectorUtilization:
		limit = fmt.Sprintf("%s %d waiting, %g of KV", r.Detector, r.QueueDepthThreshold, r.KVCacheUtilThreshold)
	}
	parts := []string{"admission control"}
	if r.FlowControl {
		parts[0] = "flow control"
	}
	parts = append(parts, limit)
	if r.Holdback.Active() {
		parts = append(parts, fmt.Sprintf("ceiling %g", r.Holdback.MinCeiling))
	}
	if r.Eviction {
		parts = append(parts, "eviction")
	}
	return strings.Join(parts, ", ")
}
