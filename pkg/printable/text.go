package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines shows the characters of text that draw nothing or turn its direction by their
// code points; line breaks and tabs stay.
func Lines(text string) string {
	return replace(text, func(r rune) bool { return r == '\n' || r == '\t' })
}

// Line is Lines in one line: breaks and tabs become spaces.
func Line(text string) string {
	return replace(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text), func(rune) bool { return false })
}

func replace(text string, stays func(rune) bool) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) && r != '\u00a0' && !stays(r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, odd) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text { // of a byte that is no text, the replacement character
		if odd(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
