package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/spec"
)

func statusCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "status",
		Usage:       "ask every address of a stack whether it answers; exit 1 when one does not",
		ArgsUsage:   "[STACK]",
		Description: cli.Examples("bg-deploy status stack.json"),
		Flags:       clusterFlags(),
		Action: func(c *ucli.Context) error {
			stack, _, err := readStack(c)
			if err != nil {
				return err
			}
			if stack.Target == spec.TargetModel {
				_, err := fmt.Fprintf(c.App.Writer, "%s on target model: nothing runs until bg-load does\n", stack.Arm.Name)
				return err
			}
			if stack.Kube != nil {
				return statusOnCluster(c, stack)
			}
			return printStatus(c, stack)
		},
	}
}

// statusOnCluster prints the pods of the cell and the pool that KServe makes; its
// addresses are the cluster's own.
func statusOnCluster(c *ucli.Context, stack deploy.Stack) error {
	cluster, err := kube.Connect(c.String("kubeconfig"), kubeContext(c, stack))
	if err != nil {
		return err
	}
	pods, err := cluster.Status(c.Context, *stack.Kube)
	if err != nil {
		return err
	}
	down := 0
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, p := range pods {
		if !p.Ready {
			down++
		}
		fmt.Fprintf(table, "%s\t%s\t%d restarts\n", p.Name, p.State, p.Restarts)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if down > 0 || len(pods) == 0 {
		return fmt.Errorf("%s: %d of %d in namespace %s are not ready", stack.Arm.Name, down, len(pods), stack.Kube.Namespace)
	}
	return nil
}

func printStatus(c *ucli.Context, stack deploy.Stack) error {
	down := 0
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, h := range stack.Check(c.Context, http.DefaultClient) {
		state := "up"
		if h.Err != nil {
			state = "down: " + h.Err.Error()
			down++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", h.Name, h.URL, state)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if down > 0 {
		return fmt.Errorf("%s: %d of its addresses do not answer", stack.Arm.Name, down)
	}
	return nil
}

// contextWithTimeout bounds a command by its --timeout, or otherwise where it has none;
// why is the error when the time is up.
func contextWithTimeout(c *ucli.Context, otherwise time.Duration, why string) (context.Context, context.CancelFunc) {
	timeout := c.Duration("timeout")
	if timeout == 0 {
		timeout = otherwise
	}
	return context.WithTimeoutCause(c.Context, timeout, fmt.Errorf("%w (--timeout %s)", errors.New(why), timeout))
}
