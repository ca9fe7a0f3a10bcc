package main

import (
	"io"
	"os"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
)

func outputFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` to write, - is standard output"}
}

// convert reads the first argument, results.json or -, and writes it in another form.
func convert(c *ucli.Context, env cli.Env, output string, write func(io.Writer, analysis.Results) error) error {
	path := c.Args().First()
	if path == "" {
		return cli.WithHint(cli.Usagef("%s: no RESULTS given", c.Command.Name), "results.json of an experiment, or - for standard input")
	}
	if same(path, output) {
		return cli.Usagef("--output: %s is the input as well", output)
	}
	in, err := cli.OpenInput(env.Stdin, path)
	if err != nil {
		return cli.Usage(err)
	}
	defer in.Close()
	name := path
	if name == "-" {
		name = "standard input"
	}
	results, err := analysis.ReadResults(in, name)
	if err != nil {
		return cli.Usage(err)
	}
	return cli.WriteFile(env.Stdout, output, func(w io.Writer) error { return write(w, results) })
}

// same reports whether two paths are one file, which writing would destroy.
func same(in, out string) bool {
	if in == "-" || out == "-" {
		return false
	}
	a, err := os.Stat(in)
	if err != nil {
		return false
	}
	b, err := os.Stat(out)
	return err == nil && os.SameFile(a, b)
}
