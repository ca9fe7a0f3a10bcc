//go:build published

package pipelines

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bgbench/pkg/analysis"
)

var (
	results = flag.String("results", "../results", "folder of the experiments that make published has run")
	update  = flag.Bool("update", false, "write what the model gives into docs/model.md")
)

const document = "../docs/model.md"

// The table of the document stands between these two lines.
const (
	tableBegin = "<!-- published: begin (make published UPDATE=1 writes it) -->\n"
	tableEnd   = "<!-- published: end -->\n"
)

// TestTheModelReproducesPublishedRuns holds every row of published against the model:
// its direction and its size within the band that the row states. The model's runs
// repeat byte for byte, so the document must show the very same figures.
func TestTheModelReproducesPublishedRuns(t *testing.T) {
	runs := map[string]analysis.Results{}
	var table strings.Builder
	table.WriteString("| run | published | model | band |\n|---|---|---|---|\n")
	for _, row := range published {
		model, err := row.model(runs)
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
			continue
		}
		if model < row.low || model > row.high {
			t.Errorf("%s: published %s, the model gives %s, expected %s", row.what, row.published, row.format(model), row.band())
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", row.what, row.published, row.format(model), row.band())
	}
	if t.Failed() {
		return
	}
	compareDocument(t, table.String())
}

func compareDocument(t *testing.T, table string) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	old, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table of published runs", document)
	}
	switch {
	case old == table:
	case *update:
		if err := os.WriteFile(document, []byte(before+tableBegin+table+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows other figures than the model gives; `make published UPDATE=1` would write\n%s", document, table)
	}
}

// read reads an experiment's results once.
func read(runs map[string]analysis.Results, experiment string) (analysis.Results, error) {
	if r, ok := runs[experiment]; ok {
		return r, nil
	}
	path := filepath.Join(*results, experiment, "results.json")
	f, err := os.Open(path)
	if err != nil {
		return analysis.Results{}, err
	}
	defer f.Close()
	r, err := analysis.ReadResults(f, path)
	if err == nil {
		runs[experiment] = r
	}
	return r, err
}
