package command

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"bgbench/pkg/cli"
)

// TestMain lets the test binary be the commands that the tests run.
func TestMain(m *testing.M) {
	switch os.Getenv("BG_TEST_ROLE") {
	case "command":
		os.Exit(waitForSignal())
	case "parent":
		os.Setenv("BG_TEST_ROLE", "command")
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err := Command{Args: os.Args[:1], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
		os.Exit(cli.Report(os.Stderr, "parent", err))
	}
	os.Exit(m.Run())
}

// waitForSignal says when it is ready and returns 100 and the number of the first
// signal, or 1 at the end of its input.
func waitForSignal() int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	fmt.Println("ready")
	ended := make(chan struct{})
	go func() { io.Copy(io.Discard, os.Stdin); close(ended) }()
	select {
	case s := <-signals:
		return 100 + int(s.(syscall.Signal))
	case <-ended:
		return 1
	}
}

// ready waits for the line of waitForSignal.
func ready(t *testing.T, r io.Reader) {
	t.Helper()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("found %q and error %v, expected ready", line, err)
	}
}

func code(err error) int { return cli.Report(io.Discard, "", err) }

func TestSignalsReachTheCommandAndItsCodeComesBack(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BG_TEST_ROLE=parent")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // away from a terminal
		stdin, _ := cmd.StdinPipe()                          // an end of the test ends them
		defer stdin.Close()
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready(t, stdout)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got, want := cmd.ProcessState.ExitCode(), 100+int(s); got != want {
			t.Errorf("%s: found exit code %d, expected %d", s, got, want)
		}
	}
}

func TestCancelledContextEndsTheCommand(t *testing.T) {
	t.Setenv("BG_TEST_ROLE", "command")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	input, keep, err := os.Pipe() // a file, which needs nobody to copy it
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	output, stdout := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Command{Args: os.Args[:1], Stdin: input, Stdout: stdout, Stderr: io.Discard}.Run(ctx)
	}()
	ready(t, output)
	cancel()
	if got, want := code(<-done), 100+int(syscall.SIGTERM); got != want {
		t.Errorf("found exit code %d, expected %d", got, want)
	}
}

func TestExitCodesOfCommands(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -KILL $$": 128 + 9} {
		var out bytes.Buffer
		err := Command{Args: []string{"sh", "-c", "cat; echo $X; " + script}, Env: []string{"X=y"}, Stdin: strings.NewReader("in "), Stdout: &out}.Run(t.Context())
		if got := code(err); got != want || out.String() != "in y\n" {
			t.Errorf("%s: found exit code %d and output %q, expected %d", script, got, out.String(), want)
		}
	}
}
