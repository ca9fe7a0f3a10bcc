package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the pages that are made of the code")

// isGenerated holds a page against what the code says, or writes it.
func isGenerated(t *testing.T, path, want string) {
	t.Helper()
	file := filepath.Join(root, path)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s differs from the code (go test ./docs -update writes it):\n%s", path, diff)
	}
}

// hasGenerated holds the part of a page that stands between two comments.
func hasGenerated(t *testing.T, path, name, want string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- %s: begin (go test ./docs -update writes it) -->\n", name), fmt.Sprintf("<!-- %s: end -->", name)
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: found no part between %q and %q", path, begin, end)
	}
	isGenerated(t, path, before+begin+want+end+after)
}

// table writes a Markdown table.
type table struct{ strings.Builder }

func newTable(columns ...string) *table {
	t := new(table)
	t.row(columns...)
	t.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	return t
}

func (t *table) row(cells ...string) {
	for _, c := range cells {
		t.WriteString("| ")
		if c != "" {
			t.WriteString(strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ") + " ")
		}
	}
	t.WriteString("|\n")
}

// code is a text in the type of code, nothing where there is none.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
