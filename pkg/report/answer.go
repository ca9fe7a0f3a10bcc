package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// answer is what the experiment found, in sentences filled from verdicts, with
// every comparison that has one as evidence.
type answer struct {
	Interactive string
	Batch       string
	Evictions   string // empty where no arm evicts
	Comparisons []comparison
	Margin      string // the declared margin, empty without one
	Baseline    string
}

// comparison is one metric of one arm against the baseline.
type comparison struct {
	Arm      tag
	Metric   string
	Baseline string // its median
	Value    string // the arm's median
	Ratio    string
	Interval string
	Bounds   string // one-sided, which the verdict compares with the margin
	Shows    string // the smallest change that the trials could have shown
	P        string // adjusted for the family
	Raw      string // as it is by itself, empty where it is the same
	Pairs    int
	Verdict  string
	Reason   string
}

func (s study) answer() answer {
	a := answer{Comparisons: s.comparisons()}
	if s.Experiment.Margin > 0 {
		a.Margin = s.margin()
	}
	if s.Baseline != nil {
		a.Baseline = s.Baseline.Tag.Label()
	}
	a.Interactive = s.interactiveSentence()
	a.Batch = s.batchSentence()
	a.Evictions = s.evictionSentence()
	return a
}

// primary is the metric that the first sentence speaks of: of those with a
// verdict, interactive TTFT p95 in bursts if it is there, else the first by name.
func (s study) primary() string { return s.primaryIn(s.Burst) }

// primaryIn is the same where burst is the busiest phase.
func (s study) primaryIn(burst string) string {
	keys := map[string]bool{}
	for _, a := range s.Arms {
		for key, c := range a.Against {
			if c.Verdict != "" {
				keys[key] = true
			}
		}
	}
	want := analysis.MetricKey(burst, "interactive", analysis.MetricTTFT, analysis.StatP95)
	if keys[want] || len(keys) == 0 {
		return want
	}
	return slices.Sorted(maps.Keys(keys))[0]
}

func (s study) interactiveSentence() string {
	if s.Baseline == nil {
		return "No conclusion about interactive traffic: the experiment names no baseline to compare with."
	}
	var sentences []string
	for _, base := range s.Arms {
		if base.ArmResult.Baseline {
			sentences = append(sentences, s.sentenceAgainst(base))
		}
	}
	return strings.Join(sentences, " ")
}

// sentenceAgainst speaks of the arms that are compared with base.
func (s study) sentenceAgainst(base arm) string {
	key := s.primaryIn(analysis.BurstPhase(s.Experiment.ProfileOf(base.Name).Interactive))
	groups := map[string][]string{}
	for _, a := range s.Arms {
		if a.ArmResult.Baseline || a.Point != base.Point {
			continue
		}
		c := a.Against[key]
		verdict, why := c.Verdict, ""
		if verdict != analysis.VerdictProtected && verdict != analysis.VerdictDegraded {
			verdict = analysis.VerdictNoConclusion
			if c.Low != nil && c.Reason != "" { // a verdict that was withheld
				why = "; " + prose(c.Reason)
			}
			if c.MDE != nil {
				why += "; the trials could have shown " + detectable(c)
			}
		}
		said := s.evidence(a, c) + why + s.cost(a, key, verdict)
		switch {
		case s.many():
			said = s.inShort(a, c, key)
		case s.several():
			said = s.evidence(a, c) + why
		}
		groups[verdict] = append(groups[verdict], a.Tag.Label()+" ("+said+")")
	}
	var clauses []string
	if arms := groups[analysis.VerdictProtected]; arms != nil {
		within := ""
		if s.Experiment.Margin > 0 {
			within = " within " + s.margin()
		}
		clauses = append(clauses, "protected"+within+" in "+list(arms))
	}
	if arms := groups[analysis.VerdictDegraded]; arms != nil {
		clauses = append(clauses, "degraded in "+list(arms))
	}
	subject := "Against " + base.Tag.Label() + ", " + metricName(key)
	open := groups[analysis.VerdictNoConclusion]
	switch {
	case len(clauses) == 0 && open == nil:
		return "No conclusion: there is no arm to compare with " + base.Tag.Label() + "."
	case len(clauses) == 0:
		return subject + " allows no conclusion for " + list(open) + "." + s.costsOf(base, key)
	case open == nil:
		return subject + " is " + list(clauses) + "." + s.costsOf(base, key)
	}
	return subject + " is " + list(clauses) + "; no conclusion for " + list(open) + "." + s.costsOf(base, key)
}

// cost names the other metrics that an arm degrades, so that no verdict, nor the
// lack of one, is told alone.
func (s study) cost(a arm, key, verdict string) string {
	text := ""
	for _, other := range slices.SortedFunc(maps.Keys(a.Against), s.byImportance) {
		c := a.Against[other]
		if other == key || c.Verdict != analysis.VerdictDegraded {
			continue
		}
		if verdict == analysis.VerdictDegraded {
			text += "; so is " + metricName(other)
		} else {
			text += "; but " + metricName(other) + " is degraded"
		}
		if c.Ratio != nil {
			text += fmt.Sprintf(", %s, n\u00a0=\u00a0%d", times(*c.Ratio), c.Pairs)
		}
	}
	return text
}

// severalArms is how many arms a sentence can tell the costs of one by one.
const severalArms = 4

// several reports whether costs are told metric by metric, in a sentence of their own.
func (s study) several() bool { return len(s.Arms) > severalArms && !s.many() }

// costsOf says which other metrics are degraded in which arms that are compared with base.
func (s study) costsOf(base arm, key string) string {
	if !s.several() {
		return ""
	}
	arms := map[string][]string{}
	for _, a := range s.Arms {
		if a.ArmResult.Baseline || a.Point != base.Point {
			continue
		}
		for other, c := range a.Against {
			if other != key && c.Verdict == analysis.VerdictDegraded && c.Ratio != nil {
				arms[other] = append(arms[other], fmt.Sprintf("%s (%s, n\u00a0=\u00a0%d)", a.Tag.Label(), times(*c.Ratio), c.Pairs))
			}
		}
	}
	text := ""
	for _, other := range slices.SortedFunc(maps.Keys(arms), s.byImportance) {
		name := metricName(other)
		text += " " + strings.ToUpper(name[:1]) + name[1:] + " is degraded in " + list(arms[other]) + "."
	}
	return text
}

// inShort is evidence and cost where there are too many arms to tell more; the table of
// comparisons has the rest.
func (s study) inShort(a arm, c analysis.Comparison, key string) string {
	said := []string{"not compared"}
	if c.Ratio != nil {
		said[0] = times(*c.Ratio)
	}
	for _, other := range slices.SortedFunc(maps.Keys(a.Against), s.byImportance) {
		if other != key && a.Against[other].Verdict == analysis.VerdictDegraded {
			said = append(said, metricName(other)+" degraded")
		}
	}
	return strings.Join(said, ", ")
}

// evidence is the ratio behind a verdict, or why there is none, always with n.
func (s study) evidence(a arm, c analysis.Comparison) string {
	n := fmt.Sprintf("n\u00a0=\u00a0%d", c.Pairs)
	switch {
	case c.Ratio != nil && c.Low != nil && c.High != nil:
		return fmt.Sprintf("%s, %.0f\u00a0%% CI %s, %s", times(*c.Ratio), 100*c.Level, s.interval(*c.Low, *c.High), n)
	case c.Ratio != nil && c.Reason != "":
		return times(*c.Ratio) + ", " + prose(c.Reason) + ", " + n
	case c.Ratio != nil:
		return times(*c.Ratio) + ", no interval, " + n
	case c.Reason != "":
		return prose(c.Reason) + ", " + n
	case a.Trials == 0:
		return "no valid trial, " + n
	}
	return "not compared, " + n
}

// detectable is the smallest change that a comparison could have shown, or a dash.
func detectable(c analysis.Comparison) string {
	if c.MDE == nil {
		return dash
	}
	return "about " + significant(100**c.MDE) + "\u00a0% or more"
}

func (s study) batchSentence() string {
	var met, missed []string
	for _, a := range s.withBatch() {
		kept, all, trials := 0, 0, 0
		for _, j := range a.Jobs {
			kept, all, trials = kept+j.Met, all+j.Trials, max(trials, j.Trials)
		}
		said := fmt.Sprintf("%s (%d of %d, n\u00a0=\u00a0%d)", a.Tag.Label(), kept, all, trials)
		switch {
		case all == 0:
		case kept == all:
			met = append(met, said)
		default:
			missed = append(missed, said)
		}
	}
	switch {
	case met == nil && missed == nil:
		return "No conclusion about batch deadlines: no valid trial ran a batch job."
	case missed == nil:
		return "Every line of every batch job was done within its window in " + list(met) + "."
	case met == nil:
		return "Batch jobs failed lines or missed their windows in " + list(missed) + "."
	}
	return "Every line of every batch job was done within its window in " + list(met) +
		"; jobs failed lines or missed their windows in " + list(missed) + "."
}

// evictionSentence tells what protection by eviction cost: how often it happened, what
// became of the lines and how much was computed again, over the valid trials of each arm.
func (s study) evictionSentence() string {
	var told []string
	for _, a := range s.Arms {
		issued, lines, one, redone, trials := 0.0, 0.0, 0.0, 0.0, 0
		follows, counted, lost := true, true, 0
		for _, c := range a.valid() {
			e := c.Batch.Evicted
			if e == nil || e.Issued.Value == nil {
				continue
			}
			trials++
			issued += *e.Issued.Value
			lost += c.Batch.Lines.Lost + c.Batch.Lines.Duplicated
			if e.Lines.Value != nil && e.OneResult.Value != nil {
				lines, one = lines+*e.Lines.Value, one+*e.OneResult.Value
			} else {
				follows = false
			}
			if v := c.Tokens.Redone.Value; v != nil {
				redone += *v
			} else {
				counted = false
			}
		}
		if trials == 0 {
			continue
		}
		said := fmt.Sprintf("%s evicted %s (n\u00a0=\u00a0%d", a.Tag.Label(), analysis.Plural(int(issued), "request"), trials)
		switch {
		case issued == 0:
		case follows:
			said += fmt.Sprintf("; %s of %s had exactly one final result", count(int64(one)), analysis.Plural(int(lines), "evicted line"))
		case lost == 0:
			said += "; no line was lost or has two results"
		default:
			said += fmt.Sprintf("; %s lost or with two results", analysis.Plural(lost, "line"))
		}
		if issued > 0 && counted {
			said += "; " + count(int64(redone)) + " tokens were computed again"
		}
		told = append(told, said+")")
	}
	if told == nil {
		return ""
	}
	return strings.Join(told, ", ") + "."
}

// list joins items as a sentence does: a, b and c.
func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}

// comparisons returns what has a verdict, arm by arm.
func (s study) comparisons() []comparison {
	var all []comparison
	for _, a := range s.Arms {
		for _, key := range slices.SortedFunc(maps.Keys(a.Against), s.byImportance) {
			c := a.Against[key]
			if c.Verdict == "" {
				continue
			}
			row := comparison{
				Arm: a.Tag, Metric: metricName(key), Pairs: c.Pairs, Verdict: c.Verdict, Reason: prose(c.Reason),
				Baseline: dash, Value: median(a.Metrics[key]), Ratio: dash, Interval: dash, Bounds: dash, Shows: detectable(c),
			}
			row.P = dash
			if c.P != nil && c.PAdjusted != nil {
				row.P = pValue(*c.PAdjusted)
				if raw := pValue(*c.P); raw != row.P {
					row.Raw = raw
				}
			}
			if base, ok := s.BaselineOf(a.ArmResult); ok {
				row.Baseline = median(base.Metrics[key])
			}
			if c.Ratio != nil {
				row.Ratio = times(*c.Ratio)
			}
			if c.Low != nil && c.High != nil {
				row.Interval = s.interval(*c.Low, *c.High)
			}
			if c.OneSidedLow != nil && c.OneSidedHigh != nil {
				row.Bounds = s.interval(*c.OneSidedLow, *c.OneSidedHigh)
			}
			all = append(all, row)
		}
	}
	return all
}

// byImportance puts the primary metric first and the rest in the order of phases,
// then by name.
func (s study) byImportance(x, y string) int {
	rank := func(key string) int {
		if key == s.primary() {
			return -1
		}
		phase, _, _ := strings.Cut(key, "/")
		if i := slices.Index(s.Phases, phase); i >= 0 {
			return i
		}
		return len(s.Phases)
	}
	return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x, y))
}

// interval writes the ends of an interval of a ratio, with as many digits as it
// takes to see on which side of the declared margin each of them lies.
func (s study) interval(low, high float64) string {
	line := 1 + s.Experiment.Margin
	return beside(low, line) + "–" + beside(high, line)
}

func median(e analysis.Estimate) string {
	if e.Median == nil {
		return dash
	}
	return quantity(*e.Median, e.Unit)
}
