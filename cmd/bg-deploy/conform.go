package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/jsontext"
	"bgbench/pkg/sim/engine"
	batch "bgbench/pkg/sim/gateway/conform"
	"bgbench/pkg/sim/router"
)

func conformCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "conform",
		Usage: "replay recorded behaviour of a real component; exit 3 when its model, or a live one, differs",
		Subcommands: []*ucli.Command{
			{
				Name:        "router",
				Usage:       "recordings of llm-d's router",
				ArgsUsage:   "CASES...",
				Description: cli.Examples("bg-deploy conform router cases/", "bg-deploy conform router my-burst.json"),
				Action: func(c *ucli.Context) error {
					return conform(c, func(text []byte) ([]string, error) { return lines(router.Conform(text)) })
				},
			},
			{
				Name:        "engine",
				Usage:       "recordings of vLLM's scheduler",
				ArgsUsage:   "CASES...",
				Description: cli.Examples("bg-deploy conform engine cases/"),
				Action: func(c *ucli.Context) error {
					return conform(c, func(text []byte) ([]string, error) { return lines(engine.Conform(text)) })
				},
			},
			{
				Name:      "batch-api",
				Usage:     "recordings of llm-d's batch gateway, on the model or on a live gateway",
				ArgsUsage: "CASES...",
				Flags: []ucli.Flag{
					&ucli.StringFlag{Name: "url", Usage: "ask the gateway at `URL` and not the model; what its API alone cannot bring about is skipped"},
				},
				Description: cli.Examples("bg-deploy conform batch-api cases/batch-api", "bg-deploy conform batch-api --url http://127.0.0.1:8000 cases/batch-api/http"),
				Action:      conformBatch,
			},
		},
	}
}

// conformBatch replays recordings of the batch gateway.
func conformBatch(c *ucli.Context) error {
	cases, err := batch.Load(c.Args().Slice())
	if err != nil {
		if c.NArg() == 0 {
			err = cli.WithHint(err, "flags go before arguments")
		}
		return cli.Usage(err)
	}
	replay := batch.Case.Replay
	if c.IsSet("url") {
		live, err := batch.NewLive(c.String("url"))
		if err != nil {
			return cli.Usage(fmt.Errorf("--url: %w", err))
		}
		defer live.Close(context.WithoutCancel(c.Context)) // what is left there does no harm
		replay = func(of batch.Case) batch.Outcome { return of.Ask(c.Context, live) }
	}
	failed := 0
	for _, of := range cases {
		outcome := replay(of)
		if c.Context.Err() != nil {
			return context.Cause(c.Context)
		}
		if len(outcome.Differences) > 0 {
			failed++
		}
		if _, err := fmt.Fprintln(c.App.Writer, outcome); err != nil {
			return err
		}
	}
	return verdict(failed, len(cases))
}

// lines puts differences into words.
func lines[D fmt.Stringer](differences []D, err error) ([]string, error) {
	var text []string
	for _, d := range differences {
		text = append(text, d.String())
	}
	return text, err
}

// conform replays every case and prints a line for each, with what differs.
func conform(c *ucli.Context, replay func(text []byte) ([]string, error)) error {
	paths, err := caseFiles(c.Args().Slice())
	if err != nil {
		return cli.Usage(err)
	}
	failed := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return cli.Usage(fmt.Errorf("reading a case: %w", err))
		}
		differences, err := replay(text)
		if err != nil {
			return cli.Usage(jsontext.Fault(path, text, 0, err))
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		line := "ok   " + name
		if len(differences) > 0 {
			line = "FAIL " + name + ": " + strings.Join(differences, "; ")
			failed++
		}
		if _, err := fmt.Fprintln(c.App.Writer, line); err != nil {
			return err
		}
	}
	return verdict(failed, len(paths))
}

func verdict(failed, all int) error {
	if failed > 0 {
		return cli.InvalidError{Err: fmt.Errorf("%d of %d cases failed", failed, all)}
	}
	return nil
}

// caseFiles lists the cases that arguments name: files, and folders for all *.json
// in and below them.
func caseFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, cli.WithHint(fmt.Errorf("found no case, expected files or folders"), "flags go before arguments")
	}
	var paths []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, fmt.Errorf("looking for cases: %w", err)
		}
		if !info.IsDir() {
			paths = append(paths, arg)
			continue
		}
		before := len(paths)
		err = filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Ext(path) == ".json" {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("looking for cases: %w", err)
		}
		if len(paths) == before {
			return nil, fmt.Errorf("%s: found no *.json, expected cases", arg)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
