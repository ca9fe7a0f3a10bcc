package pipelines

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs experiments with make, as a user does.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tools, "./cmd/...")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		t.Fatalf("building the tools: %v", err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOOLS", tools)
			env.Setenv("ROOT", root)
			env.Setenv("PATH", tools+string(os.PathListSeparator)+env.Getenv("PATH"))
			return nil
		},
	})
}
