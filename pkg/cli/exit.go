package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"bgbench/pkg/printable"
)

// Exit codes of every tool.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2   // wrong usage or input
	ExitInvalid     = 3   // done, but a cell is INVALID or a check did not hold
	ExitInterrupted = 130 // stopped by a signal, after flushing what was measured
)

// UsageError marks an error that the user's input or command line caused.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// Usage marks err as caused by the user's input; nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// InvalidError says that the work was done but what it found must not be relied on.
type InvalidError struct{ Err error }

func (e InvalidError) Error() string { return e.Err.Error() }
func (e InvalidError) Unwrap() error { return e.Err }

// StatusError carries the exit code of a child process.
type StatusError struct {
	Code int
	Err  error
}

func (e StatusError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}
func (e StatusError) Unwrap() error { return e.Err }

// Hinter is an error that knows a next step; it is printed on a line of its own.
type Hinter interface{ Hint() string }

type hinted struct {
	error
	hint string
}

func (h hinted) Hint() string  { return h.hint }
func (h hinted) Unwrap() error { return h.error }

// WithHint attaches a next step to err.
func WithHint(err error, format string, args ...any) error {
	return hinted{err, fmt.Sprintf(format, args...)}
}

// Report prints err as "tool: message", a hint below it if there is one, and
// returns the exit code that goes with it. A nil error is ExitOK, and so is one that
// says that the reader of standard output is gone.
func Report(stderr io.Writer, tool string, err error) int {
	if err == nil || readerGone(err) {
		return ExitOK
	}
	var status StatusError
	if errors.As(err, &status) && status.Err == nil {
		return status.Code
	}
	fmt.Fprintf(stderr, "%s: %s\n", tool, printable.Lines(strings.TrimSpace(err.Error())))
	var h Hinter
	if errors.As(err, &h) {
		fmt.Fprintf(stderr, "hint: %s\n", printable.Lines(h.Hint()))
	}
	var usage UsageError
	var invalid InvalidError
	switch {
	case errors.As(err, &status):
		return status.Code
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &invalid):
		return ExitInvalid
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailed
}
