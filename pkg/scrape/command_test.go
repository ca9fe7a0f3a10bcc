package scrape

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
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

func TestFileIsWholeWhenTheCommandFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	_, err := During(t.Context(), upConfig(), path, Command{Args: []string{"sh", "-c", "exit 7"}})
	if code(err) != 7 {
		t.Errorf("found %v, expected exit code 7", err)
	}
	if _, err := record.ReadFile[record.Sample](path); err != nil {
		t.Error(err)
	}
}

func TestFailureToRecordIsReportedBesideTheCommands(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 1, "exit 7": 7} {
		full := errors.New("no space left on device")
		err := withStatus(Command{Args: []string{"sh", "-c", script}}.Run(t.Context()), full)
		var stderr strings.Builder
		if got := cli.Report(&stderr, "bg-scrape", err); got != want || stderr.String() != "bg-scrape: no space left on device\n" {
			t.Errorf("%s: found exit code %d and %q, expected %d and the failure", script, got, stderr.String(), want)
		}
	}
}

func TestCommandDoesNotBeginIfNothingCanBeRecorded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	began := filepath.Join(dir, "began")
	_, err := During(t.Context(), upConfig(), filepath.Join(file, "metrics.parquet"), Command{Args: []string{"touch", began}})
	if code(err) != cli.ExitFailed || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("found %v", err)
	}
	if _, err := os.Stat(began); err == nil {
		t.Error("the command ran")
	}
}

func TestFirstRoundIsWrittenBeforeTheCommandBegins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	_, err := During(t.Context(), upConfig(), path, Command{Args: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.ReadFile[record.Sample](path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for _, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("found %d rows, expected x, up and scrape_duration_seconds", n)
	}
}

func TestCommandThatDoesNotExistBeginsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	command := Command{Args: []string{"bg-no-such-program"}}
	_, err := During(t.Context(), Config{Interval: 1e9}, path, command)
	if code(err) != cli.ExitUsage || code(FromModel(t.Context(), path, command)) != cli.ExitUsage {
		t.Errorf("found %v, expected a usage error", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("left %v behind", left)
	}
}

func TestNothingIsLeftWhenNoEndpointAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	_, err := ToFile(t.Context(), downConfig(), path)
	if err == nil || !strings.Contains(err.Error(), "no endpoint answered: a at http://a/metrics: connection refused") {
		t.Errorf("found %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("left %v behind", left)
	}
}

func TestStreamIsNeverMoreThanARoundBehind(t *testing.T) {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := ToStream(ctx, Config{Endpoints: []Endpoint{{"a", "http://a/metrics"}}, Interval: 1e6, Client: upClient()}, w)
		w.Close()
		done <- err
	}()
	rows, err := record.NewReader[record.Sample](r)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 7 { // of the third round
			cancel()
		}
	}
	if err := <-done; err != nil || n < 7 {
		t.Errorf("found error %v and %d rows", err, n)
	}
}

func TestSamplesOfTheModelBecomeAFile(t *testing.T) {
	dir := t.TempDir()
	path, stream := filepath.Join(dir, "metrics.parquet"), filepath.Join(dir, "stream")
	var b bytes.Buffer
	out, err := record.NewStreamWriter[record.Sample](&b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Write(record.Sample{Metric: "z"}, record.Sample{Metric: "a"}), out.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		stream []byte
		script string
		code   int
		stderr string
		file   bool
	}{
		{"whole", b.Bytes(), `cat "$0" >"$BG_MODEL_SAMPLES"`, 0, "", true},
		{"whole of a run that was interrupted", b.Bytes(), `cat "$0" >"$BG_MODEL_SAMPLES"; exit 130`, 130, "", true},
		{"cut", b.Bytes()[:b.Len()-4], `cat "$0" >"$BG_MODEL_SAMPLES"; exit 9`, 9, "cut off before its end", false},
		{"none", nil, "exit 0", 1, "sh wrote no samples to " + path + ".partial, which BG_MODEL_SAMPLES names", false},
		{"none of a run that failed", nil, "exit 2", 2, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.Remove(path)
			if err := os.WriteFile(stream, c.stream, 0o644); err != nil {
				t.Fatal(err)
			}
			err := FromModel(t.Context(), path, Command{Args: []string{"sh", "-c", c.script, stream}})
			var stderr strings.Builder
			if got := cli.Report(&stderr, "bg-scrape", err); got != c.code || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("found exit code %d and %q, expected %d and %q", got, stderr.String(), c.code, c.stderr)
			}
			r, err := record.ReadFile[record.Sample](path)
			if (err == nil) != c.file {
				t.Fatalf("found error %v, expected a file: %t", err, c.file)
			}
			if err != nil {
				return
			}
			defer r.Close()
			for row, err := range r.All() {
				if err != nil || row.Metric != "a" {
					t.Errorf("first row: found %q and error %v, expected a", row.Metric, err)
				}
				break
			}
		})
	}
}
