package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
	"bgbench/pkg/interop"
)

// exportOptions of bg-analyze export.
type exportOptions struct {
	From   []string
	Format interop.ExportFormat
	Output string
}

func exportCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "export",
		Usage:     "write results in the form that other tools read",
		ArgsUsage: "EXPDIR|CELLDIR|RESULTS|IMPORTED…",
		Description: "A folder is measured from its rows, which gives every percentile; results.json has those that it has.\n" +
			"inference-perf and llm-d are folders of files, so they need -o DIR.\n\n" + cli.Examples(
			"bg-analyze export --format benchstat -o new.txt results/batch-gateway-ci && benchstat -col arm new.txt",
			"bg-analyze export --format llm-d -o reports results/batch-gateway-ci",
			"bg-analyze export --format markdown results.json imported.json",
		),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "format", Required: true, Usage: "`FORMAT`: one of " + fmt.Sprint(interop.ExportFormats)},
			&urfave.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` or folder to write; - is standard output"},
		},
		Action: func(c *urfave.Context) error {
			return export(c.Context, env, exportOptions{
				From: c.Args().Slice(), Format: interop.ExportFormat(c.String("format")), Output: c.String("output"),
			})
		},
	}
}

func export(ctx context.Context, env cli.Env, o exportOptions) error {
	switch {
	case len(o.From) == 0:
		return cli.WithHint(cli.Usagef("nothing to export given"), "bg-analyze export --format F EXPDIR, or a results.json")
	case o.Format.ManyFiles() && o.Output == "-":
		return cli.WithHint(cli.Usagef("--output: found standard output, but %s is a folder of files", o.Format), "-o DIR")
	}
	var documents []interop.Document
	for _, from := range o.From {
		open := func() (io.ReadCloser, error) { return cli.OpenInput(env.Stdin, from) }
		d, err := analysis.ReadDocument(ctx, from, o.Format.ITL(), open)
		if err != nil {
			return inputError(ctx, err)
		}
		documents = append(documents, d)
	}
	document := interop.Merge(documents...)
	files, warnings, err := interop.Export(ctx, document, o.Format)
	if err != nil {
		return cli.Usage(err)
	}
	for _, f := range files {
		path := o.Output
		if f.Path != "" {
			path = filepath.Join(o.Output, f.Path)
		}
		if err := cli.WriteFile(env.Stdout, path, f.Write); err != nil {
			return err
		}
	}
	printWarnings(env, append(document.Warnings, warnings...))
	return nil
}
