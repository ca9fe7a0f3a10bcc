package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/deploy"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// hangingStack serves an inference endpoint that answers nothing, and calls arrived
// when the first request is there.
func hangingStack(arrived func()) *httptest.Server {
	var once sync.Once
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/chat/completions", func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		once.Do(arrived)
		<-r.Context().Done()
	})
	return httptest.NewServer(mux)
}

func TestAnInterruptedRunKeepsWhatItMeasured(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := hangingStack(interrupt)
	defer server.Close()
	dir := t.TempDir()
	inputs, stack, cell := filepath.Join(dir, "inputs"), filepath.Join(dir, "stack.json"), filepath.Join(dir, "cell")
	if err := writeTrial("unit", inputs); err != nil {
		t.Fatal(err)
	}
	plan, err := deploy.Plan(deploy.Request{Profile: "ci", Arm: "s1-no-gateway", Target: spec.TargetLocal, Trial: 1})
	if err != nil {
		t.Fatal(err)
	}
	plan.Experiment, plan.InferenceURL = "unit", server.URL
	if err := plan.Write(stack); err != nil {
		t.Fatal(err)
	}

	var stderr bytes.Buffer
	env := cli.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr,
		Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false },
	}
	code := run(ctx, env, []string{"bg-load", "--quiet", "run", "--stack", stack, "--inputs", inputs, "-o", cell})
	if code != cli.ExitInterrupted {
		t.Errorf("found exit code %d, expected %d; stderr: %s", code, cli.ExitInterrupted, &stderr)
	}
	if got, want := stderr.String(), "bg-load: interrupted, what was measured is kept: context canceled\n"; got != want {
		t.Errorf("found %q, expected %q", got, want)
	}

	var meta record.Metadata
	text, err := os.ReadFile(filepath.Join(cell, "run-metadata.json"))
	if err != nil || json.Unmarshal(text, &meta) != nil {
		t.Fatalf("reading the metadata: %v", err)
	}
	if !meta.Interrupted || meta.Clock != "wall" || meta.Load.WallSeconds <= 0 {
		t.Errorf("interrupted %v, clock %s, %v s", meta.Interrupted, meta.Clock, meta.Load.WallSeconds)
	}
	rows, err := record.ReadFile[record.Request](filepath.Join(cell, "requests.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	lines, sent := 0, 0
	for row, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Status != record.StatusIncomplete || row.DoneAt != nil {
			t.Errorf("%s: status %s, done %v, expected incomplete", row.RequestID, row.Status, row.DoneAt)
		}
		if row.Class == record.ClassBatchEquivalent {
			lines++
		}
		if row.SentAt != nil {
			sent++
		}
	}
	if lines != 24 || sent == 0 {
		t.Errorf("found %d lines of jobs and %d requests that were sent, expected 24 and more than 0", lines, sent)
	}
}
