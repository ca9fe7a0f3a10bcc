package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/batchfile"
	"bgbench/pkg/cli"
)

func validateCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "validate",
		Usage:     "check an OpenAI Batch input file against what the batch gateway takes; exit 3 when a line is bad",
		ArgsUsage: "FILE|-",
		Description: cli.Examples("bg-gen validate inputs/t1/job-A.jsonl", "zcat requests.jsonl.gz | bg-gen validate -") +
			"\n\nEach bad line is printed as FILE:LINE: FIELD: what was found and what was expected.",
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			if c.NArg() == 0 {
				return cli.Usagef("found no file, expected one, or - for standard input")
			}
			return validate(env, c.Args().First(), cli.Quiet(c))
		},
	}
}

func validate(env cli.Env, path string, quiet bool) error {
	in, err := cli.OpenInput(env.Stdin, path)
	if err != nil {
		return cli.Usage(err)
	}
	defer in.Close()
	out := bufio.NewWriter(env.Stdout)
	report, err := batchfile.Check(in, printProblem(out, path))
	if err := errors.Join(err, out.Flush()); err != nil {
		err = fmt.Errorf("checking %s: %w", path, err)
		if access := (*fs.PathError)(nil); errors.As(err, &access) {
			return cli.Usage(err) // such as a folder
		}
		return err
	}
	if report.Problems > 0 {
		return cli.InvalidError{Err: fmt.Errorf("%s: the batch gateway would fail the whole job (problems: %d, lines: %d)", path, report.Problems, report.Lines)}
	}
	if !quiet {
		fmt.Fprintf(env.Stderr, "%s: %d lines, %d bytes: the batch gateway takes it\n", path, report.Lines, report.Bytes)
	}
	return nil
}

func printProblem(w io.Writer, path string) func(batchfile.Problem) error {
	return func(p batchfile.Problem) error {
		_, err := fmt.Fprintf(w, "%s:%s\n", path, p)
		return err
	}
}
