package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// answer is what the experiment found: two sentences filled from verdicts and counts, what
// was found arm by arm, and every comparison that has a verdict as evidence.
type answer struct {
	Interactive string
	Batch       string
	Found       []finding
	Comparisons []comparison
	Margin      string // the declared margin, empty without one
	Baseline    string
}

// finding is what the sentences leave out of one arm.
type finding struct {
	Arm     tag
	Verdict string
	Text    string
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
	a := answer{Interactive: s.interactiveSentence(), Batch: s.batchSentence(), Found: s.findings(), Comparisons: s.comparisons()}
	if s.Experiment.Margin > 0 {
		a.Margin = s.margin()
	}
	if s.Baseline != nil {
		a.Baseline = s.Baseline.Tag.Label()
	}
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

// judged is an arm with the comparison that the first sentence goes by.
type judged struct {
	arm     arm
	key     string
	c       analysis.Comparison
	verdict string
}

// judgements are those of all arms that have a baseline, in the order of the arms.
func (s study) judgements() []judged {
	var all []judged
	for _, a := range s.Arms {
		if _, ok := s.BaselineOf(a.ArmResult); !ok || a.ArmResult.Baseline {
			continue
		}
		j := judged{arm: a, key: s.primaryIn(analysis.BurstPhase(s.Experiment.ProfileOf(a.Name).Interactive))}
		j.c = a.Against[j.key]
		if j.verdict = j.c.Verdict; j.verdict != analysis.VerdictProtected && j.verdict != analysis.VerdictDegraded {
			j.verdict = analysis.VerdictNoConclusion
		}
		all = append(all, j)
	}
	return all
}

// interactiveSentence says what the tests of the primary metric showed, and in the same
// breath which other metric is degraded where that one is not: no verdict is told alone.
func (s study) interactiveSentence() string {
	if s.ofEndpoints() {
		return s.endpointSentence()
	}
	if s.Baseline == nil {
		return "No conclusion about interactive traffic: the experiment names no baseline to compare with."
	}
	all := s.judgements()
	if all == nil {
		return "No conclusion: there is no arm to compare with " + s.Baseline.Tag.Label() + "."
	}
	groups := map[string][]judged{}
	for _, j := range all {
		groups[j.verdict] = append(groups[j.verdict], j)
	}
	pairs := all[0].c.Pairs
	for _, j := range all {
		if j.c.Pairs != pairs {
			pairs = -1 // each says its own
		}
	}
	subject := "Against " + s.Baseline.Tag.Label()
	if n := s.baselines(); n > 1 {
		subject = fmt.Sprintf("Against the baselines of %d workloads", n)
	}
	subject += ", " + metricName(all[0].key)
	if pairs >= 0 {
		subject += fmt.Sprintf(" (n\u00a0=\u00a0%d)", pairs)
	}
	said := func(verdict string) string {
		return s.inSentence(groups[verdict], len(all), func(j judged) string { return ratioInSentence(j.c, pairs < 0) })
	}
	var clauses []string
	if groups[analysis.VerdictProtected] != nil {
		within := ""
		if s.Experiment.Margin > 0 {
			within = " within " + s.margin()
		}
		clauses = append(clauses, "protected"+within+" in "+said(analysis.VerdictProtected))
	}
	if groups[analysis.VerdictDegraded] != nil {
		clauses = append(clauses, "degraded in "+said(analysis.VerdictDegraded))
	}
	open := groups[analysis.VerdictNoConclusion] != nil
	switch {
	case clauses == nil:
		subject += " allows no conclusion for " + said(analysis.VerdictNoConclusion)
	case open:
		subject += " is " + list(clauses) + "; no conclusion for " + said(analysis.VerdictNoConclusion)
	default:
		subject += " is " + list(clauses)
	}
	return subject + s.hiddenCosts(all) + "."
}

// baselines is how many arms are one: more than one in a sweep over the profile.
func (s study) baselines() int {
	n := 0
	for _, a := range s.Arms {
		if a.ArmResult.Baseline {
			n++
		}
	}
	return n
}

// fewNames is how many arms a sentence names where there are many.
const fewNames = 3

// inSentence names arms, each with what is said of it, or counts them where their names
// would drown the sentence; of is how many there are in all.
func (s study) inSentence(arms []judged, of int, say func(judged) string) string {
	if s.many() && len(arms) > fewNames {
		if len(arms) == of {
			return fmt.Sprintf("all %d arms tested", of)
		}
		return fmt.Sprintf("%d of %d arms tested", len(arms), of)
	}
	var names []string
	for _, j := range arms {
		name := j.arm.Tag.Label()
		if text := say(j); text != "" {
			name += " (" + text + ")"
		}
		names = append(names, name)
	}
	return list(names)
}

// ratioInSentence is a ratio or why there is none, with its pairs where they differ.
func ratioInSentence(c analysis.Comparison, pairs bool) string {
	text := "not compared"
	switch {
	case c.Ratio != nil:
		text = times(*c.Ratio)
	case c.Reason != "":
		text = prose(c.Reason)
	}
	if pairs {
		text += fmt.Sprintf(", n\u00a0=\u00a0%d", c.Pairs)
	}
	return text
}

// hiddenCosts names the other metrics that are degraded in arms whose primary one is not.
func (s study) hiddenCosts(all []judged) string {
	arms := map[string][]judged{}
	for _, j := range all {
		if j.verdict == analysis.VerdictDegraded {
			continue
		}
		for other, c := range j.arm.Against {
			if other != j.key && c.Verdict == analysis.VerdictDegraded {
				arms[other] = append(arms[other], judged{arm: j.arm, key: other, c: c})
			}
		}
	}
	text := ""
	for i, other := range slices.SortedFunc(maps.Keys(arms), s.byImportance) {
		if i == 0 {
			text += "; but "
		} else {
			text += ", "
		}
		text += metricName(other) + " is degraded in " + s.inSentence(arms[other], len(all), func(j judged) string {
			if j.c.Ratio == nil {
				return ""
			}
			return times(*j.c.Ratio)
		})
	}
	return text
}

// findings tell of each arm what stands behind its verdict and what else was found.
func (s study) findings() []finding {
	verdicts := map[string]judged{}
	for _, j := range s.judgements() {
		verdicts[j.arm.Name] = j
	}
	var all []finding
	for _, a := range s.Arms {
		f := finding{Arm: a.Tag}
		var parts []string
		if j, ok := verdicts[a.Name]; ok {
			f.Verdict = j.verdict
			text := metricName(j.key) + " " + s.evidence(a, j.c)
			if j.verdict == analysis.VerdictNoConclusion {
				if j.c.Low != nil && j.c.Reason != "" { // a verdict that was withheld
					text += "; " + prose(j.c.Reason)
				}
				if j.c.MDE != nil {
					text += "; the trials could have shown " + detectable(j.c)
				}
			}
			parts = append(parts, text+s.cost(a, j.key, j.verdict))
		}
		if a.Batch {
			for _, j := range a.Jobs {
				if one := jobOutcome(a, j); !one.Met {
					parts = append(parts, "Job "+one.Job+": "+one.Why)
				}
			}
		}
		if text := a.evictionsTold(); text != "" {
			parts = append(parts, text)
		}
		if parts != nil {
			f.Text = strings.Join(parts, ". ") + "."
			all = append(all, f)
		}
	}
	return all
}

// cost names the other metrics that an arm degrades.
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

// batchSentence counts the jobs that kept their promise; it tests nothing and says so.
func (s study) batchSentence() string {
	var met, lines, late []judged
	counts := map[string]promise{}
	all, trials := 0, 0
	for _, a := range s.withBatch() {
		p := a.promise()
		if p.jobs == 0 {
			continue
		}
		counts[a.Name] = p
		all++
		trials = max(trials, a.Trials)
		if p.met == p.jobs {
			met = append(met, judged{arm: a})
		}
		if p.lines > 0 {
			lines = append(lines, judged{arm: a})
		}
		if p.late() > 0 {
			late = append(late, judged{arm: a})
		}
	}
	if all == 0 && s.ofEndpoints() && s.withBatch() == nil {
		return "" // nobody asked
	}
	if all == 0 {
		return "No conclusion about batch deadlines: no valid trial ran a batch job."
	}
	of := func(arms []judged, n func(promise) int) string {
		return s.inSentence(arms, all, func(j judged) string {
			p := counts[j.arm.Name]
			return fmt.Sprintf("%d of %d", n(p), p.jobs)
		})
	}
	var clauses []string
	if met != nil {
		clauses = append(clauses, "every line of every batch job was done within its window in "+of(met, func(p promise) int { return p.met }))
	}
	if lines != nil {
		clauses = append(clauses, "jobs had failed lines in "+of(lines, func(p promise) int { return p.lines }))
	}
	if late != nil {
		clauses = append(clauses, "jobs missed their windows in "+of(late, promise.late))
	}
	return fmt.Sprintf("Counted over n\u00a0=\u00a0%d, not tested: %s.", trials, strings.Join(clauses, "; "))
}

// promise counts the jobs of the valid trials of an arm by what became of them.
type promise struct {
	jobs, met int
	lines     int // done inside the window, but with failed lines
}

func (p promise) late() int { return p.jobs - p.met - p.lines }

func (a arm) promise() promise {
	var p promise
	for _, j := range a.Jobs {
		p.jobs, p.met = p.jobs+j.Trials, p.met+j.Met
	}
	for _, c := range a.valid() {
		for _, j := range c.Jobs {
			if failedLines(j) {
				p.lines++
			}
		}
	}
	p.lines = min(p.lines, p.jobs-p.met)
	return p
}

// failedLines says that a job ended in time and was not met for its failed lines alone.
func failedLines(j analysis.JobSummary) bool {
	return !j.Met && j.Failed > 0 && j.CompletionS.Value != nil && *j.CompletionS.Value <= j.WindowS
}

// evictionsTold tells what protection by eviction cost: how often it happened, what became
// of the lines and how much was computed again, over the valid trials.
func (a arm) evictionsTold() string {
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
		return ""
	}
	said := fmt.Sprintf("%s over n\u00a0=\u00a0%d", analysis.Plural(int(issued), "eviction"), trials)
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
	return said
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
				Arm: a.Tag, Metric: metricName(key), Pairs: c.Pairs, Verdict: label(c.Verdict), Reason: prose(c.Reason),
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
