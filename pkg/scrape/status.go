package scrape

import (
	"errors"

	"bgbench/pkg/cli"
)

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
