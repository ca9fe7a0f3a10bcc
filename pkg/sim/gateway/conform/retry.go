package conform

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// retryPlan are requests with one plan of answers.
type retryPlan struct {
	Name    string          `json:"name"`
	Plan    string          `json:"plan"`
	Note    string          `json:"note"`
	Gateway json.RawMessage `json:"gateway"`
	Batch   struct {
		Status string               `json:"status"`
		Counts openai.RequestCounts `json:"request_counts"`
	} `json:"batch"`
	Wall     float64 `json:"wall_s"`
	Requests []struct {
		ID       string    `json:"id"`
		Attempts int       `json:"attempts"`
		Statuses []any     `json:"statuses"`
		Delays   []float64 `json:"delays_ms"`
		Times    []float64 `json:"attempt_ms"`
	} `json:"requests"`
	Output json.RawMessage `json:"output_first_line"`
	Error  json.RawMessage `json:"error_first_line"`

	cfg gateway.Config
}

func (rec *retryPlan) check(p place) error {
	s := settings{Gateway: rec.Gateway}
	s.Concurrency.PerEndpoint = 100
	var err error
	if rec.cfg, err = s.config(p.document, p.path...); err != nil {
		return err
	}
	for i, answer := range strings.Split(rec.Plan, ",") {
		if !isAnswer(answer) {
			return p.fault("plan", "found %q as answer %d, expected a status or a word such as close", answer, i+1)
		}
	}
	return p.requests(int(rec.Batch.Counts.Total), append(slices.Clone(p.path), "batch", "request_counts", "total")...)
}

// isAnswer reports whether the scripted backend has an answer.
func isAnswer(answer string) bool {
	head, _, _ := strings.Cut(answer, "/")
	if n, err := strconv.Atoi(head); err == nil {
		return n >= 100 && n < 600
	}
	return slices.Contains([]string{"hang", "close", "refused", "badjson", "array", "empty", "text"}, head)
}

// waitBounds is the rule of the backoff written as an interval in ms: what the wait
// after the answer to an attempt may be.
func waitBounds(answer string, attempt int, initial, most float64) (low, high float64) {
	clamp := func(ms float64) float64 { return math.Min(math.Max(ms, initial), most) }
	base, ceiling := initial, most
	switch status, header, _ := strings.Cut(answer, "/"); status {
	case "429":
		var seconds float64
		if n, _ := fmt.Sscanf(header, "ra=%f", &seconds); n == 1 {
			return clamp(1000 * seconds), clamp(1000 * seconds)
		}
		if n, _ := fmt.Sscanf(header, "rad=%f", &seconds); n == 1 { // a date has whole seconds
			return clamp(1000*seconds - 1000), clamp(1000 * seconds)
		}
		base = 3 * initial
	case "502", "503", "504":
		ceiling = most / 2
	}
	for range attempt - 1 {
		base = math.Min(2*base, ceiling)
	}
	return clamp(base / 2), clamp(base * 3 / 2)
}

// replay compares attempts, answers and results. Waits are drawn: each, recorded or
// ours, must lie in the interval that the rule allows.
func (rec *retryPlan) replay(o *outcome) {
	answers := rec.Plan
	if strings.Contains(string(rec.Error), "connection refused") { // nobody was there to follow the plan
		answers = "refused"
	}
	r := newRig(o, rec.cfg, 20*time.Millisecond)
	var input strings.Builder
	for i := range int(rec.Batch.Counts.Total) {
		id := fmt.Sprintf("req-%04d", i)
		input.WriteString(lineFor(id, "m1", "id="+id+";plan="+answers, nil))
	}
	r.create(input.String(), "1h", nil)
	r.run(0)
	r.want("status", r.job(0).Status, rec.Batch.Status)
	r.want("counts", r.job(0).RequestCounts, rec.Batch.Counts)
	plan := strings.Split(answers, ",")
	initial, most := float64(rec.cfg.InitialBackoff.Std().Milliseconds()), float64(rec.cfg.MaxBackoff.Std().Milliseconds())
	for _, request := range rec.Requests {
		statuses, delays := r.attempts(request.ID)
		var want []string
		for _, s := range request.Statuses {
			want = append(want, fmt.Sprint(s))
		}
		if !slices.Equal(statuses, want) || len(want) != request.Attempts || len(request.Delays) > len(delays) {
			r.differ("%s: answers: got %v, want %v in %d attempts", request.ID, statuses, want, request.Attempts)
			continue
		}
		for j, recorded := range request.Delays {
			low, high := waitBounds(plan[min(j, len(plan)-1)], j+1, initial, most)
			// Recorded waits include a few ms of the machine's own.
			if recorded < low-2 || recorded > high+25 {
				r.differ("%s: wait %d: got %v to %v ms, want %v", request.ID, j+1, low, high, recorded)
			}
			if d := delays[j]; d < low-0.001 || d > high+0.001 {
				r.differ("%s: wait %d: got %v ms, want %v to %v", request.ID, j+1, d, low, high)
			}
		}
	}
	b := r.job(0)
	r.compareFirst("output_first_line", r.content(b.OutputFileID), rec.Output)
	r.compareFirst("error_first_line", r.content(b.ErrorFileID), rec.Error)
}

// attempts lists the answers to a request and the waits between them in ms.
func (r *rig) attempts(id string) (answers []string, delays []float64) {
	var last time.Duration
	for _, row := range r.backend.Log {
		if row.ID != id {
			continue
		}
		if len(answers) > 0 {
			delays = append(delays, float64(row.Arrived-last)/1e6)
		}
		answers = append(answers, statusOf(row.Answer))
		last = row.Done
	}
	return answers, delays
}

// statusOf is what the recorded backend logged for an answer of a plan.
func statusOf(answer string) string {
	switch status, _, _ := strings.Cut(answer, "/"); status {
	case "close":
		return "closed"
	case "empty", "array", "badjson":
		return "200"
	case "text":
		return "500"
	default:
		return status
	}
}

// requestName is the name of a request in a case.
var requestName = regexp.MustCompile(`req-\d{4}`)

// compareFirst compares the first line of a result file. Which of the requests it is
// for does not matter.
func (r *rig) compareFirst(what, content string, recorded json.RawMessage) {
	first, _, _ := strings.Cut(content, "\n")
	if len(recorded) == 0 || string(recorded) == "null" {
		r.want(what, first, "")
		return
	}
	if first == "" {
		r.differ("%s: got none, want %s", what, compact(recorded))
		return
	}
	var short string
	if json.Unmarshal(recorded, &short) == nil { // "(200)": the status is all that was kept
		var line openai.BatchOutput
		if json.Unmarshal([]byte(first), &line) != nil || line.Response == nil || fmt.Sprintf("(%d)", line.Response.StatusCode) != short {
			r.differ("%s: got %s, want %s", what, compact(json.RawMessage(first)), short)
		}
		return
	}
	anyName := func(text string) string {
		return requestName.ReplaceAllString(strings.NewReplacer("http://<backend>", backendURL, "<backend>", "backend:8000").Replace(text), "req")
	}
	text := joinLines([]json.RawMessage{json.RawMessage(anyName(string(recorded)))})
	r.compareJSON(what, r.resultLines(what, anyName(first)), r.resultLines(what+" as recorded", text))
}
