package report

import (
	"fmt"
	"time"

	"bgbench/pkg/analysis"
)

// validity is the state of every cell.
type validity struct {
	Valid, Total int
	Trials       []int
	Rows         []validityRow
	Failures     []failure
}

// validityRow is the trials of one arm.
type validityRow struct {
	Arm   tag
	Cells []validityCell
}

// validityCell is one place of the grid; Known is false where no cell ran.
type validityCell struct {
	Known bool
	Valid bool
	Title string
}

// failure is a check that did not hold.
type failure struct {
	Arm      tag
	Trial    int
	Check    string
	Evidence string
}

// cellDetail is one cell with all its checks.
type cellDetail struct {
	Arm     tag
	Trial   int
	Valid   bool
	Seed    int64
	Clock   string
	Started string
	Ended   string
	Dir     string
	Passed  int
	Checks  []analysis.Check
}

func (s study) validity() validity {
	var v validity
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			for len(v.Trials) < c.Trial && len(v.Trials) < maxTrials {
				v.Trials = append(v.Trials, len(v.Trials)+1)
			}
		}
	}
	for _, a := range s.Arms {
		row := validityRow{Arm: a.Tag, Cells: make([]validityCell, len(v.Trials))}
		for i := range row.Cells {
			row.Cells[i].Title = "did not run"
		}
		for _, c := range a.Cells {
			v.Total++
			cell := validityCell{Known: true, Valid: c.Valid, Title: fmt.Sprintf("valid, %d checks held", len(c.Checks))}
			if c.Valid {
				v.Valid++
			} else {
				cell.Title = "INVALID"
			}
			failed := 0
			for _, check := range c.Checks {
				if !check.OK {
					failed++
					cell.Title += "; " + label(check.Name)
					v.Failures = append(v.Failures, failure{a.Tag, c.Trial, label(check.Name), prose(check.Evidence)})
				}
			}
			if !c.Valid && failed == 0 {
				v.Failures = append(v.Failures, failure{a.Tag, c.Trial, "marked invalid", "no check says why"})
			}
			if c.Trial <= len(row.Cells) {
				row.Cells[c.Trial-1] = cell
			}
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// maxTrials bounds the grid; a trial number beyond it is in the table of cells.
const maxTrials = 100

func (s study) cellDetails() []cellDetail {
	var details []cellDetail
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			d := cellDetail{
				Arm: a.Tag, Trial: c.Trial, Valid: c.Valid, Seed: c.Seed, Clock: label(c.Clock),
				Started: instant(c.StartedAt), Ended: instant(c.EndedAt), Dir: label(c.Dir),
			}
			if isVirtual(c) {
				d.Started, d.Ended = virtualClock, dash
				if length := c.EndedAt.Sub(c.StartedAt); length > 0 {
					d.Ended = clock(length.Seconds()) + " later"
				}
			}
			for _, check := range c.Checks {
				if check.OK {
					d.Passed++
				}
				d.Checks = append(d.Checks, analysis.Check{Name: label(check.Name), OK: check.OK, Evidence: prose(check.Evidence)})
			}
			details = append(details, d)
		}
	}
	return details
}

func instant(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
