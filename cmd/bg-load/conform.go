package main

import (
	"fmt"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/openai"
	"bgbench/pkg/printable"
)

func conformCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "conform",
		Usage: "replay recorded behaviour on the client",
		Subcommands: []*ucli.Command{{
			Name:        "sse",
			Usage:       "replay recorded answer streams",
			ArgsUsage:   "CASES.json",
			Description: cli.Examples("bg-load conform sse cases.json"),
			Action:      conformSSE,
		}},
	}
}

func conformSSE(c *ucli.Context) error {
	if err := cli.MaxArgs(c, 1); err != nil {
		return err
	}
	if !c.Args().Present() {
		return cli.Usagef("found no argument, expected a file of cases")
	}
	in, err := cli.OpenInput(c.App.Reader, c.Args().First())
	if err != nil {
		return cli.Usage(err)
	}
	defer in.Close()
	verdicts, err := openai.Conform(in)
	if err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", c.Args().First(), err))
	}
	failed := 0
	for _, v := range verdicts {
		if v.OK {
			fmt.Fprintf(c.App.Writer, "ok   %s\n", printable.Line(v.Name))
			continue
		}
		failed++
		fmt.Fprintf(c.App.Writer, "FAIL %s\n", printable.Line(v.Name+": "+strings.Join(v.Differences, "; ")))
	}
	if failed > 0 {
		return cli.InvalidError{Err: fmt.Errorf("%d of %d cases failed", failed, len(verdicts))}
	}
	return nil
}
