package load

import (
	"time"

	"bgbench/pkg/schedule"
	"bgbench/pkg/sim/kernel"
)

// phases says which phase an instant of the run belongs to.
type phases struct {
	bands []schedule.Band
	start Stamp // schedule time 0; not set before the jobs are created
}

// place is a phase of a cycle; the zero place is outside the schedule.
type place struct {
	phase  string
	cycle  int
	warmup bool
}

func (p phases) at(t kernel.Time) place {
	if !p.start.OK || t < p.start.Time {
		return place{}
	}
	since := t - p.start.Time
	for _, b := range p.bands {
		if since < b.End {
			return place{b.Phase, b.Cycle, b.Warmup}
		}
	}
	return place{}
}

// bandEnd is when a phase of a cycle ends.
func (p phases) bandEnd(phase string, cycle int) kernel.Time {
	for _, b := range p.bands {
		if b.Phase == phase && b.Cycle == cycle {
			return p.start.Time + b.End
		}
	}
	return p.start.Time
}

// length is how long the schedule lasts.
func (p phases) length() time.Duration {
	if len(p.bands) == 0 {
		return 0
	}
	return p.bands[len(p.bands)-1].End
}
