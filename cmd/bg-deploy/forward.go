package main

import (
	"errors"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/command"
	"bgbench/pkg/deploy"
	"bgbench/pkg/deploy/kube"
	"bgbench/pkg/spec"
)

func forwardCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "forward",
		Usage:     "run a command outside the cluster against a stack in it",
		ArgsUsage: "-- COMMAND [ARGUMENT ...]",
		Description: "Every address of the stack is forwarded to a port of loopback for as long as the\n" +
			"command runs; what is lost is connected again. The descriptor with those addresses is in\n" +
			"the command's environment as BG_STACK. With --cell the pods are watched, as load does.\n\n" +
			cli.Examples(
				"bg-deploy forward --stack stack.json -- bg-scrape run -o metrics.parquet -- sleep 60",
				"bg-deploy forward --stack stack.json --cell cell -o outside.json -- bg-load run --stack outside.json --inputs inputs/t1 -o cell"),
		Flags: append(clusterFlags(),
			&ucli.StringFlag{Name: "stack", Required: true, Usage: "`FILE` that describes the stack"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` for the descriptor outside the cluster (default: a temporary one)"},
			&ucli.StringFlag{Name: "cell", Usage: "`FOLDER` of a cell: write there what disturbed the stack meanwhile"},
		),
		Action: func(c *ucli.Context) error {
			if !c.Args().Present() {
				return cli.WithHint(cli.Usagef("found no command, expected one after --"), "bg-deploy forward --stack FILE -- COMMAND")
			}
			stack, err := deploy.ReadStack(c.String("stack"))
			if err != nil {
				return cli.Usage(err)
			}
			if stack.Kube == nil {
				return cli.Usagef("%s: found target %s, expected %s", c.String("stack"), stack.Target, spec.TargetKube)
			}
			program := command.Command{Args: c.Args().Slice(), Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr}
			if err := program.Find(); err != nil {
				return err
			}
			cluster, err := kube.Connect(c.String("kubeconfig"), kubeContext(c, stack))
			if err != nil {
				return err
			}
			outside, end, err := cluster.Outside(c.Context, stack)
			if err != nil {
				return err
			}
			run := func() error { return deploy.RunAgainst(c.Context, outside, program, c.String("output")) }
			if dir := c.String("cell"); dir != "" {
				err = cluster.Watched(c.Context, stack.Kube.Namespace, dir, c.App.ErrWriter, run)
			} else {
				err = run()
			}
			return errors.Join(err, end())
		},
	}
}
