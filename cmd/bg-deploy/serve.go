package main

import (
	"os"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
)

func serveCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "serve",
		Usage:       "be a local stack until interrupted, or one component of it in a pod",
		Subcommands: serveOne(),
		Description: cli.Examples("bg-deploy serve --arm s2-ungated --port 8000 -o stack.json"),
		Flags: append(append(requestFlags(), listenFlags()...),
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` for the descriptor while the stack runs"},
		),
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			plan, err := deploy.Plan(request(c))
			if err != nil {
				return err
			}
			local, err := listen(c, plan)
			if err != nil {
				return err
			}
			return serve(c, local)
		},
	}
}

func listen(c *ucli.Context, plan deploy.Stack) (*deploy.Local, error) {
	return deploy.ListenLocal(plan, c.String("host"), c.Int("port"))
}

// serve announces a local stack and runs it.
func serve(c *ucli.Context, local *deploy.Local) error {
	path := c.String("output")
	if err := local.Stack().Write(path); err != nil {
		return err
	}
	if path != "-" {
		defer os.Remove(path) // what it describes is gone
	}
	return local.Run(c.Context)
}
