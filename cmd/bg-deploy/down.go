package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
)

func downCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "down",
		Usage:     "end the stack that a descriptor describes",
		ArgsUsage: "[STACK]",
		Description: "On target kube everything that carries the labels of the run is deleted, and nothing\n" +
			"else. --namespace ends what an up that was killed left half made.\n\n" +
			cli.Examples("bg-deploy down stack.json", "bg-deploy down --namespace bgbench-s2-ungated-t1"),
		Flags: append(clusterFlags(),
			&ucli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "`NAME` of a cell's namespace, without a descriptor"},
			&ucli.DurationFlag{Name: "timeout", Value: downTimeout, Usage: "how long a namespace may take to go"},
		),
		Action: func(c *ucli.Context) error {
			if namespace := c.String("namespace"); namespace != "" {
				return downOnCluster(c, namespace, c.String("context"), "")
			}
			stack, path, err := readStack(c)
			if err != nil {
				return err
			}
			if stack.Kube != nil {
				if err := downOnCluster(c, stack.Kube.Namespace, kubeContext(c, stack), stack.RunID); err != nil {
					return err
				}
			}
			return deploy.Down(c.Context, stack, path)
		},
	}
}

// readStack reads the descriptor that commands on a stack have as their one argument.
func readStack(c *ucli.Context) (stack deploy.Stack, path string, err error) {
	if err := cli.MaxArgs(c, 1); err != nil {
		return deploy.Stack{}, "", err
	}
	path = "stack.json"
	if c.Args().Present() {
		path = c.Args().First()
	}
	if stack, err = deploy.ReadStack(path); err != nil {
		return deploy.Stack{}, "", cli.Usage(err)
	}
	return stack, path, nil
}
