package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/analysis"
	"bgbench/pkg/cli"
	"bgbench/pkg/printable"
	"bgbench/pkg/report"
)

func besideFlags() []ucli.Flag {
	return []ucli.Flag{&ucli.StringFlag{Name: "rates", Usage: "`FILE` that bg-analyze sweep --format json wrote: draws throughput against latency"}}
}

// readBeside reads what the page shows beside its own results: the arguments after the
// first, and a rate sweep.
func readBeside(c *ucli.Context) (report.Beside, error) {
	var beside report.Beside
	for _, path := range c.Args().Tail() {
		if same(path, c.String("output")) {
			return beside, cli.Usagef("--output: %s is an input as well", path)
		}
		results, err := readFile(path, analysis.ReadResults)
		if err != nil {
			return beside, err
		}
		beside.Runs = append(beside.Runs, report.Run{Name: runName(path), Results: results})
	}
	if path := c.String("rates"); path != "" {
		points, err := readFile(path, analysis.ReadRatePoints)
		if err != nil {
			return beside, err
		}
		beside.Rates = points
	}
	return beside, nil
}

// convertBeside writes the page, and says on standard error in what the runs on it are not
// alike.
func convertBeside(c *ucli.Context, env cli.Env, output string, beside report.Beside) error {
	return convert(c, env, output, func(w io.Writer, results analysis.Results) error {
		for _, text := range beside.Apart(results) {
			fmt.Fprintf(env.Stderr, "bg-report: warning: %s\n", printable.Lines(text))
		}
		return report.HTML(w, results, beside)
	})
}

func readFile[T any](path string, read func(io.Reader, string) (T, error)) (T, error) {
	var none T
	file, err := os.Open(path)
	if err != nil {
		return none, cli.Usage(err)
	}
	defer file.Close()
	v, err := read(file, path)
	if err != nil {
		return none, cli.Usage(err)
	}
	return v, nil
}

// runName is what tells one results.json from another: its folder, or a name of its own.
func runName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	if folder := filepath.Base(filepath.Dir(path)); name == "results" && folder != "." && folder != ".." && folder != "/" {
		return folder
	}
	return name
}
