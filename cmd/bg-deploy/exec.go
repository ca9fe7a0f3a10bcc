package main

import (
	"slices"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/command"
	"bgbench/pkg/deploy"
	"bgbench/pkg/spec"
)

func execCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "exec",
		Usage:     "run a command against a stack that lives only as long as the command",
		ArgsUsage: "-- COMMAND [ARGUMENT ...]",
		Description: "The descriptor's path is in the command's environment as BG_STACK. The exit code\n" +
			"is the command's. On target local the stack is part of this process, so nothing\n" +
			"of it can be left behind, however this process ends.\n\n" +
			cli.Examples("bg-deploy exec --arm s2-ungated --target local -- bg-load run --inputs inputs/t1 -o cell"),
		Flags: slices.Concat(requestFlags(), listenFlags(), clusterFlags(), cellFlags(), []ucli.Flag{
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` for the descriptor (default: a temporary one)"},
			&ucli.DurationFlag{Name: "timeout", Usage: "how long the stack may take to be ready, on target kube (default: 40m)"},
			&ucli.BoolFlag{Name: "keep", Usage: "leave the stack there when something fails, on target kube"},
		}),
		Action: func(c *ucli.Context) error {
			if !c.Args().Present() {
				return cli.WithHint(cli.Usagef("found no command, expected one after --"), "bg-deploy exec --arm NAME -- COMMAND")
			}
			plan, err := deploy.Plan(request(c))
			if err != nil {
				return err
			}
			program := command.Command{Args: c.Args().Slice(), Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr}
			if plan.Target == spec.TargetKube {
				return execOnCluster(c, plan, program)
			}
			return deploy.Exec(c.Context, plan, program, deploy.ExecOptions{
				Host: c.String("host"), Port: c.Int("port"), StackFile: c.String("output"),
			})
		},
	}
}
