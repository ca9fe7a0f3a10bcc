package main

import (
	"fmt"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
	"bgbench/pkg/load"
)

func recoverCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "recover",
		Usage:     "make the .partial files of a killed run readable",
		ArgsUsage: "CELL|FILE.partial",
		Description: "Writes requests.parquet, jobs.parquet and metrics.parquet from what a killed run left\n" +
			"of them, and leaves the .partial files alone. A file that is there already stays as it is.\n\n" +
			cli.Examples("bg-load recover cells/s2-ungated/t1", "bg-load recover requests.parquet.partial"),
		Action: func(c *ucli.Context) error {
			if err := cli.MaxArgs(c, 1); err != nil {
				return err
			}
			if !c.Args().Present() {
				return cli.Usagef("found no argument, expected the folder of a cell or a .partial file")
			}
			found, err := load.Recover(c.Args().First())
			for _, f := range found {
				if f.Whole {
					fmt.Fprintf(c.App.ErrWriter, "%s is there already: nothing left to recover\n", f.Path)
					continue
				}
				fmt.Fprintf(c.App.Writer, "%s: %d rows\n", f.Path, f.Rows)
			}
			return err
		},
	}
}
