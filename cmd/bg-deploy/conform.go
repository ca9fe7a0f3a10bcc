package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/sim/engine"
	"bgbench/pkg/sim/router"
)

func conformCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "conform",
		Usage: "replay recorded behaviour of a real component on its model; exit 3 when they differ",
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
		},
	}
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
			return cli.Usage(fmt.Errorf("%s: %w", path, err))
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
	if failed > 0 {
		return cli.InvalidError{Err: fmt.Errorf("%d of %d cases failed", failed, len(paths))}
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
