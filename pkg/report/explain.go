package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
)

// Explain tells the story of a run to a terminal: what was asked, on what, what engaged,
// what was concluded, what was left out and what would change the conclusion.
func Explain(w io.Writer, results analysis.Results, width int, colour bool) error {
	s := newStudy(results)
	var out bytes.Buffer
	t := terminal{out: &out, width: width, colour: colour}
	parts := []func(*terminal){s.explainQuestion, s.explainMeasured, s.explainEngaged, s.explainConcluded, s.explainLeftOut, s.explainChange}
	if s.ofEndpoints() { // nothing had to engage, and nothing was tested
		parts = []func(*terminal){s.explainQuestion, s.explainMeasured, s.explainConcluded, s.explainLeftOut}
	}
	for _, part := range parts {
		part(&t)
	}
	_, err := out.WriteTo(w)
	return err
}

func (s study) explainQuestion(t *terminal) {
	t.heading("Asked")
	question := prose(s.Experiment.Question)
	if question == "" {
		question = prose(s.Experiment.Description)
	}
	if question == "" {
		question = "The experiment states no question."
	}
	t.paragraph(question)
	switch {
	case s.Baseline == nil:
		t.paragraph("No arm is the baseline: nothing is compared.")
	case s.Experiment.Margin > 0:
		t.paragraph(fmt.Sprintf("Every arm is compared with %s on the same inputs, trial by trial; at most %s worse counts as protected, %s.",
			s.Baseline.Tag.Label(), s.margin(), s.marginSince()))
	default:
		t.paragraph(fmt.Sprintf("Every arm is compared with %s on the same inputs, trial by trial.", s.Baseline.Tag.Label()))
	}
}

func (s study) explainMeasured(t *terminal) {
	t.heading("Measured on")
	for _, f := range s.facts() {
		t.item(f.Name+":", "", f.Text)
	}
	if len(s.Experiment.Arms) > 0 && !s.ofEndpoints() {
		e := s.Experiment.Arms[0].Engine
		t.item("Servers:", "", fmt.Sprintf("%s, %d × %s each", analysis.Plural(e.Replicas, "replica"), max(e.TensorParallelSize, 1), label(e.GPU)))
	}
	for _, v := range s.versions() {
		t.item(v.Component+":", "", v.Versions)
	}
	v := s.validity()
	t.item("Cells:", "", fmt.Sprintf("%d of %d valid", v.Valid, v.Total))
}

// explainEngaged tells of each arm whether what it promised engaged, and what else did.
func (s study) explainEngaged(t *terminal) {
	t.heading("Engaged")
	var without []string
	for _, a := range s.Arms {
		var promised []string
		for _, c := range a.Cells {
			promised = c.Mechanisms.Promised
		}
		seen := a.mechanismsBeside(promised)
		if len(promised) == 0 && seen == "" {
			without = append(without, a.Tag.Label())
			continue
		}
		t.name(a.Tag.Label())
		for _, p := range promised {
			kept := 0
			for _, c := range a.Cells {
				if c.Holds(p) {
					kept++
				}
			}
			text := fmt.Sprintf("%s in %d of %s", label(p), kept, analysis.Plural(len(a.Cells), "cell"))
			if did := a.mechanismsOf(p); did != "" {
				text += ": " + did
			}
			if kept == len(a.Cells) {
				t.item("engaged", good, text)
			} else {
				t.item("promised, did not always engage", bad, text)
			}
		}
		if seen != "" {
			t.item("not promised", "", seen)
		}
	}
	if without != nil {
		t.paragraph("Nothing to engage in " + list(without) + ".")
	}
}

// mechanismsOf writes what the promised mechanism did: a value a trial.
func (a arm) mechanismsOf(promise string) string {
	var told []string
	within := false
	for _, column := range mechanismColumns {
		if column.promise != "" {
			within = column.promise == promise
		}
		if within {
			told = a.appendMechanism(told, column)
		}
	}
	return strings.Join(told, "; ")
}

// mechanismsBeside writes the first figure of each mechanism that was not promised.
func (a arm) mechanismsBeside(promised []string) string {
	var told []string
	for _, column := range mechanismColumns {
		if column.promise != "" && !slices.Contains(promised, column.promise) {
			told = a.appendMechanism(told, column)
		}
	}
	return strings.Join(told, "; ")
}

// explainedTrials is of how many trials a mechanism is told one by one.
const explainedTrials = 5

func (a arm) appendMechanism(told []string, column mechanismColumn) []string {
	var values []string
	for _, c := range a.Cells {
		if e, ok := column.of(c.Mechanisms); ok {
			values = append(values, e.Text)
		}
	}
	if values == nil {
		return told
	}
	if len(values) > explainedTrials {
		values = append(values[:explainedTrials], "…")
	}
	return append(told, lowerFirst(column.head)+" "+strings.Join(values, ", "))
}

// lowerFirst is a heading in the middle of a sentence; abbreviations stay as they are.
func lowerFirst(head string) string {
	first, _, _ := strings.Cut(head, " ")
	if first == strings.ToUpper(first) {
		return head
	}
	return strings.ToLower(head[:1]) + head[1:]
}

// explainConcluded gives the sentences of the report, and of each arm what is tested.
func (s study) explainConcluded(t *terminal) {
	t.heading("Concluded")
	t.paragraph(s.interactiveSentence())
	if text := s.batchSentence(); text != "" {
		t.paragraph(text)
	}
	before, reasons := "", map[string]bool{}
	for _, c := range s.comparisons() {
		if s.many() && c.Metric != metricName(s.primary()) {
			continue // a sweep tells the metric of the first sentence alone
		}
		if name := c.Arm.Label(); name != before {
			t.name(name)
			before = name
		}
		text := fmt.Sprintf("%s: %s against %s, %s", c.Metric, c.Value, c.Baseline, c.Ratio)
		if c.Interval != dash {
			text += ", 95\u00a0% CI " + c.Interval
		}
		text += fmt.Sprintf(", n\u00a0=\u00a0%d", c.Pairs)
		if c.P != dash {
			text += ", adjusted p " + c.P
		}
		if c.Reason != "" && !reasons[c.Reason] { // the same reason is told once
			text += "; " + c.Reason
			reasons[c.Reason] = true
		}
		t.item(c.Verdict, styleOf(c.Verdict), text)
	}
}

// explainLeftOut names the cells that no figure is made of, each check with its trials.
func (s study) explainLeftOut(t *terminal) {
	v := s.validity()
	warnings := s.warnings()
	if v.Failures == nil && warnings == nil {
		return
	}
	t.heading("Left out, and to be known")
	type cause struct{ arm, check string }
	var order []cause
	trials, evidence := map[cause][]string{}, map[cause]string{}
	for _, f := range v.Failures {
		at := cause{f.Arm.Label(), f.Check}
		if trials[at] == nil {
			order = append(order, at)
			evidence[at] = f.Evidence
		}
		trials[at] = append(trials[at], fmt.Sprint(f.Trial))
	}
	for _, at := range order {
		text := fmt.Sprintf("%s, trial %s: %s: %s", at.arm, strings.Join(trials[at], ", "), at.check, evidence[at])
		if len(trials[at]) > 1 {
			text += " (trial " + trials[at][0] + ")"
		}
		t.item("INVALID", bad, text)
	}
	for _, text := range warnings {
		t.item("warning", open, text)
	}
}

// explainChange says what it would take to conclude otherwise, or at all.
func (s study) explainChange(t *terminal) {
	t.heading("What would change it")
	told := false
	most, family := 0, 0
	var reasons []string
	unknown := map[string]int{} // comparisons of which nothing is known, by reason
	for _, a := range s.Arms {
		named := false
		for _, key := range slices.SortedFunc(maps.Keys(a.Against), s.byImportance) {
			c := a.Against[key]
			if c.Verdict == "" || key != s.primary() && (c.Verdict != analysis.VerdictNoConclusion || s.many()) {
				continue
			}
			text := s.standing(c)
			if c.Verdict == analysis.VerdictNoConclusion {
				n := s.TrialsNeeded(a.ArmResult, key)
				if n.Toward == "" {
					if reason := prose(n.Reason); unknown[reason] == 0 {
						reasons = append(reasons, reason)
					}
					unknown[prose(n.Reason)]++
					continue
				}
				text = trialsInWords(n, c)
				most, family = max(most, n.Trials), n.Family
			}
			if text == "" {
				continue
			}
			if !named {
				t.name(a.Tag.Label())
				named = true
			}
			t.item(c.Verdict, styleOf(c.Verdict), metricName(key)+": "+text)
			told = true
		}
	}
	for _, reason := range reasons {
		t.paragraph(fmt.Sprintf("%s: %s.", analysis.Plural(unknown[reason], "comparison"), reason))
		told = true
	}
	if v := s.validity(); v.Valid < v.Total {
		told = true
		t.paragraph(fmt.Sprintf("%d of %s INVALID: once the cause is gone, remove their folders and run the experiment again; the others stay.",
			v.Total-v.Valid, analysis.Plural(v.Total, "cell")))
	}
	if missing := s.Experiment.Trials*len(s.Arms) - len(s.Results.Cells); missing > 0 {
		told = true
		t.paragraph(analysis.Plural(missing, "cell") + " did not run: the same command goes on with them.")
	}
	if family > 0 {
		t.paragraph(fmt.Sprintf("Trials needed are those with which the one-sided test finds it in 80 of 100 runs, even as the first of %s under Holm. "+
			"That takes the ratio seen to be the true one and further trials to vary as those seen do; the number with caution takes the standard deviation of the log ratios to be at its upper 80\u00a0%% bound, because few trials know it badly.",
			analysis.Plural(family, "test")))
	}
	if most > s.Experiment.Trials {
		t.paragraph("To run as many, in the folder of bgbench, EXPERIMENT being the path of the experiment.yaml beside results.json:")
		t.command(fmt.Sprintf("make -f pipelines/experiment.mk EXPERIMENT=experiment.yaml SETS=trials=%d OUT=results/more", most))
	}
	if !told {
		t.paragraph("Nothing that was tested is open.")
	}
}

// standing says for which margins a verdict would have been the same.
func (s study) standing(c analysis.Comparison) string {
	line := 1 + s.Experiment.Margin
	switch {
	case c.Verdict == analysis.VerdictProtected && c.OneSidedHigh != nil:
		return fmt.Sprintf("by itself it holds for margins of %s or more (one-sided 95\u00a0%% bound ×%s)",
			tenthOfPercent(math.Ceil, max(*c.OneSidedHigh-1, 0)), beside(*c.OneSidedHigh, line))
	case c.Verdict == analysis.VerdictDegraded && c.OneSidedLow != nil:
		return fmt.Sprintf("by itself it holds for margins up to %s (one-sided 95\u00a0%% bound ×%s)",
			tenthOfPercent(math.Floor, *c.OneSidedLow-1), beside(*c.OneSidedLow, line))
	}
	return ""
}

// tenthOfPercent rounds a share to the side on which what is said of it stays true.
func tenthOfPercent(side func(float64) float64, share float64) string {
	return declared(side(1000*share)/10) + "\u00a0%"
}

// trialsInWords says how many trials a comparison needs for the verdict of its ratio.
func trialsInWords(n analysis.Needed, c analysis.Comparison) string {
	inAll := func(trials int) string {
		if trials == 0 {
			return fmt.Sprintf("more than %d", analysis.MostTrials)
		}
		return fmt.Sprint(trials)
	}
	text := fmt.Sprintf("if %s is the true ratio, %s takes %s trials in all", times(*c.Ratio), n.Toward, inAll(n.Trials))
	if n.Trials > 0 {
		text += fmt.Sprintf(" (%d more), with caution %s", max(n.Trials-c.Pairs, 0), inAll(n.Cautious))
	} else {
		text += ", so close to the margin does it lie"
	}
	return text + "; sd of the log ratios " + significant(n.SD)
}
