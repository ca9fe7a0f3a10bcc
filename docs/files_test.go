package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/analysis"
	"bgbench/pkg/deploy"
	"bgbench/pkg/gosource"
	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

const filesPageIntro = `# Files, column by column

Every column of the Parquet files and every field of the JSON files that an experiment leaves. This page is made
of the code: ` + "`go test ./docs -update`" + ` writes it. How figures are computed is told in [results.md](results.md), what is in
metrics in [metrics.md](metrics.md), and the JSON Schema of results.json is
[results.schema.json](results.schema.json).

Names end in their unit: ` + "`_s`" + ` seconds, ` + "`_ns`" + ` nanoseconds, ` + "`_per_s`" + ` a second, ` + "`_ratio`" + ` a share of 1, ` + "`_at`" + ` an instant in UTC. Instants are
timestamps of microseconds. Durations come from the monotonic clock and are never a difference of instants. A value that does not
exist is null, never 0.
`

// TestFilesAreThoseOfTheCode makes files.md.
func TestFilesAreThoseOfTheCode(t *testing.T) {
	f := newFilesPage(t)
	f.WriteString(filesPageIntro)
	f.parquet("requests.parquet", "A row for each attempt of each request.", reflect.TypeFor[record.Request]())
	f.parquet("jobs.parquet", "A row for each poll of a batch job; the last row of a job is its end.", reflect.TypeFor[record.Job]())
	f.parquet("metrics.parquet", "A row for each value of each series.", reflect.TypeFor[record.Sample]())
	f.parquet("summary.parquet", "A row for each number of each cell, INVALID cells included.", reflect.TypeFor[analysis.SummaryRow]())
	f.json("results.json", "What `bg-analyze compare` writes.", reflect.TypeFor[analysis.Results]())
	f.json("run-metadata.json", "What a cell was and how its run went.", reflect.TypeFor[record.Metadata]())
	f.json("stack.json", "What `bg-deploy up` brought up.", reflect.TypeFor[deploy.Stack]())
	f.json("inputs.json", "What is in a folder of inputs.", reflect.TypeFor[inputs.Manifest]())
	f.json("prompts.jsonl", "A line for each system prompt, then one for each prompt.", reflect.TypeFor[inputs.SystemPrompt](), reflect.TypeFor[inputs.Prompt]())
	f.json("schedule.jsonl", "A line for each request that is due.", reflect.TypeFor[inputs.Due]())
	f.json("disturbances.jsonl", "On a cluster, a line for each thing that happened to the stack while it was measured.", reflect.TypeFor[record.Disturbance]())
	f.WriteString("\nA `job-NAME.jsonl` is an input file of the OpenAI Batch API.\n")
	isGenerated(t, "docs/files.md", f.String())
}

// filesPage is the page in the making.
type filesPage struct {
	strings.Builder
	t        *testing.T
	comments map[string]gosource.Comments // by package
	told     map[reflect.Type]bool
}

func newFilesPage(t *testing.T) *filesPage {
	f := &filesPage{t: t, comments: make(map[string]gosource.Comments), told: make(map[reflect.Type]bool)}
	for _, pkg := range []string{"record", "analysis", "inputs", "deploy", "spec"} {
		c, err := gosource.Read(filepath.Join(root, "pkg", pkg))
		if err != nil {
			t.Fatal(err)
		}
		f.comments["bgbench/pkg/"+pkg] = c
	}
	return f
}

// meaning of a field; none is a fault, because the page is all that some readers have.
func (f *filesPage) meaning(of reflect.Type, field, tag string) string {
	said := f.comments[of.PkgPath()].Meaning(of, field, tag)
	if said == "" {
		f.t.Errorf("%s.%s: found no comment, expected what it means", of, field)
	}
	return said
}

func (f *filesPage) parquet(file, about string, of reflect.Type) {
	fmt.Fprintf(f, "\n## %s\n\n%s\n\n", file, about)
	out := newTable("column", "type", "null", "meaning")
	for i := range of.NumField() {
		field := of.Field(i)
		nullable := ""
		if field.Type.Kind() == reflect.Pointer {
			nullable = "yes"
		}
		out.row(code(gosource.Key(field, "parquet")), parquetType(field.Type), nullable, f.meaning(of, field.Name, "parquet"))
	}
	f.WriteString(out.String())
}

func parquetType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return parquetType(t.Elem())
	case reflect.Slice:
		return "list of " + parquetType(t.Elem())
	case reflect.Struct:
		return "timestamp" // of time.Time; pkg/record has no other
	case reflect.Float64:
		return "double"
	case reflect.Float32:
		return "float"
	}
	return t.Kind().String()
}

// json tells of a file and of the types that it is made of, each of which once on the page.
func (f *filesPage) json(file, about string, of ...reflect.Type) {
	fmt.Fprintf(f, "\n## %s\n\n%s\n", file, about)
	for i, t := range of {
		if i > 0 || len(of) > 1 {
			f.heading(t)
		}
		f.object(t)
	}
}

func (f *filesPage) heading(t reflect.Type) {
	fmt.Fprintf(f, "\n### %s\n\n%s\n", t.Name(), f.comments[t.PkgPath()].Type(t))
}

func (f *filesPage) object(of reflect.Type) {
	f.told[of] = true
	out := newTable("field", "type", "meaning")
	var parts []reflect.Type
	for i := range of.NumField() {
		field := of.Field(i)
		key := gosource.Key(field, "json")
		if key == "" {
			continue
		}
		out.row(code(key), jsonType(field.Type), f.meaning(of, field.Name, "json"))
		if p := objectIn(field.Type); p != nil && !f.told[p] {
			f.told[p] = true
			parts = append(parts, p)
		}
	}
	f.WriteString("\n" + out.String())
	for _, p := range parts {
		f.heading(p)
		f.object(p)
	}
}

// objectIn is the object of ours that a field holds, alone, in a list or in a mapping;
// those of specs are told in configuration.md.
func objectIn(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "bgbench/") && !ofSpecs(t) {
		return t
	}
	return nil
}

func ofSpecs(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[spec.Arm]().PkgPath() }

func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "instant"
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return "any"
	case t.Kind() == reflect.Pointer:
		return jsonType(t.Elem()) + " or null"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		return "list of " + jsonType(t.Elem())
	case t.Kind() == reflect.Map:
		return "mapping to " + jsonType(t.Elem())
	case t.Kind() == reflect.Struct && ofSpecs(t):
		return fmt.Sprintf("[%s](configuration.md)", t.Name())
	case t.Kind() == reflect.Struct:
		return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
	}
	return typeName(t)
}

// TestResultsPageNamesFieldsThatExist holds the tables of results.md against the schema.
func TestResultsPageNamesFieldsThatExist(t *testing.T) {
	known := make(map[string]bool)
	var schema struct {
		Properties map[string]any
		Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	data, err := os.ReadFile("results.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for name := range schema.Properties {
		known[name] = true
	}
	for _, d := range schema.Defs {
		for name := range d.Properties {
			known[name] = true
		}
	}
	page, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	var ofFields bool
	seen := 0
	for i, line := range strings.Split(string(page), "\n") {
		first, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		switch {
		case strings.HasPrefix(line, "|---"):
		case !ok || !strings.HasPrefix(line, "| "):
			ofFields = false
		case first == "field":
			ofFields = true
		case ofFields:
			for _, m := range inlineCode.FindAllStringSubmatch(first, -1) {
				seen++
				if !known[m[1]] {
					t.Errorf("docs/results.md:%d: found field %s, expected one of results.schema.json", i+1, m[1])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("docs/results.md: found %d fields in its tables, expected over a hundred", seen)
	}
}
