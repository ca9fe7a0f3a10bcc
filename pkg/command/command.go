package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"bgbench/pkg/cli"
)

// Command is a program with its surroundings.
type Command struct {
	Args           []string // name first
	Env            []string // beyond that of this process
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Find fails if there is no such program, before anything is begun for it.
func (c Command) Find() error {
	if _, err := exec.LookPath(c.Args[0]); err != nil {
		return cli.Usage(fmt.Errorf("running %s: %w", c.Args[0], err))
	}
	return nil
}

// Run runs the command to its end. If it failed, the error is a cli.StatusError with
// its exit code, 128 and the number if a signal ended it.
//
// SIGINT and SIGTERM are passed on once, except an interrupt from the terminal, which
// the command has got by itself: a second one makes bg-load give up its last rows. A
// ctx that is cancelled otherwise ends the command with SIGTERM.
func (c Command) Run(ctx context.Context) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.Env = append(cmd.Environ(), c.Env...)
	release := dieWithParent(cmd)
	defer release()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running %s: %w", c.Args[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	stop := signals
	cancelled := ctx.Done()
	for {
		select {
		case err := <-ended:
			return exitStatus(c.Args[0], err)
		case s := <-stop:
			if s != os.Interrupt || !ownsTerminal() {
				_ = cmd.Process.Signal(s) // it may have ended just now
			}
			stop, cancelled = nil, nil
		case <-cancelled:
			// A signal that cancelled ctx also arrives as a signal.
			if context.Cause(ctx) == context.Canceled {
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
			cancelled = nil
		}
	}
}

func exitStatus(name string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("running %s: %w", name, err)
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal()) // as shells do
	}
	return cli.StatusError{Code: code}
}
