package deploy

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/spec"
)

// endGrace is how long a local stack may take to end before it is killed.
const endGrace = 5 * time.Second

// Up starts the stack that plan describes and writes its descriptor to path when
// it answers. serve makes the command that serves such a stack and writes its
// descriptor to stackFile.
func Up(ctx context.Context, plan Stack, path string, serve func(stackFile string) *exec.Cmd) error {
	if old, err := readOld(path); err == nil && old.Process != nil && old.Process.Alive() {
		return cli.WithHint(fmt.Errorf("%s describes a stack that still runs (process %d)", path, old.Process.PID),
			"end it first: bg-deploy down %s", path)
	}
	if plan.Target == spec.TargetModel {
		return plan.Write(path)
	}
	dir, err := os.MkdirTemp("", "bg-deploy-")
	if err != nil {
		return fmt.Errorf("starting the stack: %w", err)
	}
	defer os.RemoveAll(dir)
	stackFile := filepath.Join(dir, "stack.json")
	p, err := start(serve(stackFile), logFile(path))
	if err != nil {
		return err
	}
	running, err := p.await(ctx, stackFile)
	if err != nil {
		p.End(context.WithoutCancel(ctx), endGrace) // the first error is the one to report
		return err
	}
	running.Process = &p
	return running.Write(path)
}

// readOld reads the descriptor that Up is about to replace.
func readOld(path string) (Stack, error) {
	if path == "-" {
		return Stack{}, fs.ErrNotExist
	}
	return ReadStack(path)
}

// logFile is where the stack's process writes, beside its descriptor.
func logFile(path string) string {
	if path == "-" {
		return filepath.Join(os.TempDir(), fmt.Sprintf("bg-deploy-%d.log", os.Getpid()))
	}
	return strings.TrimSuffix(path, ".json") + ".log"
}

// await waits for the descriptor that the process writes when it answers.
func (p Process) await(ctx context.Context, stackFile string) (Stack, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if _, err := os.Stat(stackFile); err == nil {
			return ReadStack(stackFile)
		}
		if !p.Alive() {
			return Stack{}, fmt.Errorf("the stack ended before it was ready: %s", lastLine(p.LogFile))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Stack{}, context.Cause(ctx)
		}
	}
}

func lastLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)-1]
}

// Down ends the stack s, whose descriptor is at path, and removes the descriptor. It
// ends nothing but the very process that Up started; what is on a cluster is not its
// to end.
func Down(ctx context.Context, s Stack, path string) error {
	if s.Process != nil {
		if err := s.Process.End(ctx, endGrace); err != nil {
			return err
		}
	}
	if path == "-" {
		return nil
	}
	return remove(path)
}
