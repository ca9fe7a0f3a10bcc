package printable

import "testing"

func TestTextFromElsewhere(t *testing.T) {
	for name, c := range map[string]struct{ text, lines, line string }{
		"plain text stays":                   {"no such model: größer 模型", "no such model: größer 模型", "no such model: größer 模型"},
		"a colour is shown, not used":        {"\x1b[31mred\x1b[0m", "<U+001B>[31mred<U+001B>[0m", "<U+001B>[31mred<U+001B>[0m"},
		"a return does not overwrite a line": {"valid\rINVALID", "valid<U+000D>INVALID", "valid<U+000D>INVALID"},
		"the direction is not turned":        {"a\u202eb", "a<U+202E>b", "a<U+202E>b"},
		"C1 controls count":                  {"a\u009b31mb", "a<U+009B>31mb", "a<U+009B>31mb"},
		"lines and tabs stay in Lines":       {"a\n\tb", "a\n\tb", "a  b"},
		"bytes that are no text":             {"a\xffb", "a\ufffdb", "a\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Lines(c.text); got != c.lines {
				t.Errorf("Lines: found %q, want %q", got, c.lines)
			}
			if got := Line(c.text); got != c.line {
				t.Errorf("Line: found %q, want %q", got, c.line)
			}
		})
	}
}
