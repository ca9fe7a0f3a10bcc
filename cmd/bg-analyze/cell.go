package main

import (
	"context"
	"io"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
)

// cellOptions of bg-analyze cell.
type cellOptions struct {
	From   string // folder, or - for standard input
	Format string
	Output string
	Strict bool
}

func cellCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "cell",
		Usage:     "summarize one cell",
		ArgsUsage: "DIR|-",
		Description: "The first interrupt of a pipe lets bg-load end it, the second one ends at once.\n\n" + cli.Examples(
			"bg-analyze cell --format table results/batch-gateway-ci/cells/s2-ungated/t1",
			"bg-load run --stack stack.json --inputs DIR -o - | bg-analyze cell - | jq .phases",
		),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "format", Value: "json", Usage: "`FORMAT` of the summary: json or table"},
			outputFlag(),
			strictFlag(),
		},
		Action: func(c *urfave.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			options := cellOptions{From: c.Args().First(), Format: c.String("format"), Output: c.String("output"), Strict: c.Bool("strict")}
			return summarizeCell(c.Context, env, options)
		},
	}
}

func summarizeCell(ctx context.Context, env cli.Env, o cellOptions) error {
	write, ok := cellFormats[o.Format]
	switch {
	case !ok:
		return cli.Usagef("--format: found %q, expected json or table", o.Format)
	case o.From == "":
		return cli.WithHint(cli.Usagef("no cell given"), "bg-analyze cell DIR, or - for rows on standard input")
	}
	read := func() (analysis.CellResult, error) { return analysis.ReadCell(ctx, o.From) }
	if o.From == "-" {
		// An interrupt from the terminal goes to the whole pipeline. bg-load then flushes
		// what it measured and ends the stream, which is the end to wait for.
		ctx = context.WithoutCancel(ctx)
		read = func() (analysis.CellResult, error) { return analysis.ReadCellStream(ctx, env.Stdin) }
	}
	cell, err := read()
	if err != nil {
		return inputError(ctx, err)
	}
	if err := cli.WriteFile(env.Stdout, o.Output, func(w io.Writer) error { return write(w, cell) }); err != nil {
		return err
	}
	warn(env, cell.Warnings())
	if o.Strict {
		return invalid(analysis.CountInvalid(cell), 1)
	}
	return nil
}

var cellFormats = map[string]func(io.Writer, analysis.CellResult) error{
	"json":  func(w io.Writer, c analysis.CellResult) error { return analysis.WriteJSON(w, c) },
	"table": analysis.WriteTable,
}
