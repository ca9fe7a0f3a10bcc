package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/archive"
	"bgbench/pkg/cli"
	"bgbench/pkg/command"
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
				Name: "shard", Usage: "run one of the load generators that begin together, in a pod of an Indexed Job", ArgsUsage: "FILE -- COMMAND [ARGUMENT ...]",
				Description: "FILE has the instant at which they begin. Its index and that instant are in the\n" +
					"environment of the command as BG_SHARD and BG_START_AT. Only the first runs the whole\n" +
					"command, the others what stands behind its last --.\n\n" +
					cli.Examples("bg-deploy files shard --of 3 /inputs/.complete -- bg-scrape run -o m.parquet -- bg-load run -o cell"),
				Flags:  []ucli.Flag{&ucli.IntFlag{Name: "of", Required: true, Usage: "how many there are: `N`"}},
				Action: func(c *ucli.Context) error { return runShard(c, env) },
			},
			{
				Name: "await", Usage: "wait until a file is there", ArgsUsage: "FILE",
				Description: cli.Examples("bg-deploy files await /inputs/.complete"),
				Action:      one(func(c *ucli.Context, file string) error { return archive.Await(c.Context, file) }),
			},
		},
	}
}

// runShard finds out which of the generators this one is, and runs it.
func runShard(c *ucli.Context, env cli.Env) error {
	words := c.Args().Slice()
	if len(words) < 3 || words[1] != "--" {
		return cli.Usagef("found %q, expected a file, -- and a command", strings.Join(words, " "))
	}
	text, _ := env.LookupEnv("JOB_COMPLETION_INDEX")
	index, err := strconv.Atoi(text)
	if err != nil {
		return cli.Usagef("JOB_COMPLETION_INDEX: found %q, expected the number of a pod of an Indexed Job", text)
	}
	start, err := os.ReadFile(words[0])
	if err != nil {
		return cli.Usagef("reading when shards begin: %w", err)
	}
	program := command.Command{
		Args: words[2:], Stdout: env.Stdout, Stderr: env.Stderr,
		Env: []string{fmt.Sprintf("BG_SHARD=%d/%d", index+1, c.Int("of")), "BG_START_AT=" + strings.TrimSpace(string(start))},
	}
	if last := lastDashes(program.Args); index > 0 && last >= 0 {
		program.Args = program.Args[last+1:]
	}
	return program.Run(c.Context)
}

func lastDashes(words []string) int {
	for i := len(words) - 1; i >= 0; i-- {
		if words[i] == "--" {
			return i
		}
	}
	return -1
}
