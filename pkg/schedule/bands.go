package schedule

import (
	"time"

	"bgbench/pkg/spec"
)

// Band is one phase of one cycle on the time axis, [Start, End) from schedule time 0.
type Band struct {
	Phase      string
	Class      string // of its requests
	Cycle      int    // 0-based
	Warmup     bool
	Start, End time.Duration
}

// Bands lays the phases of all cycles end to end.
func Bands(in spec.Interactive) []Band {
	var bands []Band
	var at time.Duration
	for cycle := range in.Cycles {
		for _, p := range in.Phases {
			end := at + p.Duration.Std()
			bands = append(bands, Band{p.Name, p.Class, cycle, cycle < in.WarmupCycles, at, end})
			at = end
		}
	}
	return bands
}
