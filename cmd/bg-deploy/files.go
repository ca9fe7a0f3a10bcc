package main

import (
	"os"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/archive"
	"bgbench/pkg/cli"
)

// filesCommand is what load runs in its pod, which has no shell.
func filesCommand(env cli.Env) *ucli.Command {
	one := func(do func(c *ucli.Context, path string) error) ucli.ActionFunc {
		return func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			if !c.Args().Present() {
				return cli.Usagef("found no path, expected one")
			}
			return do(c, c.Args().First())
		}
	}
	return &ucli.Command{
		Name:        "files",
		Usage:       "move files in and out of a pod (for load)",
		Hidden:      true,
		Description: cli.Examples("bg-deploy files get /results/cell >cell.tar"),
		Subcommands: []*ucli.Command{
			{
				Name: "put", Usage: "unpack standard input, a tar archive, into a folder", ArgsUsage: "DIR",
				Description: cli.Examples("bg-deploy files put /inputs <inputs.tar"),
				Action:      one(func(_ *ucli.Context, dir string) error { return archive.Read(env.Stdin, dir) }),
			},
			{
				Name: "get", Usage: "pack a folder into a tar archive on standard output", ArgsUsage: "DIR",
				Description: cli.Examples("bg-deploy files get /results/cell >cell.tar"),
				Action: one(func(_ *ucli.Context, dir string) error {
					return archive.Write(env.Stdout, []archive.Entry{{Path: dir}})
				}),
			},
			{
				Name: "touch", Usage: "make an empty file", ArgsUsage: "FILE",
				Description: cli.Examples("bg-deploy files touch /results/.collected"),
				Action:      one(func(_ *ucli.Context, file string) error { return os.WriteFile(file, nil, 0o644) }),
			},
			{
				Name: "await", Usage: "wait until a file is there", ArgsUsage: "FILE",
				Description: cli.Examples("bg-deploy files await /inputs/.complete"),
				Action:      one(func(c *ucli.Context, file string) error { return archive.Await(c.Context, file) }),
			},
		},
	}
}
