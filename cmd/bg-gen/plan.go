package main

import (
	"bufio"
	"fmt"
	"io"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/spec"
)

func planCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "plan",
		Usage:       "print the cells of an experiment in run order as tab-separated values",
		ArgsUsage:   "EXPERIMENT",
		Description: cli.Examples("bg-gen plan batch-gateway-ci", "bg-gen plan --set trials=5 mine.yaml | column -t"),
		Flags:       []ucli.Flag{setFlag("experiment")},
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			if c.NArg() == 0 {
				return cli.WithHint(cli.Usagef("found no experiment"), "bg-gen experiments lists those of the catalogue")
			}
			e, err := spec.LoadExperiment(c.Args().First(), c.StringSlice("set"))
			if err != nil {
				return cli.Usage(err)
			}
			return printPlan(c.App.Writer, e.Cells())
		},
	}
}

func printPlan(stdout io.Writer, cells []spec.Cell) error {
	w := bufio.NewWriter(stdout)
	fmt.Fprintln(w, "cell\tarm\ttrial\tseed\tdir\testimate_s\tinputs")
	for _, c := range cells {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\t%.1f\t%s\n", c.Index, c.Arm, c.Trial, c.Seed, c.Dir, c.EstimateSeconds, c.Inputs)
	}
	return w.Flush()
}
