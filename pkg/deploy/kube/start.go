package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"bgbench/pkg/deploy"
)

// Start brings a cell up and reads it back: the descriptor is that of a stack which is
// what was asked for.
func (c *Cluster) Start(ctx context.Context, cell Cell, talk io.Writer) (deploy.Stack, error) {
	stack, err := c.Up(ctx, cell, talk)
	if err != nil {
		return stack, err
	}
	cell.Plan.RunID = stack.RunID
	checks, effective, err := c.Verify(ctx, cell)
	if err != nil {
		return stack, err
	}
	stack.Kube.Effective = effective
	return stack, Mismatch(checks)
}

// Mismatch reports the checks that do not hold.
func Mismatch(checks []Check) error {
	var lines []string
	for _, check := range checks {
		if !check.OK {
			lines = append(lines, fmt.Sprintf("%s: found %s, expected %s", check.Name, check.Found, check.Expected))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &MismatchError{lines}
}

// MismatchError is a stack that is not what was asked for.
type MismatchError struct{ Lines []string }

func (e *MismatchError) Error() string {
	return "the stack is not what the arm says: " + strings.Join(e.Lines, "\n  ")
}

// ErrNotOurs is a namespace that holds something else than the cell: tearing down what
// up left half made does not concern it.
var ErrNotOurs = errors.New("it is not of this run")

// Ours reports whether what an up left behind after err is its own.
func Ours(err error) bool { return !errors.Is(err, ErrNotOurs) }

// CellOf is the cell that a descriptor describes.
func CellOf(stack deploy.Stack, o Options) (Cell, error) {
	o.Mode, o.Namespace, o.Revision = stack.Kube.Mode, stack.Kube.Namespace, stack.Kube.Revision
	o.Pool = stack.Kube.Pool
	if _, ok := stack.Kube.Charts[chartRouterGateway]; ok {
		o.Router = RouterGateway
	}
	if o.PrometheusURL == "" {
		o.PrometheusURL = "of the running stack"
	}
	return NewCell(stack, o)
}

// Tools is the image of our own tools.
func (v Versions) Tools() Image { return v.Images[imageTools] }
