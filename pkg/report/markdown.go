package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"bgbench/pkg/analysis"
)

// Markdown writes the summary for a pull request: warnings, answer, table.
func Markdown(w io.Writer, results analysis.Results) error {
	s := newStudy(results)
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s\n\n", escape(label(s.Experiment.Name)))
	if question := prose(s.Experiment.Question); question != "" {
		fmt.Fprintf(&b, "> %s\n\n", escape(question))
	}
	v := s.validity()
	var warnings []string
	for _, f := range v.Failures {
		warnings = append(warnings, fmt.Sprintf("INVALID cell %s, trial %d: %s: %s", f.Arm.Label(), f.Trial, f.Check, f.Evidence))
	}
	warnings = append(warnings, s.warnings()...)
	if len(warnings) > 0 {
		b.WriteString("**Warnings**\n\n")
		for _, text := range warnings {
			fmt.Fprintf(&b, "- %s\n", escape(text))
		}
		b.WriteString("\n")
	}
	a := s.answer()
	fmt.Fprintf(&b, "**Answer.** %s\n\n", escape(a.Interactive+" "+a.Batch))
	for _, f := range a.Found {
		verdict := ""
		if f.Verdict != "" {
			verdict = f.Verdict + ": "
		}
		fmt.Fprintf(&b, "- **%s**: %s\n", escape(f.Arm.Label()), escape(verdict+f.Text))
	}
	if a.Found != nil {
		b.WriteString("\n")
	}
	b.WriteString(s.summaryMarkdown())
	fmt.Fprintf(&b, "\n%d of %s valid · target %s · profile %s · %s\n", v.Valid, analysis.Plural(v.Total, "cell"),
		escape(targetName(s.Experiment.Target)), escape(label(s.Experiment.Profile.Name)),
		s.design())
	_, err := b.WriteTo(w)
	return err
}

// summaryMarkdown is the summary table with its footnotes.
func (s study) summaryMarkdown() string {
	t := s.summary()
	var b strings.Builder
	heads := []string{"arm", "n"}
	column := 0
	for _, g := range t.Groups {
		for range g.Span {
			head := g.Title + " " + t.Heads[column]
			if g.Title == "Batch" {
				head = "Batch " + t.Heads[column]
			}
			heads = append(heads, head)
			column++
		}
	}
	for i := range heads {
		heads[i] = escape(heads[i])
	}
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), " --- |"+strings.Repeat(" --- |", len(heads)-1))
	for _, r := range t.Rows {
		name := escape(r.Arm.Label())
		if r.Base {
			name += " (baseline)"
		}
		n := fmt.Sprint(r.Trials)
		if r.Invalid > 0 {
			n += fmt.Sprintf(" (%d invalid)", r.Invalid)
		}
		cells := []string{name, n}
		for _, c := range r.Cells {
			cells = append(cells, escape(c.plain()))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString("\nMedian over valid trials (smallest–largest trial, change against the baseline, verdict).\n")
	for i, note := range t.Notes {
		fmt.Fprintf(&b, "[%d] %s  \n", i+1, escape(note))
	}
	return b.String()
}

// escape keeps text from being read as Markdown or HTML.
func escape(text string) string {
	return markdownEscapes.Replace(text)
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`, "#", `\#`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "://", ":&#47;&#47;",
)
