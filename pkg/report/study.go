package report

import (
	"slices"
	"strings"

	"bgbench/pkg/analysis"
	"bgbench/pkg/spec"
)

// study is Results with what every section looks up again and again: the arms in
// order with their colours and cells, and the phases in order.
type study struct {
	analysis.Results
	Beside
	Arms     []arm
	Baseline *arm // in a sweep over the profile that of the first point
	Phases   []string
	Burst    string // the phase with the highest rate
	Idle     string // the phase with the lowest
}

// arm is one arm with its colour and its cells in the order of their trials.
type arm struct {
	analysis.ArmResult
	Tag   tag
	Cells []analysis.CellResult
	// Batch is false where the arm runs no batch work at all, so that what batch
	// work would show does not apply.
	Batch bool
}

// tag is how an arm is shown: its name and the colour that it keeps everywhere.
type tag struct {
	Name string // whole
	Slot int    // index in the palette of page.css
	Lap  int    // how often the palette was used up before this arm
}

// Label is the name as it stands in a line.
func (t tag) Label() string { return label(t.Name) }

// slots is the number of colours in page.css. Slot 0 is grey and belongs to the
// baseline, which the others are compared with.
const slots = 8

func newStudy(results analysis.Results) study {
	s := study{Results: results}
	dispatch := map[string]string{}
	for _, a := range results.Experiment.Arms {
		dispatch[a.Name] = a.Dispatch
	}
	colour := 0
	for _, result := range results.Arms {
		a := arm{ArmResult: result, Tag: tag{Name: result.Name}}
		if !result.Baseline {
			a.Tag.Slot, a.Tag.Lap = 1+colour%(slots-1), colour/(slots-1)
			colour++
		}
		for _, cell := range results.Cells {
			if cell.Arm == result.Name {
				a.Cells = append(a.Cells, cell)
			}
		}
		slices.SortFunc(a.Cells, func(x, y analysis.CellResult) int { return x.Trial - y.Trial })
		a.Batch = dispatch[result.Name] != spec.DispatchNone
		s.Arms = append(s.Arms, a)
	}
	for i := range s.Arms {
		if s.Baseline == nil && s.Arms[i].ArmResult.Baseline {
			s.Baseline = &s.Arms[i]
		}
	}
	s.Phases = phases(results)
	s.Burst = analysis.BurstPhase(results.Experiment.Profile.Interactive)
	s.Idle = analysis.IdlePhase(results.Experiment.Profile.Interactive)
	return s
}

// phases returns the phases of the profile in order, then what only cells know.
func phases(results analysis.Results) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, profile := range results.Experiment.Profiles() {
		for _, p := range profile.Interactive.Phases {
			add(p.Name)
		}
	}
	for _, cell := range results.Cells {
		for _, p := range cell.Phases {
			add(p.Phase)
		}
	}
	return names
}

// valid returns the cells that the summaries over trials are made of.
func (a arm) valid() []analysis.CellResult {
	var cells []analysis.CellResult
	for _, c := range a.Cells {
		if c.Valid {
			cells = append(cells, c)
		}
	}
	return cells
}

// withBatch returns the arms that run batch work.
func (s study) withBatch() []arm {
	var arms []arm
	for _, a := range s.Arms {
		if a.Batch {
			arms = append(arms, a)
		}
	}
	return arms
}

// manyArms is how many arms the page shows all of at once; a sweep has more.
const manyArms = 10

func (s study) many() bool { return len(s.Arms) > manyArms }

// trials returns the largest number of cells that an arm has.
func (s study) trials() int {
	n := 0
	for _, a := range s.Arms {
		n = max(n, len(a.Cells))
	}
	return n
}

// margin is the declared margin in percent.
func (s study) margin() string { return declared(rounded(100*s.Experiment.Margin)) + "\u00a0%" }

// marginSince says since when the margin is what it is.
func (s study) marginSince() string {
	for _, changed := range s.Results.Changed {
		if changed.Key == "margin" {
			return "changed after the first cell ran"
		}
	}
	return "declared before the run"
}

// metricName writes a key of ArmResult.Metrics for reading: "interactive TTFT p95
// in burst".
func metricName(key string) string {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return label(key)
	}
	phase, class, metric, stat := parts[0], parts[1], parts[2], parts[3]
	name := class + " " + quantityName(metric)
	if stat != analysis.StatValue && (stat != analysis.StatRatio || metric == analysis.MetricGoodput) {
		name += " " + stat
	}
	if phase != analysis.PhaseAll {
		name += " in " + phase
	}
	return label(name)
}

// quantityName is the field's name of a metric.
func quantityName(metric string) string {
	switch metric {
	case analysis.MetricTTFT:
		return "TTFT"
	case analysis.MetricTTFTAdjusted:
		return "TTFT, failures as ∞"
	case analysis.MetricTTFTFromDue:
		return "TTFT from due"
	case analysis.MetricITL:
		return "ITL"
	case analysis.MetricTPOT:
		return "TPOT"
	case analysis.MetricE2E:
		return "end-to-end"
	case analysis.MetricErrorRate:
		return "error rate"
	case analysis.MetricOKPerS:
		return "ok requests per second"
	case analysis.MetricOutputTokens:
		return "output tokens per second"
	case analysis.MetricRequestsPerS:
		return "requests per second"
	case analysis.MetricSpan:
		return "span"
	case analysis.MetricCompletion:
		return "completion"
	}
	return strings.ReplaceAll(metric, "_", " ")
}
