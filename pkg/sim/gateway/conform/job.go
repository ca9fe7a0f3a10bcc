package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// job is jobs/NAME/job.json: a job on the real gateway with every change of its object.
type job struct {
	Name     string   `json:"name"`
	Note     string   `json:"note"`
	Window   string   `json:"completion_window"`
	Settings settings `json:"config"`
	Latency  float64  `json:"backend_default_latency_ms"`
	Cancel   *struct {
		At     float64      `json:"t_s"`
		Status int          `json:"status"`
		Batch  openai.Batch `json:"batch"`
	} `json:"cancel"`
	PollEvery float64 `json:"poll_every_s"`
	Polls     []struct {
		At    float64      `json:"t_s"`
		Batch openai.Batch `json:"batch"`
	} `json:"polls_on_change"`
	Columns []string `json:"backend_columns"`
	Backend []row    `json:"backend"`

	cfg                    gateway.Config
	input, outputs, errors string
}

// row is one attempt as the recorded backend saw it.
type row struct {
	arrived, done float64
	id            string
	attempt       int
	inFlight      int
	answer        string
}

// UnmarshalJSON reads [arrived, done, id, attempt, in flight, answer].
func (r *row) UnmarshalJSON(text []byte) error {
	var cells []json.RawMessage
	if err := json.Unmarshal(text, &cells); err != nil {
		return odd(text, "backend: found %s, expected a row", compact(json.RawMessage(text)))
	}
	into := []any{&r.arrived, &r.done, &r.id, &r.attempt, &r.inFlight}
	if len(cells) != len(into)+1 {
		return odd(text, "backend: found a row of %d columns, expected %d", len(cells), len(into)+1)
	}
	for i := range into {
		if err := json.Unmarshal(cells[i], into[i]); err != nil {
			return odd(text, "backend: column %d of %s: %v", i, compact(json.RawMessage(text)), err)
		}
	}
	r.answer = strings.Trim(string(cells[len(into)]), `"`)
	return nil
}

func jobCase(d document) ([]Case, error) {
	j := &job{}
	if err := d.decode(j); err != nil {
		return nil, err
	}
	if j.Name == "" {
		return nil, d.fault([]any{"name"}, "found none, expected the name of the job")
	}
	if _, err := d.window(j.Window, "completion_window"); err != nil {
		return nil, err
	}
	if len(j.Polls) == 0 {
		return nil, d.fault([]any{"polls_on_change"}, "found none, expected one or more")
	}
	if j.Latency < 0 {
		return nil, d.fault([]any{"backend_default_latency_ms"}, "found %v, expected 0 or more", j.Latency)
	}
	var err error
	if j.cfg, err = j.Settings.config(d, "config"); err != nil {
		return nil, err
	}
	folder := filepath.Dir(d.file)
	if j.input, err = besides(folder, "input.jsonl", true); err != nil {
		return nil, err
	}
	if j.outputs, err = besides(folder, "output.jsonl", false); err != nil {
		return nil, err
	}
	if j.errors, err = besides(folder, "error.jsonl", false); err != nil {
		return nil, err
	}
	c := Case{Name: "jobs/" + j.Name, File: d.file, replay: j.replay}
	if window, _ := time.ParseDuration(j.Window); len(j.cfg.ModelGateways) == 0 && len(j.Backend) == 0 && (window <= 0 || !j.expired()) {
		c.ask = func(ctx context.Context, live *Live, o *outcome) { live.askJob(ctx, j, o) }
	}
	return []Case{c}, nil
}

// besides reads a file beside a job; all but the input may be missing.
func besides(folder, name string, required bool) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) && !required {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading a job: %w", err)
	}
	return string(text), nil
}

func (j *job) last() openai.Batch { return j.Polls[len(j.Polls)-1].Batch }

func (j *job) expired() bool { return j.last().Status == openai.BatchExpired }

func (j *job) replay(o *outcome) {
	r := newRig(o, j.cfg, time.Duration(j.Latency*float64(time.Millisecond)))
	// The job is created as long before a poll as it was then: what was recorded of it
	// is its first request.
	wait := 0.2
	if len(j.Backend) > 0 {
		wait = j.Backend[0].arrived
	}
	created := 2*j.cfg.PollInterval.Std() + gateway.IngestTime - time.Duration(wait*float64(time.Second))
	r.submit(created, j.input, j.Window)
	if j.Cancel != nil {
		r.k.At(created+time.Duration(j.Cancel.At*float64(time.Second)), func() { j.cancel(r) })
	}
	seen := r.record()
	r.run(time.Second)

	if missing := missing(*seen, j.statuses()); missing != "" {
		r.differ("statuses: got %v, want %v", *seen, j.statuses())
	}
	j.compareEnd(o, r.job(0))
	got := r.job(0)
	r.compareResults("output file", r.content(got.OutputFileID), j.outputs)
	r.compareResults("error file", r.content(got.ErrorFileID), j.errors)
	j.compareAttempts(r)
}

func (j *job) cancel(r *rig) {
	got, apiErr := r.g.Cancel(gateway.DefaultTenant, r.jobs[0])
	switch {
	case apiErr != nil:
		r.want("cancel: status", apiErr.Status, j.Cancel.Status)
	default:
		r.want("cancel: status", 200, j.Cancel.Status)
		r.compareObjects("cancel", got, j.Cancel.Batch)
	}
}

// compareEnd compares the last object, or the counts where the recording stops early.
func (j *job) compareEnd(o *outcome, got openai.Batch) {
	want := j.last()
	if !openai.Ended(want.Status) {
		o.want("status", got.Status, openai.BatchCompleted)
		o.want("total", got.RequestCounts.Total, want.RequestCounts.Total)
		return
	}
	o.compareObjects("batch", got, want)
}

// compareObjects compares two batch objects but for ids, instants and metadata, which
// replays do not send.
func (o *outcome) compareObjects(what string, got, want openai.Batch) {
	got.Metadata, want.Metadata = nil, nil
	o.compareJSON(what, plain(got), plain(want))
}

func plain(b openai.Batch) any {
	text, err := json.Marshal(b)
	if err != nil { // a batch always has a JSON form
		panic(err)
	}
	var v any
	json.Unmarshal([]byte(hideIDs(string(text))), &v) // it was written just now
	return hideInstants(v)
}

// record polls the first job and keeps the statuses that it went through.
func (r *rig) record() *[]string {
	seen := &[]string{}
	var poll func()
	poll = func() {
		if len(r.jobs) > 0 {
			if s := r.job(0).Status; len(*seen) == 0 || (*seen)[len(*seen)-1] != s {
				*seen = append(*seen, s)
			}
		}
		r.k.After(time.Millisecond, poll)
	}
	poll()
	return seen
}

func (j *job) statuses() (list []string) {
	for _, p := range j.Polls {
		list = append(list, p.Batch.Status)
	}
	return slices.Compact(list)
}

// missing returns the first recorded status that ours lacks in that order. Recorded
// polls have missed some of those that are short.
func missing(ours, recorded []string) string {
	for _, status := range recorded {
		i := slices.Index(ours, status)
		if i < 0 {
			return status
		}
		ours = ours[i+1:]
	}
	return ""
}

// compareAttempts compares how often each request was made. Waits are drawn, so where
// the job was cut off it is left open how many retries came before.
func (j *job) compareAttempts(r *rig) {
	got, want := map[string]int{}, map[string]int{}
	retried := map[string]bool{}
	for _, row := range j.Backend {
		want[row.id]++
		retried[row.id] = retried[row.id] || row.answer != "200" && row.answer != "client_gone"
	}
	for _, row := range r.backend.Log {
		got[row.ID]++
	}
	if j.last().Status != openai.BatchCompleted {
		for id := range retried {
			if retried[id] {
				delete(got, id)
				delete(want, id)
			}
		}
	}
	r.compareJSON("attempts", counted(got), counted(want))
}

func counted(m map[string]int) map[string]any {
	list := map[string]any{}
	for key, n := range m {
		list[key] = n
	}
	return list
}
