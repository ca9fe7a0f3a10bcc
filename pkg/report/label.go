package report

import "bgbench/pkg/printable"

// How many characters of a text the page shows in place. A name that is longer is
// the title of what is shown and stands whole in the configuration.
const (
	maxLabel = 64
	maxProse = 600
)

// label makes a name that came from outside fit to stand in a line.
func label(name string) string { return visible(name, maxLabel) }

// prose makes a reason, a question or a warning fit to stand in a paragraph.
func prose(text string) string { return visible(text, maxProse) }

// shortened cuts the middle out of a name: points of a sweep differ in their ends.
func shortened(name string, limit int) string {
	r := []rune(name)
	if len(r) <= limit {
		return name
	}
	head := (limit - 1) / 3
	return string(r[:head]) + "…" + string(r[len(r)-(limit-1-head):])
}

// visible shows characters that draw nothing or turn the direction of the text by
// their code point, and cuts text after limit characters.
func visible(text string, limit int) string {
	n := 0
	for i := range text {
		if n == limit {
			return printable.Line(text[:i]) + "…"
		}
		n++
	}
	return printable.Line(text)
}
