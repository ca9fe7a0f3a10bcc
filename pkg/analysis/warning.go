package analysis

import (
	"fmt"
	"strings"
)

// String puts the place in front of the message.
func (w Warning) String() string {
	switch {
	case w.Arm == "":
		return w.Message
	case w.Trial == 0:
		return fmt.Sprintf("%s: %s", w.Arm, w.Message)
	}
	return fmt.Sprintf("%s t%d: %s", w.Arm, w.Trial, w.Message)
}

// survivorShare: above it a percentile such as p95 says how fast the requests were
// that did not fail, and hides that the p95 of all requests is a failure.
const survivorShare = 0.05

// Warnings are what a reader of the cell must know.
func (c CellResult) Warnings() []Warning {
	warn := func(format string, args ...any) Warning {
		return Warning{Arm: c.Arm, Trial: c.Trial, Message: fmt.Sprintf(format, args...)}
	}
	var out []Warning
	for _, w := range c.LoadWarnings {
		out = append(out, warn("%s", w))
	}
	if !c.Valid {
		return append(out, warn("INVALID: %s", c.failures()))
	}
	for _, p := range c.Phases {
		if rate := p.ErrorRate.Value; rate != nil && *rate > survivorShare {
			out = append(out, warn("%s/%s: %.1f %% of %d requests did not end ok, the latencies are those of the others",
				p.Phase, p.Class, 100**rate, p.Requests))
		}
	}
	return out
}

// failures names the checks that failed, with their evidence.
func (c CellResult) failures() string {
	var out []string
	for _, check := range c.Checks {
		if !check.OK {
			out = append(out, fmt.Sprintf("%s (%s)", check.Name, check.Evidence))
		}
	}
	return strings.Join(out, "; ")
}

// CountInvalid counts the cells of which a check failed.
func CountInvalid(cells ...CellResult) int {
	n := 0
	for _, c := range cells {
		if !c.Valid {
			n++
		}
	}
	return n
}
