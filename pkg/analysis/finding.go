package analysis

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"bgbench/pkg/stats"
)

// Finding compares one metric of one arm with a baseline.
type Finding struct {
	Arm, Metric string
	Unit        string
	Old, New    *float64 // medians over trials, or over earlier results
	Ratio       *float64 // new / old
	Test        Unpaired
	Word        string // follows the test: one of those of a Change
	OK          bool
	Skipped     bool   // neither has a value: there is nothing to compare
	Reason      string // why there is no ratio, or why it is OK or not
}

// compare holds the medians against the bound.
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

// judge finds the words of the findings, whose tests are one family.
func judge(findings []Finding) {
	var tested []*Finding
	var p []float64
	for i := range findings {
		f := &findings[i]
		if f.Test.P != nil {
			tested, p = append(tested, f), append(p, *f.Test.P)
		} else if f.Old != nil && f.New != nil {
			f.Word = WordNotTested
		}
	}
	for i, adjusted := range stats.Holm(p) {
		tested[i].Test.PAdjusted = finite(adjusted)
		tested[i].Word = wordOf(adjusted, tested[i].rises(), betterOf(tested[i].Metric))
	}
}

// rises asks the means that were tested, and where there are none the medians.
func (f Finding) rises() bool {
	if f.Test.Ratio != nil {
		return *f.Test.Ratio > 1
	}
	return *f.New > *f.Old
}

// forgive takes back what fails the bound, but is no regression: what is better than it was,
// and what a test could not tell from chance. Where there is no test the bound decides.
func (f *Finding) forgive(within float64) {
	if f.OK || f.Old == nil || f.New == nil {
		return
	}
	better := betterOf(f.Metric)
	switch {
	case better != neither && (*f.New > *f.Old) == (better == betterHigher):
		f.OK, f.Reason = true, fmt.Sprintf("better by more than %g %%", within*100)
	case f.Word == WordNotShown:
		f.OK, f.Reason = true, fmt.Sprintf("beyond %g %%, which chance explains", within*100)
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

// WriteFindings prints findings as a table, one a line.
func WriteFindings(w io.Writer, findings []Finding) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ARM\tMETRIC\tBASELINE\tNOW\tRATIO\t95 %\tP\tCOULD SHOW\tTEST\t")
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Arm, f.name(),
			quantity(f.Old, f.Unit), quantity(f.New, f.Unit), ratioText(f.Ratio),
			f.Test.interval(), pText(f.Test.PAdjusted), shareText(f.Test.MDE), f.test(), verdict)
	}
	return t.Flush()
}

// name of what was compared; an arm that has no counterpart was compared as a whole.
func (f Finding) name() string {
	if f.Metric == "" {
		return "arm"
	}
	return f.Metric
}

func (f Finding) test() string {
	switch {
	case f.Word == "":
		return noValue
	case f.Word == WordNotTested:
		return f.Test.Reason
	}
	return f.Word
}

// sentence says what was found: both values, their ratio, the test and the reason.
func (f Finding) sentence() string {
	text := fmt.Sprintf("baseline %s, now %s", quantity(f.Old, f.Unit), quantity(f.New, f.Unit))
	if f.Ratio != nil {
		text += ", ratio " + ratioText(f.Ratio)
	}
	if f.Test.P != nil {
		text += fmt.Sprintf("; %s (%s", f.Word, f.Test.Method)
		if f.Test.Low != nil {
			text += ", ratio of means " + f.Test.interval()
		}
		text += ", p " + pText(f.Test.PAdjusted)
		if f.Test.MDE != nil {
			text += ", a rise by " + shareText(f.Test.MDE) + " could have been shown"
		}
		if f.Test.RankP != nil && f.Test.Method != methodRanks {
			text += ", ranks alone p " + pText(f.Test.RankP)
		}
		text += ")"
	} else if f.Test.Reason != "" {
		text += "; " + f.Test.Reason
	}
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

func (u Unpaired) interval() string {
	if u.Low == nil || u.High == nil {
		return noValue
	}
	return fmt.Sprintf("%.3f to %.3f", *u.Low, *u.High)
}

func pText(p *float64) string {
	switch {
	case p == nil:
		return noValue
	case *p < 0.001:
		return "<0.001"
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", *p), "0"), ".")
}

func shareText(v *float64) string {
	if v == nil {
		return noValue
	}
	return fmt.Sprintf("%.3g %%", 100**v)
}

func quantity(v *float64, unit string) string {
	switch {
	case v == nil:
		return noValue
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
		return noValue
	}
	return fmt.Sprintf("%.3f", *v)
}
