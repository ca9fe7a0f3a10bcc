package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bgbench/pkg/analysis/analysistest"
)

// reading starts bg-analyze cell - and feeds it the first half of a stream that no
// pipe can hold, so that it is known to be past its start. It returns the rest.
func reading(t *testing.T) (command *exec.Cmd, stdin io.WriteCloser, stdout *bytes.Buffer, rest []byte) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "bg-analyze") // the name says which command the test binary is
	if err := os.Symlink(self, tool); err != nil {
		t.Fatal(err)
	}
	cell := analysistest.New(analysistest.S0, 1)
	cell.Requests = slices.Repeat(cell.Requests, 40)
	var stream bytes.Buffer
	if err := cell.Stream(&stream); err != nil {
		t.Fatal(err)
	}
	const pipe = 1 << 16
	half := stream.Len() / 2
	if half < 4*pipe {
		t.Fatalf("half of the stream has %d bytes, expected more than pipe and buffers hold", half)
	}
	stdout = &bytes.Buffer{}
	command = exec.CommandContext(t.Context(), tool, "cell", "-")
	command.Stdout, command.Stderr = stdout, t.Output()
	if stdin, err = command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(stream.Bytes()[:half]); err != nil {
		t.Fatal(err)
	}
	return command, stdin, stdout, stream.Bytes()[half:]
}

func TestTheFirstInterruptWaitsForTheEndOfThePipe(t *testing.T) {
	command, stdin, stdout, rest := reading(t)
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(rest); err != nil {
		t.Errorf("it did not read on: %v", err)
	}
	stdin.Close()
	if err := command.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if !strings.HasPrefix(stdout.String(), `{"arm":"s0-interactive-only"`) {
		t.Errorf("found %.100q, expected the summary of the cell", stdout)
	}
}

func TestTheSecondInterruptEndsIt(t *testing.T) {
	command, stdin, stdout, _ := reading(t)
	defer stdin.Close()
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	again := time.NewTicker(10 * time.Millisecond) // two signals at once are one
	defer again.Stop()
	for {
		select {
		case <-again.C:
			if err := command.Process.Signal(syscall.SIGINT); err != nil {
				continue // it is over, Wait says how
			}
		case <-ended:
			status := command.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != syscall.SIGINT {
				t.Errorf("it ended with %v, expected the interrupt to end it", command.ProcessState)
			}
			if stdout.Len() > 0 {
				t.Errorf("it wrote %.100q", stdout)
			}
			return
		}
	}
}
