package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/spec"
)

func profileCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "profile",
		Usage:       "print a profile as YAML with every default written out",
		ArgsUsage:   "[NAME|FILE]",
		Description: cli.Examples("bg-gen profile --set prompt.isl.mean=800 default > mine.yaml"),
		Flags:       []ucli.Flag{setFlag("profile")},
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			name := c.Args().First()
			if name == "" {
				name = "default"
			}
			return printResolved(c, name, load(spec.LoadProfile))
		},
	}
}

func profilesCommand() *ucli.Command {
	return catalogCommand("profile", "bg-gen profiles ci", spec.Profiles, load(spec.LoadProfile))
}

func armsCommand() *ucli.Command {
	return catalogCommand("arm", "bg-gen arms --set gateway.numWorkers=1 s2-ungated", spec.Arms, load(spec.LoadArm))
}

func experimentsCommand() *ucli.Command {
	return catalogCommand("experiment", "bg-gen experiments --set trials=5 batch-gateway > experiment.yaml", spec.Experiments, load(spec.LoadExperiment))
}

// catalogCommand lists the specs of a kind or prints one of them.
func catalogCommand(kind, example string, list func() ([]spec.Entry, error), resolve resolver) *ucli.Command {
	return &ucli.Command{
		Name:        kind + "s",
		Usage:       fmt.Sprintf("list the %ss of the catalogue, or print one as YAML", kind),
		ArgsUsage:   "[NAME|FILE]",
		Description: cli.Examples("bg-gen "+kind+"s", example),
		Flags:       []ucli.Flag{setFlag(kind)},
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			if c.NArg() == 1 {
				return printResolved(c, c.Args().First(), resolve)
			}
			if c.IsSet("set") {
				return cli.WithHint(cli.Usagef("--set: found no %s to change", kind), "add its name or file")
			}
			entries, err := list()
			if err != nil {
				return err
			}
			return printEntries(c.App.Writer, entries)
		},
	}
}

// resolver loads a spec with assignments.
type resolver func(nameOrFile string, sets []string) (any, error)

func load[T any](resolve func(string, []string) (T, error)) resolver {
	return func(nameOrFile string, sets []string) (any, error) { return resolve(nameOrFile, sets) }
}

func printResolved(c *ucli.Context, nameOrFile string, resolve resolver) error {
	v, err := resolve(nameOrFile, c.StringSlice("set"))
	if err != nil {
		return cli.Usage(err)
	}
	data, err := spec.Marshal(v)
	if err != nil {
		return fmt.Errorf("printing %s: %w", nameOrFile, err)
	}
	_, err = c.App.Writer.Write(data)
	return err
}

func printEntries(w io.Writer, entries []spec.Entry) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%s\n", e.Name, e.Description)
	}
	return table.Flush()
}
