package report

import (
	"fmt"
	"math"
	"strings"

	"bgbench/pkg/analysis"
)

// summary is the table that people quote: a row an arm.
type summary struct {
	Groups []group
	Heads  []string
	Rows   []summaryRow
	Notes  []string // why a value is missing; a cell refers to one by its number
	Burst  string
	Idle   string
}

// group is a heading over several columns.
type group struct {
	Title string
	Span  int
}

type summaryRow struct {
	Arm     tag
	Trials  int
	Invalid int
	Base    bool
	Cells   []summaryCell
}

// summaryCell is one value over trials.
type summaryCell struct {
	Text    string // the median
	Range   string // min–max, or the values of two trials
	Change  string // against the baseline
	Verdict string
	Title   string // interval and n, or the reason of a missing value
	Note    int    // 1-based number of the footnote, 0 without one
	NA      bool   // the arm has no such thing
	Jobs    []summaryJob
}

// summaryJob is the end of one job: A ✓ 20m/30m.
type summaryJob struct {
	Job  string
	Met  bool
	Text string
	Why  string // it was not met, in short
	Note int    // 1-based number of the footnote that says it at length
}

func (s study) summary() summary {
	t := summary{
		Burst:  label(s.Burst),
		Idle:   label(s.Idle),
		Groups: []group{{"TTFT in " + label(s.Burst), 3}, {"ITL in " + label(s.Burst), 3}, {"Batch", 3}},
		Heads: []string{"p50", "p95", "p99", "p50", "p95", "p99",
			"req/s in " + label(s.Idle), "done / window", "TTFT p50"},
	}
	for _, a := range s.Arms {
		row := summaryRow{Arm: a.Tag, Trials: a.Trials, Invalid: a.Invalid, Base: a.ArmResult.Baseline}
		for _, metric := range []string{analysis.MetricTTFT, analysis.MetricITL} {
			for _, stat := range []string{analysis.StatP50, analysis.StatP95, analysis.StatP99} {
				row.Cells = append(row.Cells, t.value(a, analysis.MetricKey(s.Burst, "interactive", metric, stat)))
			}
		}
		if a.Batch {
			row.Cells = append(row.Cells,
				t.value(a, analysis.MetricKey(s.Idle, "batch", analysis.MetricRequestsPerS, analysis.StatValue)),
				t.jobs(a),
				t.value(a, analysis.MetricKey(analysis.PhaseAll, "batch", analysis.MetricTTFT, analysis.StatP50)))
		} else {
			none := summaryCell{Text: "N/A", NA: true, Title: "this arm runs no batch work"}
			row.Cells = append(row.Cells, none, none, none)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (t *summary) value(a arm, key string) summaryCell {
	e, ok := a.Metrics[key]
	if e.Median == nil {
		reason := e.Reason
		switch {
		case reason != "":
		case a.Trials == 0:
			reason = "no valid trial"
		case !ok:
			reason = "not measured"
		default:
			reason = "no reason was recorded"
		}
		return summaryCell{Text: dash, Title: reason, Note: t.note(reason)}
	}
	if strings.HasSuffix(e.Unit, "/s") { // the head of the column says it
		e.Unit = ""
	}
	cell := summaryCell{Text: quantity(*e.Median, e.Unit), Title: estimateTitle(e)}
	if e.TrialsUse > 1 && e.Min != nil && e.Max != nil {
		cell.Range = span(*e.Min, *e.Max, e.Unit)
	}
	if c, ok := a.Against[key]; ok && !a.ArmResult.Baseline {
		if c.Ratio != nil {
			cell.Change = change(*c.Ratio)
		}
		cell.Verdict = label(c.Verdict)
	}
	return cell
}

// estimateTitle says what stands behind a median.
func estimateTitle(e analysis.Estimate) string {
	title := "median of " + analysis.Plural(e.TrialsUse, "trial")
	if e.TrialsUse == 1 {
		title = "one trial"
	}
	if e.Low != nil && e.High != nil {
		title += fmt.Sprintf("; %.0f\u00a0%% interval of the geometric mean %s", 100*e.Level, span(*e.Low, *e.High, e.Unit))
		if e.Method != "" {
			title += " (" + e.Method + ")"
		}
	} else if e.Reason != "" {
		title += "; no interval: " + e.Reason
	}
	return title
}

func (t *summary) jobs(a arm) summaryCell {
	if len(a.Jobs) == 0 {
		reason := "no job was observed"
		if a.Trials == 0 {
			reason = "no valid trial"
		}
		return summaryCell{Text: dash, Title: reason, Note: t.note(reason)}
	}
	cell := summaryCell{}
	for _, j := range a.Jobs {
		job := jobOutcome(a, j)
		if j.CompletionS.Median == nil && j.CompletionS.Reason != "" {
			job.Note = t.note(j.CompletionS.Reason)
		}
		cell.Jobs = append(cell.Jobs, job)
	}
	return cell
}

// jobOutcome is one job over trials; it is met only if every trial met it.
func jobOutcome(a arm, j analysis.ArmJob) summaryJob {
	out := summaryJob{Job: label(j.Job), Met: j.Trials > 0 && j.Met == j.Trials}
	done := dash
	if j.CompletionS.Median != nil {
		done = clock(*j.CompletionS.Median)
	}
	out.Text = done + "/" + clock(j.WindowS)
	if out.Met {
		return out
	}
	if j.Trials == 0 {
		out.Why = "no valid trial"
		return out
	}
	lines, late, unfinished := 0, 0, 0
	fewest, most, total := int64(math.MaxInt64), int64(0), int64(0)
	for _, c := range a.valid() {
		for _, one := range c.Jobs {
			switch {
			case one.Job != j.Job || one.Met:
			case one.CompletionS.Value == nil:
				unfinished++
			case failedLines(one):
				lines++
				fewest, most, total = min(fewest, one.Failed), max(most, one.Failed), max(total, one.Total)
			default:
				late++
			}
		}
	}
	var parts []string
	in := func(n int, what string) {
		switch {
		case n == 0:
		case n == j.Trials:
			parts = append(parts, what)
		default:
			parts = append(parts, fmt.Sprintf("%s in %d of %s", what, n, analysis.Plural(j.Trials, "trial")))
		}
	}
	if lines > 0 {
		failed := count(fewest)
		if most > fewest {
			failed += "–" + count(most)
		}
		in(lines, failed+" of "+count(total)+" lines failed")
	}
	in(late, "late")
	in(unfinished, "unfinished")
	if out.Why = strings.Join(parts, "; "); out.Why == "" {
		out.Why = fmt.Sprintf("met in %d of %s", j.Met, analysis.Plural(j.Trials, "trial"))
	}
	return out
}

// note returns the number of the footnote that says reason.
func (t *summary) note(reason string) int {
	reason = prose(reason)
	for i, known := range t.Notes {
		if known == reason {
			return i + 1
		}
	}
	t.Notes = append(t.Notes, reason)
	return len(t.Notes)
}

// plain is a cell as one line of text.
func (c summaryCell) plain() string {
	if c.Jobs != nil {
		var jobs []string
		for _, j := range c.Jobs {
			mark := "✓"
			if !j.Met {
				mark = "✗"
			}
			text := j.Job + " " + mark + " " + j.Text
			if j.Why != "" {
				text += " (" + j.Why + ")"
			}
			if j.Note > 0 {
				text += fmt.Sprintf(" [%d]", j.Note)
			}
			jobs = append(jobs, text)
		}
		return strings.Join(jobs, "; ")
	}
	text := c.Text
	if c.Note > 0 {
		text += fmt.Sprintf(" [%d]", c.Note)
	}
	var extra []string
	if c.Range != "" {
		extra = append(extra, c.Range)
	}
	if c.Change != "" {
		extra = append(extra, c.Change)
	}
	if c.Verdict != "" {
		extra = append(extra, c.Verdict)
	}
	if extra != nil {
		text += " (" + strings.Join(extra, ", ") + ")"
	}
	return text
}
