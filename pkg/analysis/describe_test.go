package analysis

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"bgbench/pkg/spec"
)

// docs/results.md is the schema for everyone who does not read Go.
func TestEveryFieldIsDescribed(t *testing.T) {
	text, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	fieldNames(reflect.TypeFor[Results](), names)
	if len(names) < 80 {
		t.Fatalf("found only %d fields", len(names))
	}
	for name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/results.md does not describe %s", name)
		}
	}
	summary := reflect.TypeFor[SummaryRow]()
	for i := range summary.NumField() {
		name, _, _ := strings.Cut(summary.Field(i).Tag.Get("parquet"), ",")
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/results.md does not describe column %s", name)
		}
	}
}

// fieldNames collects the JSON names of t and of what it holds. experiment.yaml has
// a description of its own.
func fieldNames(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		fieldNames(t.Elem(), names)
	case reflect.Struct:
		if t == reflect.TypeFor[spec.Experiment]() {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				names[name] = true
				fieldNames(f.Type, names)
			}
		}
	}
}
