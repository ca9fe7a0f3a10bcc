package analysis

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"bgbench/pkg/record"
)

// BaselineMetrics are compared with a baseline unless others are named: what an interactive
// user feels in the middle, where few requests suffice, when each job is done, and how
// often the batch gateway was told to slow down and the router evicted, as far as any
// arm can tell.
func BaselineMetrics(baseline, current Results) []string {
	var metrics, jobs []string
	add := func(to *[]string, key string) {
		if !slices.Contains(*to, key) {
			*to = append(*to, key)
		}
	}
	for _, p := range current.Experiment.Profiles() {
		burst := BurstPhase(p.Interactive)
		add(&metrics, MetricKey(burst, record.ClassInteractive, MetricTTFT, StatP50))
		add(&metrics, MetricKey(burst, record.ClassInteractive, MetricITL, StatP50))
		for _, j := range p.Batch.Jobs {
			add(&jobs, MetricKey(PhaseAll, record.ClassBatch, MetricCompletion, j.Name))
		}
	}
	metrics = append(append(metrics, jobs...),
		MetricKey(PhaseAll, record.ClassBatch, MetricAIMDDecreases, StatValue),
		MetricKey(PhaseAll, record.ClassBatch, MetricAIMDLimit, StatMean),
		MetricKey(PhaseAll, record.ClassBatch, MetricEvictions, StatValue),
	)
	return slices.DeleteFunc(metrics, func(m string) bool { return !hasMetric(baseline, m) && !hasMetric(current, m) })
}

// Finding compares the medians over trials of one metric of one arm.
type Finding struct {
	Arm, Metric string
	Unit        string
	Old, New    *float64
	Ratio       *float64 // new / old
	OK          bool     // the ratio is within the bound
	Skipped     bool     // neither has a value: there is nothing to compare
	Reason      string   // why there is no ratio
}

// CompareWithBaseline compares the medians of current with those of baseline, arm by arm. A
// finding is OK when the two differ by at most within, as a share of the older one, or
// by what chance explains where they are counts. What only one of them has is never OK; a
// metric that is null in both is skipped.
// A metric that an arm has in neither is left out, unless no arm has it.
func CompareWithBaseline(baseline, current Results, metrics []string, within float64) []Finding {
	var findings []Finding
	for _, old := range baseline.Arms {
		i := slices.IndexFunc(current.Arms, func(a ArmResult) bool { return a.Name == old.Name })
		for _, metric := range metrics {
			f := Finding{Arm: old.Name, Metric: metric}
			if i < 0 {
				f.Reason = "the arm is only in the baseline"
				findings = append(findings, f)
				continue
			}
			was, inOld := old.Metrics[metric]
			is, inNew := current.Arms[i].Metrics[metric]
			if !inOld && !inNew && (hasMetric(baseline, metric) || hasMetric(current, metric)) {
				continue
			}
			if inOld && inNew && was.Median == nil && is.Median == nil {
				f.Unit, f.Skipped, f.Reason = was.Unit, true, "null in both"
				if was.Reason != "" {
					f.Reason += ": " + was.Reason
				}
			} else {
				f.compare(was, is, within)
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

func hasMetric(r Results, metric string) bool {
	return slices.ContainsFunc(r.Arms, func(a ArmResult) bool { _, ok := a.Metrics[metric]; return ok })
}

func (f *Finding) compare(old, current Estimate, within float64) {
	f.Unit, f.Old, f.New = old.Unit, old.Median, current.Median
	switch {
	case f.Old == nil:
		f.Reason = reasonOr(old.Reason, "the baseline has no such metric")
		return
	case f.New == nil:
		f.Reason = reasonOr(current.Reason, "the results have no such metric")
		return
	case *f.Old != 0:
		ratio := *f.New / *f.Old
		f.Ratio = &ratio
		f.OK = math.Abs(ratio-1) <= within
	default:
		f.OK = *f.New == 0
	}
	switch {
	case f.OK:
	case f.Unit == UnitCount:
		allowed := countSigmas * math.Sqrt(*f.Old+*f.New)
		f.OK = math.Abs(*f.New-*f.Old) <= allowed
		f.Reason = fmt.Sprintf("chance explains ±%.1f", allowed)
	case *f.Old == 0:
		f.Reason = "the baseline is 0"
	}
}

// Tally counts what was compared, what of it did not hold, and what had no value on
// either side.
func Tally(findings []Finding) (compared, failed, skipped int) {
	for _, f := range findings {
		switch {
		case f.Skipped:
			skipped++
			continue
		case !f.OK:
			failed++
		}
		compared++
	}
	return compared, failed, skipped
}

// countSigmas: of two counts of equal expectation the difference has the variance of
// their sum if they are Poisson, and 95 of 100 pairs differ by less than two of its
// standard deviations.
const countSigmas = 2

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
		switch {
		case f.Skipped:
			verdict = "skipped"
		case !f.OK:
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
	case unit == UnitCount:
		return fmt.Sprintf("%.4g", *v)
	case unit == "s" && *v < 10:
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
