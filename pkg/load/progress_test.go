package load

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

func TestProgressSaysWhereTheRunIs(t *testing.T) {
	k := kernel.NewVirtual()
	r, _ := virtualReplay(t, testSet(t, dues(0, 1), 3), k, answering(k, 2*time.Second, 0, 1), nil, spec.Backlog{Concurrency: 1})
	var lines []string
	r.cfg.Progress = func(p Progress) { lines = append(lines, p.String()) }
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for second, want := range map[int]string{
		0:  "0:00/0:25 lead: sent 0 of 2, in flight 1, ok 0, failed 0, jobs A 0/3",
		6:  "0:06/0:25 burst: sent 2 of 2, in flight 2, ok 0, failed 0, jobs A 3/3",
		16: "0:16/0:25 idle: sent 2 of 2, in flight 0, ok 2, failed 0, jobs A 3/3",
	} {
		if got := lines[second]; got != want {
			t.Errorf("after %d s found\n%s\nexpected\n%s", second, got, want)
		}
	}
}

func TestProgressTellsOfJobsThatDidNotComplete(t *testing.T) {
	p := Progress{
		Elapsed: 3725 * time.Second, Total: 2 * time.Hour, Phase: "drain",
		Jobs: []JobProgress{{"A", 5, 9, openai.BatchExpired, 100}, {"B", 9, 9, openai.BatchCompleted, 100}, {"C", 0, 9, "", 1_250_000}, {"D", 0, 9, "", 0}},
	}
	if got, want := p.String(), "1:02:05/2:00:00 drain: sent 0 of 0, in flight 0, ok 0, failed 0, jobs A 5/9 (expired) B 9/9 C uploaded 1.2 MB D 0/9"; got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
}

func TestAMeterPrintsTheLastState(t *testing.T) {
	for _, c := range []struct {
		name              string
		terminal, virtual bool
		want              string
	}{
		{"a line off a terminal", false, false, "0:05/0:10 idle: sent 1 of 2, in flight 0, ok 1, failed 0\n"},
		{"a bar on a terminal", true, false, "\r[============            ] 0:05/0:10 idle: sent 1 of 2, in flight 0, ok 1, failed 0\x1b[K\n"},
		{"simulated against wall seconds", false, true, "0:05/0:10 idle: sent 1 of 2, in flight 0, ok 1, failed 0 (simulated 5 s in "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			m := NewMeter(&out, c.terminal, c.virtual)
			m.Report(Progress{Elapsed: 5 * time.Second, Total: 10 * time.Second, Phase: "idle", Sent: 1, Due: 2, OK: 1})
			m.Close()
			if !strings.HasPrefix(out.String(), c.want) {
				t.Errorf("found %q, expected %q", out.String(), c.want)
			}
		})
	}
}

func TestAMeterOfARunThatNeverBeganPrintsNothing(t *testing.T) {
	var out bytes.Buffer
	NewMeter(&out, true, true).Close()
	if out.Len() != 0 {
		t.Errorf("found %q", out.String())
	}
}
