package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeWritesManualsAndCompletions takes the tools as they are: -o build.
func TestMakeWritesManualsAndCompletions(t *testing.T) {
	bin, described := tools(t)
	dir := clone(t, bin)
	write := exec.CommandContext(t.Context(), "make", "-s", "-o", "build", "man", "PREFIX=usr")
	write.Dir = dir
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tool := range toolNames {
		for _, file := range []string{
			"man/man1/" + tool + ".1", "bash-completion/completions/" + tool,
			"zsh/site-functions/_" + tool, "fish/vendor_completions.d/" + tool + ".fish",
		} {
			data, err := os.ReadFile(filepath.Join(dir, "usr/share", file))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(strings.ReplaceAll(string(data), `\-`, "-"), tool) {
				t.Errorf("%s: found nothing about %s", file, tool)
			}
		}
		manual, err := os.ReadFile(filepath.Join(dir, "usr/share/man/man1", tool+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range described[tool].Commands {
			if want := ".SS " + tool + " " + c.Name; !strings.Contains(strings.ReplaceAll(string(manual), `\-`, "-"), want) {
				t.Errorf("the manual of %s lacks %q", tool, want)
			}
		}
	}
}
