package main

import (
	"fmt"
	"io"
	"os"

	urfave "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/interop"
	"bgbench/pkg/printable"
	"bgbench/pkg/record"
)

// importOptions of bg-analyze import.
type importOptions struct {
	From   string // file, or - for standard input
	Format interop.Format
	Output string
	Rows   string // Parquet file for the records of requests; none if empty
}

func importCommand(env cli.Env) *urfave.Command {
	return &urfave.Command{
		Name:      "import",
		Usage:     "read the result file of another benchmark",
		ArgsUsage: "FILE|-",
		Description: "Writes what the file says as JSON, each metric with the definition that it was measured by,\n" +
			"and the records of requests, where the file has them, as rows.\n\n" + cli.Examples(
			"bg-analyze import benchmarks.csv",
			"bg-analyze import --rows requests.parquet -o summary.json profile_export.jsonl",
		),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "format", Value: string(interop.Auto), Usage: "`FORMAT` of the file: auto or one of " + fmt.Sprint(interop.Formats)},
			outputFlag(),
			&urfave.StringFlag{Name: "rows", Usage: "Parquet `FILE` for the records of requests"},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			return importFile(env, importOptions{
				From: c.Args().First(), Format: interop.Format(c.String("format")), Output: c.String("output"), Rows: c.String("rows"),
			})
		},
	}
}

func importFile(env cli.Env, o importOptions) error {
	if o.From == "" {
		return cli.WithHint(cli.Usagef("no FILE given"), "bg-analyze import FILE, or - for standard input")
	}
	in, err := cli.OpenInput(env.Stdin, o.From)
	if err != nil {
		return cli.Usage(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return cli.Usage(fmt.Errorf("reading %s: %w", o.From, err))
	}
	imported, err := interop.Import(data, o.From, o.Format)
	if err != nil {
		return cli.Usage(err)
	}
	if o.Rows != "" {
		if err := writeRows(o.Rows, o.From, imported); err != nil {
			return err
		}
	}
	if err := cli.WriteFile(env.Stdout, o.Output, imported.Document.WriteJSON); err != nil {
		return err
	}
	printWarnings(env, imported.Document.Warnings)
	return nil
}

func writeRows(path, from string, imported interop.Imported) error {
	if len(imported.Rows) == 0 {
		return cli.Usagef("--rows: %s has no records of requests", from)
	}
	w, err := record.Create[record.Request](path, imported.RowsMeta)
	if err != nil {
		return err
	}
	if err = w.Write(imported.Rows...); err == nil {
		err = w.Close()
	}
	if err != nil {
		os.Remove(record.Partial(path)) // the file that was read still has them
	}
	return err
}

func printWarnings(env cli.Env, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(env.Stderr, "bg-analyze: warning: %s\n", printable.Lines(w))
	}
}
