package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"bgbench/pkg/cli"
	"bgbench/pkg/spec"
)

// ExecOptions say what Exec runs and where.
type ExecOptions struct {
	Host      string
	Port      int    // of the inference gateway; 0 is any free one
	StackFile string // empty: a temporary file
	Command   []string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exec runs a command against a stack that lives as long as the command does. The
// error of a command that failed carries its exit code.
func Exec(ctx context.Context, plan Stack, o ExecOptions) error {
	if o.StackFile == "" {
		dir, err := os.MkdirTemp("", "bg-deploy-")
		if err != nil {
			return fmt.Errorf("making a folder for the descriptor: %w", err)
		}
		defer os.RemoveAll(dir)
		o.StackFile = filepath.Join(dir, "stack.json")
	}
	if plan.Target == spec.TargetModel {
		if err := plan.Write(o.StackFile); err != nil {
			return err
		}
		return o.run(ctx)
	}
	local, err := ListenLocal(plan, o.Host, o.Port)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- local.Run(serving) }()
	err = local.Stack().Write(o.StackFile)
	if err == nil {
		err = o.run(ctx)
	}
	stop()
	return errors.Join(err, <-ended)
}

// run runs the command to its end. When ctx is cancelled the command is asked to
// end and waited for: it has results to flush, and the stack stays up for it.
func (o ExecOptions) run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	cmd.Env = append(os.Environ(), "BG_STACK="+o.StackFile)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	dieWithParent(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if err != nil {
			return fmt.Errorf("running %s: %w", o.Command[0], err)
		}
		return nil
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal()) // as shells do
	}
	return cli.StatusError{Code: code}
}
