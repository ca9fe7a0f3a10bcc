package docs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"bgbench/pkg/cli"
)

// usage is what a command on a page may say.
type usage struct {
	tools   map[string]cli.Tool
	targets map[string]bool // of the Makefile
	twins   map[string]bool // BG_ variables
}

// TestCommandsOnPagesHaveTheirFlags looks up every command of ours on a page, in blocks
// that are run and in those that are not, and in running text.
func TestCommandsOnPagesHaveTheirFlags(t *testing.T) {
	u := newUsage(t)
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "sh" {
				continue
			}
			for _, fault := range u.faults(b.before + "\n" + b.text) {
				t.Errorf("%s:%d: %s", p.path, b.line, fault)
			}
		}
		for _, s := range p.spans {
			if !u.isCommand(s.text) {
				continue
			}
			for _, fault := range u.faults(s.text) {
				t.Errorf("%s:%d: `%s`: %s", p.path, s.line, s.text, fault)
			}
		}
	}
}

// twinsElsewhere are variables that are no flag's twin.
var twinsElsewhere = []string{"BG_API_KEY", "BG_MODEL_SAMPLES", "BG_SCREENSHOTS"}

func newUsage(t *testing.T) usage {
	t.Helper()
	u := usage{targets: make(map[string]bool), twins: make(map[string]bool)}
	_, u.tools = tools(t)
	for _, name := range twinsElsewhere {
		u.twins[name] = true
	}
	for _, tool := range u.tools {
		for _, c := range append(tool.Commands, cli.Command{Flags: tool.Flags}) {
			for _, f := range c.Flags {
				for _, twin := range f.Environment {
					u.twins[twin] = true
				}
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(data), -1) {
		u.targets[m[1]] = true
	}
	return u
}

// isCommand reports whether inline code is a command with more than a name.
func (u usage) isCommand(code string) bool {
	first, rest, _ := strings.Cut(code, " ")
	_, ok := u.tools[first]
	return (ok || first == "make") && rest != "" || strings.HasPrefix(first, "BG_")
}

// faults says what is wrong with the commands of ours in a script.
func (u usage) faults(script string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return []string{fmt.Sprintf("not shell: %v", err)}
	}
	var faults []string
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for _, a := range call.Assigns {
			if name := a.Name.Value; strings.HasPrefix(name, "BG_") && !u.twins[name] {
				faults = append(faults, fmt.Sprintf("%s: no flag has this twin", name))
			}
		}
		words := make([]string, len(call.Args))
		for i, w := range call.Args {
			words[i] = literal(w)
		}
		faults = append(faults, u.call(words)...)
		return true
	})
	return faults
}

// literal is the text of a word, with a value in the place of what the shell fills in.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(&syntax.Word{Parts: part.Parts}))
		default:
			b.WriteString("VALUE")
		}
	}
	return b.String()
}

func (u usage) call(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	name := strings.TrimPrefix(words[0], "bin/")
	if tool, ok := u.tools[name]; ok {
		return u.toolCall(tool, words[1:])
	}
	switch {
	case name == "make":
		return u.makeCall(words[1:])
	case strings.HasPrefix(name, "pipelines/"):
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return []string{fmt.Sprintf("found %s, expected a script of this tree", name)}
		}
	}
	return nil
}

func (u usage) makeCall(words []string) []string {
	var faults []string
	file := "Makefile"
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-f" && i+1 < len(words):
			i++
			file = words[i]
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				faults = append(faults, fmt.Sprintf("make -f: found %s, expected a file of this tree", file))
			}
		case strings.HasPrefix(w, "-"), strings.Contains(w, "="), file != "Makefile":
		case !u.targets[w]:
			faults = append(faults, fmt.Sprintf("make: found %s, expected a target of the Makefile", w))
		}
	}
	return faults
}

func (u usage) toolCall(tool cli.Tool, words []string) []string {
	command, ok := commandOf(tool, words)
	if !ok {
		if len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "man" && words[0] != "…" {
			return []string{fmt.Sprintf("%s: found %s, expected one of its commands", tool.Name, words[0])}
		}
		return nil
	}
	known := map[string]cli.Flag{"help": {}, "h": {}, "version": {}}
	for _, f := range slices.Concat(command.Flags, tool.Flags) {
		for _, n := range f.Names {
			known[n] = f
		}
	}
	var faults []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			return append(faults, u.call(words[i+1:])...)
		}
		if !strings.HasPrefix(w, "-") || w == "-" {
			continue
		}
		name, _, given := strings.Cut(strings.TrimLeft(w, "-"), "=")
		f, ok := known[name]
		if !ok {
			faults = append(faults, fmt.Sprintf("%s %s: found %s, expected one of its flags: %s",
				tool.Name, command.Name, w, strings.Join(slices.Sorted(maps.Keys(known)), " ")))
		}
		if f.Value != "" && !given {
			i++
		}
	}
	return faults
}

// commandOf is the command with the longest name that the words begin with.
func commandOf(tool cli.Tool, words []string) (best cli.Command, ok bool) {
	for _, c := range tool.Commands {
		path := strings.Fields(c.Name)
		if len(path) <= len(words) && slices.Equal(path, words[:len(path)]) && len(c.Name) > len(best.Name) {
			best, ok = c, true
		}
	}
	return best, ok
}

func TestWrongCommandsAreFound(t *testing.T) {
	u := newUsage(t)
	for script, want := range map[string]string{
		"bg-gen plan --colour x":                        "found --colour",
		"bg-gen plans x":                                "found plans, expected one of its commands",
		"x=$(bg-load run --stak stack.json)":            "found --stak",
		"a | bg-load run --stack s | bg-report html -x": "found -x",
		"bg-deploy exec --arm A -- bg-load ran":         "found ran",
		"make benchmark-lokal":                          "found benchmark-lokal",
		"pipelines/no.sh x":                             "found pipelines/no.sh",
		"BG_COLOUR=1 make test":                         "BG_COLOUR: no flag has this twin",
		"bg-gen plan 'x":                                "not shell",
	} {
		if got := u.faults(script); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: got %q, want %s", script, got, want)
		}
	}
	for _, right := range []string{
		"bg-gen inputs -p ci --set a=-b --trial 1 -o in", "bg-conform", "make -j2 -f pipelines/experiment.mk all X=y",
		"bg-deploy conform router DIR", "bg-load run --stack - -o - | bg-analyze cell -", "BG_QUIET=1 bg-gen --version",
	} {
		if got := u.faults(right); len(got) != 0 {
			t.Errorf("%s: got %q", right, got)
		}
	}
}
