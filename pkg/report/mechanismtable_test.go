package report

import (
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/analysis"
	"bgbench/pkg/spec"
)

// engaged is the fixture with mechanisms in two cells.
func engaged() analysis.Results {
	results := fixture()
	for i := range results.Cells {
		c := &results.Cells[i]
		if c.Arm != "s2-ungated" || c.Trial > 2 {
			continue
		}
		c.Mechanisms = analysis.Mechanisms{
			Promised: []string{spec.PromiseAIMD},
			AIMD: &analysis.AIMDState{Decreases: measured(8, 1), Increases: measured(28, 1),
				LowestLimit: measured(5, 21), MeanLimit: measured(14.15, 21), Limits: [][2]float64{{10, 5}}},
			Saturation: &analysis.SaturationState{Max: measured(1.04, 21), Full: measured(0.6, 21), Source: "x"},
			Eviction:   &analysis.EvictionState{Issued: missing("metrics.parquet has no evictions"), PerInteractive: measured(0.01, 9)},
		}
		held := c.Trial == 1
		c.Checks = append(c.Checks, analysis.Check{Name: "AIMD cut its limit", OK: held, Evidence: "8 decreases"})
		c.Batch.Evicted = &analysis.EvictedWork{Issued: measured(7, 1), Lines: missing("hidden"), OneResult: missing("hidden"), Retries: measured(7, 1)}
		c.Tokens = analysis.TokenSummary{NeededOutput: measured(1000, 3), NeededPrompt: measured(50_000, 3),
			Generated: measured(1200, 1), ComputedPrompt: measured(50_050, 1), Redone: measured(250, 3), RedoneRatio: measured(0.0049, 3)}
		c.Outputs = &analysis.OutputComparison{Reference: "s1-no-gateway", Compared: 3000, Different: 1}
	}
	return results
}

func TestMechanismsShowWhatWasPromised(t *testing.T) {
	table := newStudy(engaged()).mechanisms()
	if want := []string{"AIMD decreases", "Lowest / mean limit", "Highest saturation", "Time saturated", "Evictions", "Per interactive request"}; !slices.Equal(table.Heads, want) {
		t.Errorf("heads %q, expected %q: no column that all cells leave empty", table.Heads, want)
	}
	if len(table.Rows) != 2 {
		t.Fatalf("%d rows, expected the two cells that have something", len(table.Rows))
	}
	for i, want := range []string{"✓ 8|5 / 14.2|104\u00a0%|60.0\u00a0%|—|0.010", "✗ 8|5 / 14.2|104\u00a0%|60.0\u00a0%|—|0.010"} {
		var texts []string
		for _, c := range table.Rows[i].Cols {
			texts = append(texts, c.Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("row %d: %s, expected %s", i, got, want)
		}
		if table.Rows[i].Cols[0].Alarm != (i == 1) {
			t.Errorf("row %d: alarm %v", i, table.Rows[i].Cols[0].Alarm)
		}
	}
	page := html(t, engaged())
	for _, want := range []string{`<section id="mechanisms">`, `title="metrics.parquet has no evictions"`, "Evictions and work done again",
		"title=\"output 1000, prompt 50\u202f000\"", `title="compared with s1-no-gateway" class="bad">2999 of 3000`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(html(t, fixture()), `id="mechanisms"`) {
		t.Error("a page without mechanisms has a section for them")
	}
}

// sweep is the fixture with more arms than are shown at once.
func sweep() analysis.Results {
	results := fixture()
	for i := range manyArms {
		name := "s2-ungated-perEndpoint-" + string(rune('a'+i))
		for _, a := range results.Arms {
			if a.Name == "s2-ungated" {
				a.Name = name
				results.Arms = append(results.Arms, a)
				break
			}
		}
		for _, c := range slices.Clone(results.Cells) {
			if c.Arm == "s2-ungated" {
				c.Arm = name
				results.Cells = append(results.Cells, c)
			}
		}
	}
	return results
}

// A sweep has more arms than anyone wants to scroll through.
func TestManyArmsAreFoldedAway(t *testing.T) {
	few := html(t, fixture())
	many := html(t, sweep())
	if strings.Contains(few, `<details class="many">`) || !strings.Contains(few, `<div class="multiples">`) {
		t.Error("the charts of four arms are folded away")
	}
	if got := strings.Count(many, `<details class="many">`); got < manyArms {
		t.Errorf("%d charts are folded away, expected one of each arm at least", got)
	}
	if got := shortened("s4-flow-control-aimd-maxConcurrency-16", barsName); got != "s4-flow…Concurrency-16" {
		t.Errorf("the short name is %s", got)
	}
}
