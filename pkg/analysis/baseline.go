package analysis

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// BaselineMetrics are compared with a baseline unless others are named: what an interactive
// user feels in the middle, where few requests suffice.
func BaselineMetrics(r Results) []string {
	burst := BurstPhase(r.Experiment.Profile.Interactive)
	return []string{
		MetricKey(burst, "interactive", MetricTTFT, StatP50),
		MetricKey(burst, "interactive", MetricITL, StatP50),
	}
}

// Finding compares the medians over trials of one metric of one arm.
type Finding struct {
	Arm, Metric string
	Unit        string
	Old, New    *float64
	Ratio       *float64 // new / old
	OK          bool     // the ratio is within the bound
	Reason      string   // why there is no ratio
}

// CompareWithBaseline compares the medians of current with those of baseline, arm by arm. A
// finding is OK when the two differ by at most within, as a share of the older
// one. What cannot be compared is never OK.
func CompareWithBaseline(baseline, current Results, metrics []string, within float64) []Finding {
	var findings []Finding
	for _, old := range baseline.Arms {
		for _, metric := range metrics {
			f := Finding{Arm: old.Name, Metric: metric}
			i := slices.IndexFunc(current.Arms, func(a ArmResult) bool { return a.Name == old.Name })
			if i < 0 {
				f.Reason = "the arm is only in the baseline"
			} else {
				f.compare(old.Metrics[metric], current.Arms[i].Metrics[metric], within)
			}
			findings = append(findings, f)
		}
	}
	for _, a := range current.Arms {
		if !slices.ContainsFunc(baseline.Arms, func(old ArmResult) bool { return old.Name == a.Name }) {
			findings = append(findings, Finding{Arm: a.Name, Reason: "the arm is not in the baseline"})
		}
	}
	return findings
}

func (f *Finding) compare(old, current Estimate, within float64) {
	f.Unit, f.Old, f.New = old.Unit, old.Median, current.Median
	switch {
	case f.Old == nil:
		f.Reason = reasonOr(old.Reason, "the baseline has no such metric")
	case f.New == nil:
		f.Reason = reasonOr(current.Reason, "the results have no such metric")
	case *f.Old == 0 && *f.New == 0:
		f.OK = true
	case *f.Old == 0:
		f.Reason = "the baseline is 0"
	default:
		ratio := *f.New / *f.Old
		f.Ratio = &ratio
		f.OK = math.Abs(ratio-1) <= within
	}
}

func reasonOr(reason, otherwise string) string {
	if reason != "" {
		return reason
	}
	return otherwise
}

// WriteFindings prints findings as a table, one a line.
func WriteFindings(w io.Writer, findings []Finding) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ARM\tMETRIC\tBASELINE\tNOW\tRATIO\t")
	for _, f := range findings {
		verdict := "ok"
		if !f.OK {
			verdict = "FAILED"
		}
		if f.Reason != "" {
			verdict += ": " + f.Reason
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Arm, f.Metric,
			quantity(f.Old, f.Unit), quantity(f.New, f.Unit), ratioText(f.Ratio), verdict)
	}
	return t.Flush()
}

func quantity(v *float64, unit string) string {
	switch {
	case v == nil:
		return "-"
	case unit == "s":
		return fmt.Sprintf("%.4g ms", *v*1e3)
	default:
		return fmt.Sprintf("%.4g %s", *v, unit)
	}
}

func ratioText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}
