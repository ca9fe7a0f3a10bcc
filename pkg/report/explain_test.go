package report

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bgbench/pkg/analysis"
)

// ran are results of experiments on the stack model, without what explain does not read:
// the holdback suite with 3 trials, with 5 and a margin of 15 %, with 2, and arms of the
// batch gateway whose jobs ran dry.
var ran = []string{"open", "verdict", "two-trials", "invalid"}

func readRan(t *testing.T, name string) analysis.Results {
	t.Helper()
	path := filepath.Join("testdata", "explain", name+".json.gz")
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	results, err := analysis.ReadResults(in, path)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func explained(t *testing.T, r analysis.Results, width int, colour bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := Explain(&out, r, width, colour); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExplainTellsTheStoryOfARun(t *testing.T) {
	for _, name := range ran {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("explain", name+".txt"), []byte(explained(t, readRan(t, name), 80, false)))
		})
	}
}

// oneLine is a text as it was before its lines were broken.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// The text follows the data: with the arms' times the other way round it says the opposite.
func TestExplainOfInvertedDataSaysTheOpposite(t *testing.T) {
	const conclusion, opposite = "protected interactive TTFT p95 in realtime: 230 ms", "degraded interactive TTFT p95 in realtime: 230 ms"
	r := readRan(t, "verdict")
	if text := oneLine(explained(t, r, 80, false)); !strings.Contains(text, conclusion) || strings.Contains(text, opposite) {
		t.Fatalf("of the run it says: %s", text)
	}
	for _, a := range r.Arms {
		for _, key := range slices.Collect(maps.Keys(a.Against)) {
			c := a.Against[key]
			switch c.Verdict {
			case analysis.VerdictProtected:
				c.Verdict = analysis.VerdictDegraded
			case analysis.VerdictDegraded:
				c.Verdict = analysis.VerdictProtected
			}
			for _, pair := range [][2]**float64{{&c.Low, &c.High}, {&c.OneSidedLow, &c.OneSidedHigh}, {&c.Ratio, &c.Ratio}} {
				low, high := 1 / **pair[1], 1 / **pair[0]
				*pair[0], *pair[1] = &low, &high
			}
			a.Against[key] = c
		}
	}
	text := oneLine(explained(t, r, 80, false))
	for _, want := range []string{opposite, "protected within 15 % in h1-unprotected (×0.36)", "protected interactive TTFT p95 in realtime: by itself it holds for margins of 0 % or more"} {
		if !strings.Contains(text, want) {
			t.Errorf("of inverted data it does not say %q: %s", want, text)
		}
	}
	if strings.Contains(text, conclusion) {
		t.Errorf("of inverted data it still says %q", conclusion)
	}
}

func TestExplainKeepsToTheWidth(t *testing.T) {
	for _, width := range []int{10, 40, 60, 132} {
		command := false
		for line := range strings.Lines(explained(t, readRan(t, "invalid"), width, false)) {
			command = command || strings.Contains(line, "make -f")
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, narrowest) && !command {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
	if narrow, wide := explained(t, readRan(t, "open"), 40, false), explained(t, readRan(t, "open"), 132, false); oneLine(narrow) != oneLine(wide) {
		t.Error("the words depend on the width")
	}
}

func TestExplainColoursOnlyWhenAsked(t *testing.T) {
	r := readRan(t, "verdict")
	plain, coloured := explained(t, r, 80, false), explained(t, r, 80, true)
	if strings.Contains(plain, "\x1b") {
		t.Error("there are escape sequences in plain text")
	}
	for _, want := range []string{"\x1b[32mprotected\x1b[0m", "\x1b[31mdegraded\x1b[0m", "\x1b[1mAsked\x1b[0m"} {
		if !strings.Contains(coloured, want) {
			t.Errorf("found no %q", want)
		}
	}
	for _, style := range []string{bold, bad, good, open} {
		coloured = strings.ReplaceAll(coloured, "\x1b["+style+"m", "")
	}
	if coloured = strings.ReplaceAll(coloured, "\x1b[0m", ""); coloured != plain {
		t.Error("without its escape sequences the coloured text is another one")
	}
}

// Names and reasons come from files: they must not speak to the terminal.
func TestExplainShowsEscapeSequencesOfItsInput(t *testing.T) {
	const attack = "\x1b[2J\x1b]0;title\a\r"
	r := readRan(t, "invalid")
	r.Experiment.Question, r.Experiment.Profile.Name, r.Experiment.Target = attack, attack, attack
	r.Warnings = append(r.Warnings, analysis.Warning{Arm: attack, Message: attack})
	for i := range r.Cells {
		r.Cells[i].Arm = attack
		r.Cells[i].Versions = map[string]any{"versions": map[string]any{attack: attack}}
		for j := range r.Cells[i].Checks {
			r.Cells[i].Checks[j].Name, r.Cells[i].Checks[j].Evidence = attack, attack
		}
	}
	for i := range r.Arms {
		r.Arms[i].Name = attack
	}
	r.Experiment.Arms[0].Engine.GPU = attack
	text := explained(t, r, 80, false)
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
		t.Errorf("a control character stands in the text: %q", text[max(0, i-40):i+20])
	}
}

func TestAMarginThatWasChangedIsNotCalledDeclared(t *testing.T) {
	r := fixture()
	r.Changed = []analysis.ChangedSetting{{Key: "margin", Was: "0.05", Is: "0.1", Cells: 3}}
	var explained, page strings.Builder
	if err := Explain(&explained, r, 80, false); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, r, Beside{}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, before string }{
		"explain": {explained.String(), "10 % worse counts as protected, "},
		"page":    {page.String(), "within the margin of 10 %, "},
	} {
		text := strings.Join(strings.Fields(c.text), " ")
		if strings.Contains(text, c.before+"declared before the run") || !strings.Contains(text, c.before+"changed after the first cell ran") {
			t.Errorf("%s: a margin that was changed is called declared", name)
		}
	}
}
