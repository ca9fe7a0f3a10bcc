package analysis

import (
	"encoding/json"
	"os"
	"path/filepath"

	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// checkReadable is the check that an unreadable cell fails. One that was read has no
// need of it.
const checkReadable = "files readable"

// unreadable is the summary of a cell of which a file cannot be read, or holds what no run
// can have left: INVALID, for the reason given, and without a single number. place is its
// folder relative to the experiment, path where that is.
func (s *slot) unreadable(experiment spec.Experiment, place, path string, why error) *CellResult {
	none := missing(0, "the cell cannot be read")
	r := &CellResult{
		Arm: s.arm.Name, Trial: s.trial, Seed: experiment.ProfileOf(s.arm.Name).TrialSeed(s.trial), Dir: filepath.ToSlash(place),
		Checks: []Check{check(checkReadable, false, "%v", why)}, LoadWarnings: []string{},
		Bands: []Band{}, Phases: []PhaseSummary{}, Jobs: []JobSummary{}, Batch: withoutBatch(none.Reason), Curves: []Curve{},
		Mechanisms: Mechanisms{Promised: append([]string{}, s.arm.Promises...)},
		Tokens:     TokenSummary{none, none, none, none, none, none},
		QueueTimes: []QueueTimes{}, Infrastructure: []Infrastructure{},
		Agreement: TTFTAgreement{Clients: none, Servers: none, MeanDifferenceS: none, Quantiles: []QuantileAgreement{}},
		Versions:  map[string]any{},
	}
	// What the run said of itself is told as far as it can be read.
	var said record.Metadata
	if text, err := os.ReadFile(filepath.Join(path, metadataFile)); err == nil && json.Unmarshal(text, &said) == nil {
		r.StartedAt, r.EndedAt, r.Clock = said.ScheduleStartedAt, said.EndedAt, said.Clock
	}
	return r
}

// readable reports whether the rows of the cell were read.
func (r CellResult) readable() bool { return len(r.Checks) == 0 || r.Checks[0].Name != checkReadable }

func (s *slot) setFaulty(experiment spec.Experiment, place, path string, why error) {
	s.faulty, s.result = why, s.unreadable(experiment, place, path, why)
}

// withoutBatch is the batch work of a cell that has none to tell of.
func withoutBatch(reason string) BatchSummary {
	none := missing(0, "%s", reason)
	b := BatchSummary{
		IdlePerS: none, BurstPerS: none, AllPerS: none, SpanS: none, CachedTokensRatio: none,
		PerPhase: map[string]Value{}, TTFT: distribution(rising{}, "rows", reason),
		Deadlines: Deadlines{
			Met: unknownShare(reason), Lines: unknownShare(reason),
			Order: DeadlineOrder{Expected: []string{}, Found: []string{}, SpreadRatio: none, Reason: reason},
		},
	}
	b.E2E = b.TTFT
	return b
}
