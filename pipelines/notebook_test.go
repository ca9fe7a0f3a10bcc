package pipelines

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The notebooks are kept with their outputs, small, and say that they agree with the
// results; make notebooks executes them.
func TestNotebooksAreKeptWithWhatTheyFound(t *testing.T) {
	files, err := filepath.Glob("notebooks/*.ipynb")
	if err != nil || len(files) != 2 {
		t.Fatalf("found %v (%v), expected two notebooks", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var notebook struct {
			Cells []struct {
				Type    string `json:"cell_type"`
				Outputs []struct {
					Kind string   `json:"output_type"`
					Text []string `json:"text"`
				} `json:"outputs"`
			} `json:"cells"`
		}
		if err := json.Unmarshal(text, &notebook); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		said := ""
		for _, cell := range notebook.Cells {
			for _, output := range cell.Outputs {
				if said += strings.Join(output.Text, ""); output.Kind == "error" {
					t.Errorf("%s: a cell failed", file)
				}
			}
		}
		if !strings.Contains(said, "medians agree with results.json to the last digit") {
			t.Errorf("%s says %q", file, said)
		}
		if len(text) > 64<<10 {
			t.Errorf("%s has %d bytes with its outputs, expected 64 KiB at most", file, len(text))
		}
	}
}
