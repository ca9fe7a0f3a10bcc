package docs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"bgbench/pkg/cli"
)

var toolNames = []string{"bg-gen", "bg-deploy", "bg-load", "bg-scrape", "bg-analyze", "bg-report"}

// built are the tools of this tree.
var built = struct {
	sync.Once
	dir   string
	tools map[string]cli.Tool
	err   error
}{}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// tools builds the tools once and returns their folder and what they say of themselves.
func tools(t *testing.T) (dir string, described map[string]cli.Tool) {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "docs-tools-"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", built.dir, "./cmd/...")
		build.Dir, build.Stderr = root, os.Stderr
		build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false") // the stamp would relink all six at each commit
		if built.err = build.Run(); built.err != nil {
			return
		}
		built.tools = make(map[string]cli.Tool)
		for _, name := range toolNames {
			out, err := exec.Command(filepath.Join(built.dir, name), "flags").Output()
			if err != nil {
				built.err = err
				return
			}
			var tool cli.Tool
			if built.err = json.NewDecoder(bytes.NewReader(out)).Decode(&tool); built.err != nil {
				return
			}
			built.tools[name] = tool
		}
	})
	if built.err != nil {
		t.Fatalf("building the tools: %v", built.err)
	}
	return built.dir, built.tools
}
