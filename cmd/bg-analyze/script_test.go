package main

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bgbench/pkg/analysis/analysistest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bg-analyze": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"experiment": writeExperiment,
			"answers":    writeAnswers,
			"cell":       writeCell,
			"stream":     writeStream,
			"cut":        cut,
			"exits":      exits,
			"replace":    replace,
			"nan":        writeNaN,
			"without":    without,
		},
	})
}

// experiment DIR writes the experiment with known answers.
func writeExperiment(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(analysistest.Write(ts.MkAbs(args[0]), nil))
}

// answers DIR OTHER writes it with an output for each line, of which so many of s2 are
// other ones.
func writeAnswers(ts *testscript.TestScript, _ bool, args []string) {
	other, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(analysistest.Write(ts.MkAbs(args[0]), func(c *analysistest.Cell) {
		if c.Metadata.Arm == analysistest.S2 {
			c.Answer(other)
		} else {
			c.Answer(0)
		}
	}))
}

// cell ARM TRIAL DIR writes one cell of it.
func writeCell(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(pick(ts, args).Write(ts.MkAbs(args[2])))
}

// nan ARM TRIAL DIR writes one whose seventh request has a time to first token that is no
// number.
func writeNaN(ts *testscript.TestScript, _ bool, args []string) {
	cell := pick(ts, args)
	*cell.Requests[6].TTFTS = math.NaN()
	ts.Check(cell.Write(ts.MkAbs(args[2])))
}

// without COLUMN FILE drops a column of a file of requests.
func without(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(analysistest.DropColumn(ts.MkAbs(args[1]), args[0]))
}

// stream ARM TRIAL FILE writes one cell as it travels on a pipe.
func writeStream(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[2]))
	ts.Check(err)
	defer f.Close()
	ts.Check(pick(ts, args).Stream(f))
}

func pick(ts *testscript.TestScript, args []string) analysistest.Cell {
	trial, err := strconv.Atoi(args[1])
	ts.Check(err)
	return analysistest.New(args[0], trial)
}

// cut FILE BYTES shortens a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

// exits CODE COMMAND… runs a command that must end with that exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	if status := (*exec.ExitError)(nil); errors.As(err, &status) {
		code = status.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, expected %d", code, want)
	}
}

// replace OLD NEW FILE… replaces a text everywhere in files, which must have it.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args[2:] {
		text := ts.ReadFile(file)
		if !strings.Contains(text, args[0]) {
			ts.Fatalf("%s has no %q", file, args[0])
		}
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(strings.ReplaceAll(text, args[0], args[1])), 0o644))
	}
}
