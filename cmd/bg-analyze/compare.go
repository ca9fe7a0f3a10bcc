package main

import (
	"context"
	"fmt"
	"io"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
)

// compareOptions of bg-analyze compare.
type compareOptions struct {
	Dir     string // of the experiment
	Output  string
	Summary string // none if empty
	Strict  bool
	// Reference is another run of the same inputs; none if empty.
	Reference string
}

func compareCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "compare",
		Usage:     "summarize an experiment and compare its arms",
		ArgsUsage: "EXPDIR",
		Description: cli.Examples(
			"bg-analyze compare -o results.json --summary summary.parquet results/batch-gateway-ci",
			"bg-analyze compare --reference results/yesterday -o results.json results/today",
			"bg-analyze compare --strict results/batch-gateway-ci | jq '.arms[].against_baseline'",
		),
		Flags: []urfave.Flag{
			outputFlag(),
			&urfave.StringFlag{Name: "summary", Usage: "Parquet `FILE` with a row a number of every cell"},
			&urfave.StringFlag{Name: "reference", Usage: "another `RUN` of the same inputs, EXPDIR or its results.json, whose batch outputs must be the same"},
			strictFlag(),
		},
		Action: func(c *urfave.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			options := compareOptions{Dir: c.Args().First(), Output: c.String("output"), Summary: c.String("summary"), Strict: c.Bool("strict"), Reference: c.String("reference")}
			return compare(c.Context, env, options)
		},
	}
}

func compare(ctx context.Context, env cli.Env, o compareOptions) error {
	if o.Dir == "" {
		return cli.WithHint(cli.Usagef("no experiment given"), "bg-analyze compare EXPDIR, the folder with experiment.yaml")
	}
	results, err := analysis.Compare(ctx, o.Dir, o.Reference)
	if err != nil {
		return inputError(ctx, err)
	}
	if o.Summary != "" {
		err := cli.WriteFile(env.Stdout, o.Summary, func(w io.Writer) error { return analysis.WriteSummary(w, results) })
		if err != nil {
			return err
		}
	}
	if err := cli.WriteFile(env.Stdout, o.Output, func(w io.Writer) error { return analysis.WriteJSON(w, results) }); err != nil {
		return err
	}
	warn(env, results.Warnings)
	if o.Strict {
		return invalid(analysis.CountInvalid(results.Cells...), len(results.Cells))
	}
	return nil
}

// invalid is the error of --strict.
func invalid(n, of int) error {
	if n == 0 {
		return nil
	}
	return cli.InvalidError{Err: fmt.Errorf("%d of %s INVALID", n, analysis.Plural(of, "cell"))}
}
