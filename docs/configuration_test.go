package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"bgbench/pkg/cli"
	"bgbench/pkg/gosource"
	"bgbench/pkg/spec"
)

const configurationIntro = `# Configuration

Every key of an experiment, a profile and an arm, and every flag of the tools. This page is made of the
code: ` + "`go test ./docs -update`" + ` writes it. What workloads can say is told in [workloads.md](workloads.md) and
[load.md](load.md), what arms are for in [scenarios.md](scenarios.md) and [flow-control.md](flow-control.md).

Durations are written as ` + "`90s` or `1h30m`" + `. A key of a list is written with its place, counted from 0:
` + "`interactive.phases.0.rate`" + `. An unknown key is an error that names its line. ` + "`bg-gen experiments NAME`, `profiles NAME` and `arms NAME`" + `
print the resolved form with every default written out. A default is that of ` + "`base.yaml`" + ` in the catalogue; empty where there is none
and the key may be left out or must be given, as the rules of its neighbours say.
`

const filesIntro = `
Files may have a few keys more, which are resolved away:

| key | of | meaning |
|---|---|---|
| ` + "`extends`" + ` | arm | the arm that this one is laid over |
| ` + "`profileSet`" + ` | experiment | keys to change in the profile: ` + "`{batch.jobs.0.requests: 1500}`" + ` |
| ` + "`armSet`" + ` | experiment | keys to change in all arms: ` + "`{engine.replicas: 3}`" + ` |
| ` + "`sweep`" + ` | experiment | keys of arms or of the profile and the values of each: an arm for every point of the grid |

On the command line ` + "`--set KEY=VALUE`" + ` changes any key, of an experiment also ` + "`profile.KEY`, `arms.0.KEY`" + ` and what is named above.
`

// TestConfigurationIsThatOfTheCode makes configuration.md.
func TestConfigurationIsThatOfTheCode(t *testing.T) {
	comments, err := gosource.Read(filepath.Join(root, "pkg/spec"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(configurationIntro)
	for _, part := range []struct {
		title, intro string
		of           reflect.Type
		skip         []string // told elsewhere on the page, or written by the tools alone
	}{
		{"Experiment", filesIntro, reflect.TypeFor[spec.Experiment](), []string{"profile", "arms", "points", "swept"}},
		{"Profile", "", reflect.TypeFor[spec.Profile](), nil},
		{"Arm", "", reflect.TypeFor[spec.Arm](), []string{"extends"}},
	} {
		k := keys{t: t, comments: comments, defaults: defaults(t, strings.ToLower(part.title)+"s"), table: newTable("key", "type", "unit", "default", "meaning")}
		k.walk("", part.of, part.skip)
		fmt.Fprintf(&b, "\n## %s\n%s\n%s", part.title, part.intro, k.table)
	}
	_, described := tools(t)
	b.WriteString("\n## Flags\n\nEvery flag may also be given by its variable in the environment. These every command has:\n\n")
	b.WriteString(flagTable(described[toolNames[0]].Flags))
	for _, name := range toolNames {
		tool := described[name]
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n", name, strings.ToUpper(tool.Usage[:1])+tool.Usage[1:])
		for _, c := range tool.Commands {
			fmt.Fprintf(&b, "\n**%s**: %s\n", code(strings.TrimSpace(name+" "+c.Name+" "+c.Arguments)), c.Usage)
			if len(c.Flags) > 0 {
				b.WriteString("\n" + flagTable(c.Flags))
			}
		}
	}
	isGenerated(t, "docs/configuration.md", b.String())
}

func flagTable(flags []cli.Flag) string {
	out := newTable("flag", "variable", "default", "meaning")
	for _, f := range flags {
		var names []string
		for _, n := range f.Names {
			dashes := "--"
			if len(n) == 1 {
				dashes = "-"
			}
			names = append(names, code(dashes+n))
		}
		name := strings.Join(names, ", ")
		if f.Value != "" {
			name += " " + f.Value
		}
		about := f.Usage
		if f.Repeatable {
			about += "; may be given several times"
		}
		out.row(name, code(strings.Join(f.Environment, ", ")), code(f.Default), about)
	}
	return out.String()
}

// defaults are those of a folder of the catalogue.
func defaults(t *testing.T, folder string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "pkg/spec/catalog", folder, "base.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// keys writes a row for every key of a type.
type keys struct {
	t        *testing.T
	comments gosource.Comments
	defaults map[string]any
	table    *table
}

func (k keys) walk(path string, of reflect.Type, skip []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		key := gosource.Key(f, "yaml")
		if key == "" || slices.Contains(skip, key) {
			continue
		}
		at := strings.TrimPrefix(path+"."+key, ".")
		meaning := k.comments.Meaning(of, f.Name, "yaml")
		if meaning == "" {
			k.t.Errorf("%s.%s: found no comment, expected what %s means", of.Name(), f.Name, at)
		}
		inner, list := partsOf(f.Type)
		k.table.row(code(at), typeName(f.Type), unitOf(f), code(k.defaultOf(at)), meaning)
		if inner != nil {
			if list {
				at += ".N"
			}
			k.walk(at, inner, nil)
		}
	}
}

// partsOf is the struct that a field holds, one or a list of it.
func partsOf(t reflect.Type) (inner reflect.Type, list bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		list = list || t.Kind() == reflect.Slice
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, false
	}
	return t, list
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[spec.Duration]():
		return "duration"
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list of " + typeName(t.Elem())
	case t.Kind() == reflect.Struct:
		return "mapping"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "text"
	}
	return "integer"
}

func unitOf(f reflect.StructField) string { return f.Tag.Get("unit") }

// defaultOf is the value that base.yaml gives to a key, if it is one value or an empty list.
func (k keys) defaultOf(path string) string {
	if path == "name" {
		return "" // base is nobody's
	}
	var v any = k.defaults
	for key := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[key]
	}
	switch v := v.(type) {
	case nil, map[string]any:
		return ""
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return ""
	case string:
		if v == "" {
			return `""`
		}
	}
	return fmt.Sprint(v)
}
