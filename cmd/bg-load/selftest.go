package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/load"
)

func selfTestCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:  "self-test",
		Usage: "find the highest load that this machine drives on time",
		Description: "Serves itself on loopback and prints the highest request rate, and the highest\n" +
			"number of streams of 50 tokens a second each, at which requests leave and answers\n" +
			"are read within the limits of a valid cell. The server takes its share of the\n" +
			"machine: against a server elsewhere there is more to be had. A minute or two;\n" +
			"with --quick some seconds, up to 500 requests a second and 100 streams.\n\n" +
			cli.Examples("bg-load self-test", "bg-load self-test --quick"),
		Flags: []ucli.Flag{
			&ucli.BoolFlag{Name: "quick", Usage: "short tries that end early"},
		},
		Action: func(c *ucli.Context) error {
			if err := cli.NoArgs(c); err != nil {
				return err
			}
			test := load.SelfTest{Rung: 3 * time.Second, MaxRate: 64_000, MaxStreams: 32_000}
			if c.Bool("quick") {
				test = load.SelfTest{Rung: 200 * time.Millisecond, MaxRate: 500, MaxStreams: 100}
			}
			if !cli.Quiet(c) {
				test.Progress = func(r load.Rung) {
					fmt.Fprintf(env.Stderr, "%d %s: %s\n", r.Load, r.What, rungVerdict(r))
				}
			}
			return selfTest(c.Context, env, test)
		},
	}
}

func selfTest(ctx context.Context, env cli.Env, test load.SelfTest) error {
	result, err := test.Run(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stdout, result.Requests)
	fmt.Fprintln(env.Stdout, result.Streams)
	return nil
}

func rungVerdict(r load.Rung) string {
	if len(r.Faults) == 0 {
		return fmt.Sprint("held: ", r.Health)
	}
	return "failed: " + strings.Join(r.Faults, "; ")
}
