package analysis

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// RatePoint is one point of the throughput-latency curve of an arm.
type RatePoint struct {
	Arm     string       `json:"arm"`     // its name
	Trial   int          `json:"trial"`   // counted from 1
	Dir     string       `json:"dir"`     // folder of the cell
	Valid   bool         `json:"valid"`   // whether every check held
	Summary PhaseSummary `json:"summary"` // of its phase
	Power   Value        `json:"power"`   // ok requests a second over their p95 TTFT from the due time
	Knee    bool         `json:"knee"`    // power is highest, of the rates of this arm, class and trial
}

// ReadRateSweep reads every cell below dir, as bg-load sweep writes them, and returns a
// point for each phase and class that was on a schedule: by arm, class and offered rate.
func ReadRateSweep(ctx context.Context, dir string) ([]RatePoint, error) {
	var points []RatePoint
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != metadataFile {
			return err
		}
		c, err := ReadCell(ctx, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, p := range c.Phases {
			if p.Lateness.N > 0 {
				points = append(points, RatePoint{Arm: c.Arm, Trial: c.Trial, Dir: c.Dir, Valid: c.Valid, Summary: p})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s: found no cell, expected folders with %s", dir, metadataFile)
	}
	slices.SortStableFunc(points, func(a, b RatePoint) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Summary.Class, b.Summary.Class),
			cmp.Compare(offered(a), offered(b)), cmp.Compare(a.Trial, b.Trial))
	})
	markKnees(points)
	return points, nil
}

func offered(p RatePoint) float64 {
	if v := p.Summary.OfferedPerS.Value; v != nil {
		return *v
	}
	return 0
}

// WriteRateSweep writes points as tab-separated values under a head; what has no value
// is an empty field.
func WriteRateSweep(w io.Writer, points []RatePoint) error {
	columns := []struct {
		name string
		of   func(PhaseSummary) Value
	}{
		{"offered_requests_per_s", func(p PhaseSummary) Value { return p.OfferedPerS }},
		{"ok_requests_per_s", func(p PhaseSummary) Value { return p.OKPerS }},
		{"output_tokens_per_s", func(p PhaseSummary) Value { return p.OutputTokensPerS }},
		{"error_rate", func(p PhaseSummary) Value { return p.ErrorRate }},
		{"ttft_from_due_p50_s", func(p PhaseSummary) Value { return p.TTFTFromDue.P50 }},
		{"ttft_from_due_p95_s", func(p PhaseSummary) Value { return p.TTFTFromDue.P95 }},
		{"ttft_error_adjusted_p95_s", func(p PhaseSummary) Value { return p.TTFTAdjusted.P95 }},
		{"itl_p50_s", func(p PhaseSummary) Value { return p.ITL.P50 }},
		{"itl_p95_s", func(p PhaseSummary) Value { return p.ITL.P95 }},
		{"e2e_from_due_p50_s", func(p PhaseSummary) Value { return p.E2EFromDue.P50 }},
		{"e2e_from_due_p95_s", func(p PhaseSummary) Value { return p.E2EFromDue.P95 }},
		{"good_ratio", func(p PhaseSummary) Value { return p.Goodput.Good.asValue() }},
		{"power", powerOf},
	}
	head := []string{"arm", "trial", "class", "phase", "valid", "knee"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	if _, err := fmt.Fprintln(w, strings.Join(head, "\t")); err != nil {
		return err
	}
	for _, p := range points {
		fields := []string{p.Arm, strconv.Itoa(p.Trial), p.Summary.Class, p.Summary.Phase, strconv.FormatBool(p.Valid), strconv.FormatBool(p.Knee)}
		for _, c := range columns {
			text := ""
			if v := c.of(p.Summary).Value; v != nil {
				text = strconv.FormatFloat(*v, 'g', 6, 64)
			}
			fields = append(fields, text)
		}
		if _, err := fmt.Fprintln(w, strings.Join(fields, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// ReadRatePoints reads what bg-analyze sweep --format json wrote.
func ReadRatePoints(r io.Reader, name string) ([]RatePoint, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var points []RatePoint
	if err := decode(data, name, &points); err != nil {
		return nil, err
	}
	for i, p := range points {
		if p.Arm == "" || p.Summary.Phase == "" {
			return nil, fmt.Errorf("%s: [%d]: found no arm or no summary, expected the points of bg-analyze sweep --format json", name, i)
		}
	}
	return points, nil
}
