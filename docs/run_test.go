package docs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is for a machine that does much else; blocks take seconds.
const patience = 5 * time.Minute

// TestCommandsOnPagesRun runs the blocks of each page in order, as a reader in a clone
// does, in a folder with what a clone has.
func TestCommandsOnPagesRun(t *testing.T) {
	bin, _ := tools(t)
	for _, p := range pages(t) {
		var blocks []block
		for _, b := range p.blocks {
			if b.language == "sh" && b.notRun == "" {
				blocks = append(blocks, b)
			}
		}
		if len(blocks) == 0 {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			dir := clone(t, bin)
			for _, b := range blocks {
				runBlock(t, dir, bin, p.path, b)
			}
		})
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

func runBlock(t *testing.T, dir, bin, path string, b block) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	script := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", b.before+"\n"+b.text)
	script.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "BG_") && !strings.HasPrefix(v, "MAKE") {
			script.Env = append(script.Env, v)
		}
	}
	script.Env = append(script.Env, goFlags, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	// What a block starts must end with it.
	script.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	script.Cancel = func() error { return syscall.Kill(-script.Process.Pid, syscall.SIGKILL) }
	script.WaitDelay = 10 * time.Second
	began := time.Now()
	out, err := script.CombinedOutput()
	t.Logf("%s:%d: %.1f s", path, b.line, time.Since(began).Seconds())
	if err != nil {
		t.Fatalf("%s:%d: %v\n%s\n%s", path, b.line, err, b.text, out)
	}
}
