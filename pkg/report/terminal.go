package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bgbench/pkg/analysis"
)

// terminal writes text in lines of at most width characters.
type terminal struct {
	out    io.Writer
	width  int
	colour bool
	begun  bool
}

// Styles are parameters of the escape sequence that selects them (ECMA-48, SGR).
const (
	bold = "1"
	bad  = "31" // red
	good = "32" // green
	open = "33" // yellow
)

// styleOf is the style of a verdict.
func styleOf(verdict string) string {
	switch verdict {
	case analysis.VerdictProtected:
		return good
	case analysis.VerdictDegraded:
		return bad
	}
	return open
}

// narrowest: below that, lines are longer than the terminal is wide.
const narrowest = 40

func (t *terminal) styled(text, style string) string {
	if !t.colour || style == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// heading begins a part.
func (t *terminal) heading(text string) {
	if t.begun {
		fmt.Fprintln(t.out)
	}
	t.begun = true
	fmt.Fprintln(t.out, t.styled(text, bold))
}

func (t *terminal) paragraph(text string) {
	for _, line := range t.wrap(text, 2) {
		fmt.Fprintln(t.out, "  "+line)
	}
}

// name begins what is said of an arm.
func (t *terminal) name(text string) { fmt.Fprintf(t.out, "  %s\n", t.styled(text, bold)) }

// item is a label in a style, and text after it.
func (t *terminal) item(label, style, text string) {
	for i, line := range t.wrap(label+"\u00a0 "+text, 6) {
		if i == 0 {
			fmt.Fprintln(t.out, "    "+t.styled(label, style)+strings.TrimPrefix(line, label))
			continue
		}
		fmt.Fprintln(t.out, "      "+line)
	}
}

// command is a line to be copied, however long.
func (t *terminal) command(text string) { fmt.Fprintf(t.out, "    %s\n", text) }

// wrap breaks text at spaces, so that no line is longer than the width less the indent; a
// no-break space is none of them. A longer word has a line of its own.
func (t *terminal) wrap(text string, indent int) []string {
	room := max(t.width, narrowest) - indent
	var lines []string
	line, length := "", 0
	for word := range strings.SplitSeq(text, " ") {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > room {
			lines = append(lines, line)
			line, length = "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = strings.TrimRight(strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(lines[i]), " ")
	}
	return lines
}
