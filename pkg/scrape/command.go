package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"bgbench/pkg/cli"
)

// Command is a program that runs while its stack is scraped.
type Command struct {
	Args           []string // name first
	Env            []string // beyond that of this process
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// find fails if there is no such program, before anything is begun for it.
func (c Command) find() error {
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

// ownsTerminal reports whether this process is in the foreground of a terminal, so
// that an interrupt goes to all processes of its group.
func ownsTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
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

// withStatus returns the error of a command, or other with the exit code of the
// command that failed too.
func withStatus(command, other error) error {
	var status cli.StatusError
	switch {
	case other == nil:
		return command
	case errors.As(command, &status):
		return cli.StatusError{Code: status.Code, Err: other}
	}
	return errors.Join(command, other)
}
