package gosource

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const source = `package toy

// Cell is one of many.
type Cell struct {
	// Start is when it began, in s; End comes later
	// than Start.
	Start float64 ` + "`json:\"start_s\"`" + `
	End, Last float64 ` + "`json:\"end_s\"`" + ` // after Start
	Silent int
}

type alias = int
`

// Cell has the fields of the source above.
type Cell struct {
	Start  float64 `json:"start_s"`
	End    float64 `json:"end_s,omitempty"`
	Silent int     `json:"-"`
}

func TestCommentsAreReadInTheWordsOfTheFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"toy.go": source, "toy_test.go": "package toy\n\n// Cell is a lie.\ntype Cell struct{ Start int }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	cell := reflect.TypeFor[Cell]()
	if got := c.Type(cell); got != "Cell is one of many." {
		t.Errorf("the type: %q", got)
	}
	for field, want := range map[string]string{
		"Start":  "`start_s` is when it began, in s; `end_s` comes later than `start_s`.",
		"End":    "after `start_s`",
		"Silent": "",
	} {
		if got := c.Meaning(cell, field, "json"); got != want {
			t.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
	for field, want := range map[string]string{"Start": "start_s", "End": "end_s", "Silent": ""} {
		f, _ := cell.FieldByName(field)
		if got := Key(f, "json"); got != want {
			t.Errorf("key of %s: got %q, want %q", field, got, want)
		}
	}
}

func TestAFolderWithoutTypesIsAnError(t *testing.T) {
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "found no struct types") {
		t.Errorf("got %v", err)
	}
}
