package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/gosource"
	"bgbench/pkg/spec"
)

// schemaFile is the JSON Schema of results.json. The Go types are the source: run
// go test ./pkg/analysis -run Schema -update after a change of them.
const schemaFile = "../../docs/results.schema.json"

func TestSchemaIsThatOfTheTypes(t *testing.T) {
	schema, err := schemaOf(reflect.TypeFor[Results]())
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs from the types (go test ./pkg/analysis -run Schema -update writes it):\n%s", schemaFile, diff)
	}
}

// shipped is the schema as readers have it.
func shipped(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// toyResults is the results.json of the experiment with known answers.
func toyResults(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := analysistest.Write(dir, nil); err != nil {
		t.Fatal(err)
	}
	r, err := Compare(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestResultsHoldTheSchema(t *testing.T) {
	schema := shipped(t)
	data := toyResults(t)
	holds := func(text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	if err := holds(string(data)); err != nil {
		t.Fatal(err)
	}
	// What an arm has of mechanisms is there or absent, and an SLO is one or null.
	cell := analysistest.New(analysistest.S2, 1)
	cell.Arm(func(a *spec.Arm) { a.Gateway.Concurrency.AIMD.Enabled = true })
	var withAIMD Results
	if err := json.Unmarshal(data, &withAIMD); err != nil {
		t.Fatal(err)
	}
	withAIMD.Cells = []CellResult{mustSummarize(t, cell)}
	if withAIMD.Cells[0].Mechanisms.AIMD == nil {
		t.Fatal("the cell has no AIMD")
	}
	if err := holds(encode(t, withAIMD)); err != nil {
		t.Errorf("a cell with AIMD: %v", err)
	}
	for _, c := range []struct{ name, old, new string }{
		{"another version", `"bgbench.results/1"`, `"bgbench.results/0"`},
		{"a trial that is no number", `"trial":1,`, `"trial":"one",`},
		{"a value that is left out", `"valid":true,`, ``},
		{"a key that there is not", `"valid":true,`, `"valid":true,"sound":true,`},
	} {
		changed := strings.Replace(string(data), c.old, c.new, 1)
		if changed == string(data) {
			t.Fatalf("%s: the results have no %s", c.name, c.old)
		}
		if holds(changed) == nil {
			t.Errorf("%s holds the schema", c.name)
		}
	}
}

// schemaOf is the schema of a type, with a definition for each type of ours in it.
func schemaOf(root reflect.Type) (*jsonschema.Schema, error) {
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[spec.Duration](): {Type: "string", Description: "duration such as 1m30s"},
	}
	types := make(map[string]reflect.Type)
	if err := collect(root, known, types); err != nil {
		return nil, err
	}
	references := maps.Clone(known)
	for name, of := range types {
		references[of] = &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	definitions := make(map[string]*jsonschema.Schema)
	for name, of := range types {
		others := maps.Clone(references)
		delete(others, of)
		s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: others})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		definitions[name] = s
	}
	for _, d := range definitions {
		for _, p := range d.Properties {
			nullable(p)
		}
	}
	if err := say(definitions, types); err != nil {
		return nil, err
	}
	out := definitions[typeName(root)]
	delete(definitions, typeName(root))
	out.Schema, out.ID = "https://json-schema.org/draft/2020-12/schema", "urn:bgbench:results:1"
	out.Title = "results.json of bgbench"
	out.Description = "What bg-analyze compare writes. docs/results.md says what each field means."
	version := any(SchemaVersion)
	out.Properties["schema_version"].Const = &version
	out.Defs = definitions
	return out, nil
}

// nullable lets a pointer to one of our types be null or what it points to: the library
// gives it the type null alone, beside the reference.
func nullable(s *jsonschema.Schema) {
	if s.Ref != "" && slices.Equal(s.Types, []string{"null"}) {
		s.AnyOf = []*jsonschema.Schema{{Type: "null"}, {Ref: s.Ref}}
		s.Types, s.Ref = nil, ""
	}
}

// say puts what the comments of the types say into the schema.
func say(definitions map[string]*jsonschema.Schema, types map[string]reflect.Type) error {
	comments := make(map[string]gosource.Comments)
	for name, of := range types {
		pkg := of.PkgPath()
		if comments[pkg] == nil {
			var err error
			if comments[pkg], err = gosource.Read("../" + strings.TrimPrefix(pkg, "bgbench/pkg/")); err != nil {
				return err
			}
		}
		d := definitions[name]
		d.Description = comments[pkg].Type(of)
		for i := range of.NumField() {
			f := of.Field(i)
			if key := gosource.Key(f, "json"); key != "" {
				p := *d.Properties[key] // one reference may stand in many places
				if p.Description = comments[pkg].Meaning(of, f.Name, "json"); p.Description == "" {
					return fmt.Errorf("%s.%s: found no comment, expected what it means", name, f.Name)
				}
				d.Properties[key] = &p
			}
		}
	}
	return nil
}

func typeName(t reflect.Type) string {
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	return pkg + "." + t.Name()
}

// collect finds the structs of ours that a type is made of.
func collect(t reflect.Type, known map[reflect.Type]*jsonschema.Schema, to map[string]reflect.Type) error {
	if known[t] != nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return collect(t.Elem(), known, to)
	case reflect.Struct:
		if !strings.HasPrefix(t.PkgPath(), "bgbench/") {
			return nil
		}
		name := typeName(t)
		if first, ok := to[name]; ok {
			if first != t {
				return fmt.Errorf("%s: two types have this name", name)
			}
			return nil
		}
		if t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
			return fmt.Errorf("%s: it writes its own JSON, expected a schema of it among the known ones", name)
		}
		to[name] = t
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				if err := collect(f.Type, known, to); err != nil {
					return err
				}
			}
		}
	default:
		if slices.Contains([]reflect.Kind{reflect.Func, reflect.Chan}, t.Kind()) {
			return fmt.Errorf("%v has no JSON", t)
		}
	}
	return nil
}
