package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The cases were recorded from vLLM's own scheduler classes at commit
// 017e9f4448b700e85ee16023287b025693c72b9e.
func TestTheSchedulerEqualsVLLMStepForStep(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 88 {
		t.Fatalf("found %d cases, expected 88", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			diffs, err := Conform(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range diffs {
				t.Error(d)
			}
		})
	}
}
