package scrape

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bgbench/pkg/cli"
	"bgbench/pkg/command"
	"bgbench/pkg/record"
)

func code(err error) int { return cli.Report(io.Discard, "", err) }

func TestFileIsWholeWhenTheCommandFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	_, err := During(t.Context(), upConfig(), path, command.Command{Args: []string{"sh", "-c", "exit 7"}})
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
		err := withStatus(command.Command{Args: []string{"sh", "-c", script}}.Run(t.Context()), full)
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
	_, err := During(t.Context(), upConfig(), filepath.Join(file, "metrics.parquet"), command.Command{Args: []string{"touch", began}})
	if code(err) != cli.ExitFailed || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("found %v", err)
	}
	if _, err := os.Stat(began); err == nil {
		t.Error("the command ran")
	}
}

func TestFirstRoundIsWrittenBeforeTheCommandBegins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	_, err := During(t.Context(), upConfig(), path, command.Command{Args: []string{"true"}})
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
	if n != 5 {
		t.Errorf("found %d rows, expected x and the four of a scrape", n)
	}
}

func TestCommandThatDoesNotExistBeginsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	missing := command.Command{Args: []string{"bg-no-such-program"}}
	_, err := During(t.Context(), Config{Interval: 1e9}, path, missing)
	if code(err) != cli.ExitUsage || code(FromModel(t.Context(), path, missing)) != cli.ExitUsage {
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
		if n++; n == 11 { // of the third round
			cancel()
		}
	}
	if err := <-done; err != nil || n < 11 {
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
			err := FromModel(t.Context(), path, command.Command{Args: []string{"sh", "-c", c.script, stream}})
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
