package main

import (
	"context"
	"io"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
)

// sweepOptions of bg-analyze sweep.
type sweepOptions struct {
	Dir, Format, Output string
}

func sweepCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "sweep",
		Usage:     "throughput and latency over the rate",
		ArgsUsage: "DIR",
		Description: "Reads every cell below DIR, as bg-load sweep leaves them, and prints a line for each\n" +
			"rate: tab-separated, or with --format json the whole summary of its phase. knee marks the\n" +
			"rate at which throughput over p95 TTFT is highest, of those tried.\n\n" + cli.Examples(
			"bg-analyze sweep sweeps/s2-ungated | column -t -s \"$(printf '\\t')\""),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "format", Value: "tsv", Usage: "`FORMAT` of the points: tsv or json"},
			outputFlag(),
		},
		Action: func(c *urfave.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			return sweep(c.Context, env, sweepOptions{Dir: c.Args().First(), Format: c.String("format"), Output: c.String("output")})
		},
	}
}

func sweep(ctx context.Context, env cli.Env, o sweepOptions) error {
	write, ok := sweepFormats[o.Format]
	switch {
	case !ok:
		return cli.Usagef("--format: found %q, expected tsv or json", o.Format)
	case o.Dir == "":
		return cli.WithHint(cli.Usagef("no folder of cells given"), "bg-analyze sweep DIR")
	}
	points, err := analysis.ReadRateSweep(ctx, o.Dir)
	if err != nil {
		return inputError(ctx, err)
	}
	return cli.WriteFile(env.Stdout, o.Output, func(w io.Writer) error { return write(w, points) })
}

var sweepFormats = map[string]func(io.Writer, []analysis.RatePoint) error{
	"tsv":  analysis.WriteRateSweep,
	"json": func(w io.Writer, points []analysis.RatePoint) error { return analysis.WriteJSON(w, points) },
}
