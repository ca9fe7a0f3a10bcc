package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"bgbench/pkg/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bg-report": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(run(ctx, cli.OSEnv(), os.Args))
		},
	})
}

// exits CODE COMMAND... runs a command that is to end with an exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s ended with exit code %d, want %s", args[1], got, args[0])
	}
}

// Scripts find results of four arms and three trials in $RESULTS.
func TestScripts(t *testing.T) {
	results, err := filepath.Abs("../../pkg/report/testdata/results.json")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("RESULTS", results)
			return nil
		},
	})
}
