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

// Warnings are what a reader of the cell must know.
func (c CellResult) Warnings() []Warning {
	if c.Valid {
		return nil
	}
	return []Warning{{Arm: c.Arm, Trial: c.Trial, Message: "INVALID: " + c.failures()}}
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
