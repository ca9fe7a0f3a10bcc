package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, fixture()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.md", b.Bytes())
}

func TestHostileNamesDoNotBreakTheTable(t *testing.T) {
	var b bytes.Buffer
	results, _ := hostile(t)
	if err := Markdown(&b, results); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	columns := 0
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		n := strings.Count(line, "|") - strings.Count(line, `\|`)
		if columns == 0 {
			columns = n
		}
		if n != columns {
			t.Errorf("a row with %d bars among rows with %d: %.80s", n, columns, line)
		}
	}
	for _, bad := range []string{"<script", "<img", "\u202e", "\n# heading", " *bold*", " [link]"} {
		if strings.Contains(text, bad) {
			t.Errorf("the summary holds %q", bad)
		}
	}
}
