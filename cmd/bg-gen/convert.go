package main

import (
	"fmt"
	"io"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/interop"
	"bgbench/pkg/spec"
)

func convertCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:        "convert",
		Usage:       "print the workload of another tool's configuration as a profile",
		Subcommands: []*ucli.Command{convertInferencePerfCommand(env)},
	}
}

func convertInferencePerfCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "inference-perf",
		Usage:     "convert a configuration of inference-perf, alone or as the one workload of an llm-d benchmark template",
		ArgsUsage: "CONFIG|-",
		Description: cli.Examples("bg-gen convert inference-perf config.yaml > mine.yaml") +
			"\n\nKeys that the profile cannot say as they are go to standard error, each with what became of it.",
		Flags: []ucli.Flag{
			&ucli.BoolFlag{Name: "strict", Usage: "fail where a key is not carried over as it is"},
		},
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			if c.NArg() == 0 {
				return cli.Usagef("found no configuration, expected a file, or - for standard input")
			}
			return convert(env, c.Args().First(), c.Bool("strict"))
		},
	}
}

// maxConfigBytes is far above any configuration.
const maxConfigBytes = 1 << 20

func convert(env cli.Env, path string, strict bool) error {
	in, err := cli.OpenInput(env.Stdin, path)
	if err != nil {
		return cli.Usage(err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxConfigBytes))
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	profile, unsupported, err := interop.ConvertInferencePerf(data, path)
	if err != nil {
		return cli.Usage(err)
	}
	for _, u := range unsupported {
		fmt.Fprintf(env.Stderr, "%s: %s\n", path, u)
	}
	if strict && len(unsupported) > 0 {
		return cli.Usagef("%s: %d keys are not carried over as they are (--strict)", path, len(unsupported))
	}
	text, err := spec.Marshal(profile)
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(text)
	return err
}
