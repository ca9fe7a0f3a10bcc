package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
)

func downCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "down",
		Usage:       "end the stack that a descriptor describes",
		ArgsUsage:   "[STACK]",
		Description: cli.Examples("bg-deploy down stack.json"),
		Action: func(c *ucli.Context) error {
			path, err := stackArg(c)
			if err != nil {
				return err
			}
			return deploy.Down(c.Context, path)
		},
	}
}

// stackArg is the one argument of commands on a descriptor.
func stackArg(c *ucli.Context) (string, error) {
	if err := cli.MaxArgs(c, 1); err != nil {
		return "", err
	}
	if c.Args().Present() {
		return c.Args().First(), nil
	}
	return "stack.json", nil
}
