package conform

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"bgbench/pkg/openai"
)

// progress is how the counts of a job changed.
type progress struct {
	Note    string              `json:"note"`
	Changes [][]json.RawMessage `json:"changes"` // seconds, status, completed

	requests, flight int
	latency          time.Duration
	at               []float64
	completed        []int
	statuses         []string
}

var wordsProgress = regexp.MustCompile(`(\d+) requests of (\d+) ms, (\d+) at a time`)

func (rec *progress) check(p place) error {
	found := wordsProgress.FindStringSubmatch(rec.Note)
	if found == nil {
		return p.fault("note", "found %q, expected N requests of N ms, N at a time", rec.Note)
	}
	rec.requests, _ = strconv.Atoi(found[1])
	ms, _ := strconv.Atoi(found[2])
	rec.flight, _ = strconv.Atoi(found[3])
	rec.latency = time.Duration(ms) * time.Millisecond
	for i, change := range rec.Changes {
		var at float64
		var status string
		var completed int
		if len(change) != 3 || json.Unmarshal(change[0], &at) != nil || json.Unmarshal(change[1], &status) != nil || json.Unmarshal(change[2], &completed) != nil {
			return p.fault("changes", "found %s at %d, expected [seconds, status, completed]", compact(change), i)
		}
		rec.at, rec.statuses, rec.completed = append(rec.at, at), append(rec.statuses, status), append(rec.completed, completed)
	}
	return p.requests(rec.requests, append(slices.Clone(p.path), "note")...)
}

// replay compares the changes of status and completed; the real processor did a tenth
// less in a second than its backend allowed.
func (rec *progress) replay(o *outcome) {
	r := newRig(o, plainConfig(1, 100, rec.flight), rec.latency)
	r.create(uniformInput("A", rec.requests, rec.latency), "1h", nil)
	var statuses []string
	var completed []int64
	var poll func()
	poll = func() {
		b := r.job(0)
		n := len(statuses)
		push := b.Status != openai.BatchFinalizing && (b.Status != openai.BatchInProgress || b.RequestCounts.Total > 0)
		if push && (n == 0 || statuses[n-1] != b.Status || completed[n-1] != b.RequestCounts.Completed) {
			statuses, completed = append(statuses, b.Status), append(completed, b.RequestCounts.Completed)
		}
		r.k.After(10*time.Millisecond, poll)
	}
	poll()
	r.run(50 * time.Millisecond)
	if !slices.Equal(statuses, rec.statuses) {
		o.differ("changes: got %v, want %v", statuses, rec.statuses)
		return
	}
	for i := range completed {
		if got, want := float64(completed[i]), float64(rec.completed[i]); math.Abs(got-want) > 0.1*want {
			o.differ("completed in change %d: got %v, want %v", i, got, want)
		}
	}
}
