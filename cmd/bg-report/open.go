package main

import (
	"fmt"
	"path/filepath"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/cli"
)

func openCommand(env cli.Env) *ucli.Command {
	return &ucli.Command{
		Name:      "open",
		Usage:     "write the page and open it in a browser",
		ArgsUsage: "RESULTS [OTHER...]",
		Description: "The page stands beside RESULTS as report.html, unless --output names another file. The\n" +
			"browser is $BROWSER, or what this system opens pages with.\n\n" +
			cli.Examples(
				"bg-report open results/batch-gateway-ci/results.json",
				"BROWSER=firefox bg-report open results/batch-gateway-ci/results.json -o /tmp/report.html"),
		Flags: append(besideFlags(), &ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` to write, report.html beside RESULTS unless named"}),
		Action: func(c *ucli.Context) error {
			output := c.String("output")
			switch path := c.Args().First(); {
			case output == "-" || output == "" && path == "-":
				return cli.WithHint(cli.Usagef("open: standard input and output are no files to open"), "name a file with --output")
			case output == "":
				output = filepath.Join(filepath.Dir(path), "report.html")
			}
			beside, err := readBeside(c)
			if err != nil {
				return err
			}
			if err := convertBeside(c, env, output, beside); err != nil {
				return err
			}
			fmt.Fprintln(env.Stdout, output)
			return browse(c.Context, env, output)
		},
	}
}
