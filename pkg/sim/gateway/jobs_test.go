package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/openai"
)

// recordedJob is jobs/NAME/job.json: a job on the real gateway, polled every 30 ms.
type recordedJob struct {
	Name             string
	CompletionWindow string `json:"completion_window"`
	Config           recordedConfig
	Latency          float64 `json:"backend_default_latency_ms"`
	Cancel           *struct {
		At float64 `json:"t_s"`
	}
	Polls []struct {
		Batch openai.Batch
	} `json:"polls_on_change"`
	Backend [][]json.RawMessage // t_s, done_s, id, attempt, in flight, answer
}

// TestRecordedJobs runs each recorded job with its scripted backend and compares
// the way through the statuses, the counts and the result files.
func TestRecordedJobs(t *testing.T) {
	dirs, err := filepath.Glob("testdata/jobs/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded jobs: %v", err)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) { replayJob(t, name) })
	}
}

func replayJob(t *testing.T, name string) {
	var rec recordedJob
	readRecording(t, filepath.Join("jobs", name, "job.json"), &rec)
	r := newRig(t, rec.Config.config(t), time.Duration(rec.Latency*float64(time.Millisecond)))

	// The job is created as long before a poll as it was then.
	wait := 0.2
	if len(rec.Backend) > 0 {
		decode(t, rec.Backend[0][0], &wait)
	}
	poll := 2 * r.g.cfg.PollInterval.Std()
	created := poll + ingestTime - time.Duration(wait*float64(time.Second))
	r.submit(created, readText(t, filepath.Join("jobs", name, "input.jsonl")), rec.CompletionWindow)
	if rec.Cancel != nil {
		r.k.At(created+time.Duration(rec.Cancel.At*float64(time.Second)), func() {
			if _, apiErr := r.g.Cancel(DefaultTenant, r.jobs[0].ID); apiErr != nil {
				t.Error(apiErr)
			}
		})
	}
	polls := r.record()
	r.run(time.Second)

	if missing := notIn(*polls, rec.Polls); missing != "" {
		t.Errorf("statuses: recorded %v, ours %v: no %s", statuses(rec.Polls), *polls, missing)
	}
	got, want := r.jobs[0].object(), rec.Polls[len(rec.Polls)-1].Batch
	if len(rec.Backend) > 0 && want.Status == openai.BatchInProgress {
		want.Status = openai.BatchCompleted // that recording stops early
		want.RequestCounts.Completed = want.RequestCounts.Total
	}
	if got.Status != want.Status || got.RequestCounts != want.RequestCounts {
		t.Errorf("ended %s %+v, recorded %s %+v", got.Status, got.RequestCounts, want.Status, want.RequestCounts)
	}
	compareResults(t, r, "output", got.OutputFileID, name)
	compareResults(t, r, "error", got.ErrorFileID, name)
}

// record polls the job and keeps the statuses that it went through.
func (r *rig) record() *[]string {
	seen := &[]string{}
	var poll func()
	poll = func() {
		if len(r.jobs) > 0 {
			if s := r.jobs[0].Status; len(*seen) == 0 || (*seen)[len(*seen)-1] != s {
				*seen = append(*seen, s)
			}
		}
		r.k.After(time.Millisecond, poll)
	}
	poll()
	return seen
}

func statuses(polls []struct{ Batch openai.Batch }) (list []string) {
	for _, p := range polls {
		list = append(list, p.Batch.Status)
	}
	return slices.Compact(list)
}

// notIn returns the first recorded status that ours lacks in that order. Polls of
// 30 ms have missed some of those that are short.
func notIn(ours []string, polls []struct{ Batch openai.Batch }) string {
	for _, status := range statuses(polls) {
		i := slices.Index(ours, status)
		if i < 0 {
			return status
		}
		ours = ours[i+1:]
	}
	return ""
}

func compareResults(t *testing.T, r *rig, kind string, id *string, name string) {
	t.Helper()
	path := filepath.Join("jobs", name, kind+".jsonl")
	var want []openai.BatchOutput
	if _, err := os.Stat(filepath.Join("testdata", path)); err == nil {
		want = parseResults(t, readText(t, path))
	}
	if diff := cmp.Diff(byCustomID(want), byCustomID(r.resultLines(id))); diff != "" {
		t.Errorf("%s file differs (- recorded, + ours):\n%s", kind, diff)
	}
}
