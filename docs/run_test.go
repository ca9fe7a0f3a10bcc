package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is for a machine that does much else; the blocks of a page take seconds.
const patience = 8 * time.Minute

// TestCommandsOnPagesRun runs the blocks of each page in order and in one shell, as a
// reader in a clone does, in a folder with what a clone has.
func TestCommandsOnPagesRun(t *testing.T) {
	bin, _ := tools(t)
	for _, p := range pages(t) {
		var script strings.Builder
		for _, b := range p.blocks {
			if b.language == "sh" && b.notRun == "" {
				fmt.Fprintf(&script, "echo '== %s:%d'\n%s\n%s\n", p.path, b.line, b.before, b.text)
			}
		}
		if script.Len() > 0 {
			t.Run(p.path, func(t *testing.T) { runScript(t, clone(t, bin), bin, script.String()) })
		}
	}
}

// clone is a folder that looks like a clone of this tree with the tools built.
func clone(t *testing.T, bin string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"Makefile", "go.mod", "go.sum", "cmd", "pkg", "pipelines"} {
		from, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(bin, filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runScript(t *testing.T, dir, bin, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	script := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", text)
	script.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "BG_") && !strings.HasPrefix(v, "MAKE") {
			script.Env = append(script.Env, v)
		}
	}
	script.Env = append(script.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	// What a block starts must end with it.
	script.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	script.Cancel = func() error { return syscall.Kill(-script.Process.Pid, syscall.SIGKILL) }
	script.WaitDelay = 10 * time.Second
	if out, err := script.CombinedOutput(); err != nil {
		t.Errorf("%v in the last block of\n%s", err, out)
	}
}
