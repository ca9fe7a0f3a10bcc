package conform

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
)

// headerFile is headers.json.
type headerFile struct {
	Upstream []*upstreamHeaders `json:"upstream_headers"`
	Retry    []*retryPlan       `json:"retry"`
}

func headerCases(d document) ([]Case, error) {
	var file headerFile
	if err := d.decode(&file); err != nil {
		return nil, err
	}
	var cases []Case
	for i, rec := range file.Upstream {
		p := place{d, []any{"upstream_headers", i}}
		if rec == nil || rec.Name == "" {
			return nil, p.fault("name", "found none, expected the name of the case")
		}
		if err := rec.check(p); err != nil {
			return nil, err
		}
		cases = append(cases, Case{Name: "headers/" + rec.Name, File: d.file, replay: rec.replay})
	}
	for i, rec := range file.Retry {
		p := place{d, []any{"retry", i}}
		if rec == nil || rec.Name == "" {
			return nil, p.fault("name", "found none, expected the name of the case")
		}
		if err := rec.check(p); err != nil {
			return nil, err
		}
		cases = append(cases, Case{Name: "retry/" + rec.Name, File: d.file, replay: rec.replay})
	}
	return cases, nil
}

// upstreamHeaders are the headers of the inference requests of one job.
type upstreamHeaders struct {
	Name     string            `json:"name"`
	Note     string            `json:"note"`
	Create   headers           `json:"batch_create_headers"`
	Window   string            `json:"completion_window"`
	Settings settings          `json:"config"`
	First    map[string]string `json:"first_request_headers"`
	Names    []string          `json:"header_names"`
	Requests []staleRequest    `json:"requests"`
	Batch    struct {
		Status string               `json:"status"`
		Counts openai.RequestCounts `json:"request_counts"`
	} `json:"batch"`

	cfg    gateway.Config
	window time.Duration
}

// staleRequest is a request whose x-slo-ttft-ms was compared with the time that was
// really left.
type staleRequest struct {
	ID       string  `json:"id"`
	Attempt  int     `json:"attempt"`
	InFlight int     `json:"in_flight"`
	Arrival  float64 `json:"arrival_after_create_request_s"`
	Budget   int64   `json:"x_slo_ttft_ms"`
	Stale    float64 `json:"slo_minus_true_remaining_ms"`
}

func (rec *upstreamHeaders) check(p place) error {
	var err error
	if rec.cfg, err = rec.Settings.config(p.document, append(slices.Clone(p.path), "config")...); err != nil {
		return err
	}
	if rec.window, err = p.window(rec.Window, append(slices.Clone(p.path), "completion_window")...); err != nil {
		return err
	}
	if len(rec.Requests) == 0 || len(rec.Requests) > maxRequests {
		return p.fault("requests", "found %d, expected 1 to %d", len(rec.Requests), maxRequests)
	}
	// The settings leave out how many were in flight at most; the backend saw it.
	rec.cfg.Concurrency.PerEndpoint = 1
	for _, request := range rec.Requests {
		rec.cfg.Concurrency.PerEndpoint = min(max(rec.cfg.Concurrency.PerEndpoint, request.InFlight), rec.cfg.Concurrency.Global)
	}
	return nil
}

// attempts are those of the request that was sent most often.
func (rec *upstreamHeaders) attempts() (most int) {
	for _, request := range rec.Requests {
		most = max(most, request.Attempt)
	}
	return max(most, 1)
}

func (rec *upstreamHeaders) replay(o *outcome) {
	n, latency, plan := int(rec.Batch.Counts.Total), 20*time.Millisecond, "200"
	attempts, flight := rec.attempts(), rec.cfg.Concurrency.PerEndpoint
	switch {
	case attempts > 1: // what is retried is a 429
		plan = strings.Repeat("429,", min(attempts-1, maxRetries)) + "200"
	case len(rec.Requests) > flight:
		latency = seconds(rec.Requests[flight].Arrival - rec.Requests[0].Arrival).Round(100 * time.Millisecond)
	}
	r := newRig(o, rec.cfg, latency)
	var input strings.Builder
	for i := range min(n, maxRequests) {
		id := fmt.Sprintf("req-%04d", i)
		input.WriteString(lineFor(id, "m1", "id="+id+";plan="+plan, nil))
	}
	client := http.Header{}
	for _, pair := range rec.Create {
		client.Add(pair[0], pair[1])
	}
	r.create(input.String(), rec.Window, client)
	r.run(0)
	r.want("status", r.job(0).Status, rec.Batch.Status)
	r.want("counts", r.job(0).RequestCounts, rec.Batch.Counts)
	if len(r.backend.Log) != len(rec.Requests) {
		r.differ("requests: got %d, want %d", len(r.backend.Log), len(rec.Requests))
		return
	}
	rec.compareHeader(o, gateway.UpstreamHeader(r.backend.Log[0].Call))
	rec.compareBudgets(r)
}

// compareHeader compares the headers of the first request; what differs from one to
// the next is the business of others.
func (rec *upstreamHeaders) compareHeader(o *outcome, got http.Header) {
	const addressed, sized, named, stamped = "Host", "Content-Length", "X-Request-Id", "X-Slo-Ttft-Ms"
	want := map[string]any{}
	for name, value := range rec.First {
		want[name] = value
	}
	have := map[string]any{}
	for name := range got {
		have[name] = got.Get(name)
	}
	for _, values := range []map[string]any{want, have} {
		delete(values, addressed) // neither is there where no socket is
		delete(values, sized)
		for _, name := range []string{named, stamped} {
			if _, ok := values[name]; ok {
				values[name] = "set"
			}
		}
	}
	o.compareJSON("first_request_headers", have, want)
	names := sortedKeys(have)
	wantNames := slices.DeleteFunc(slices.Clone(rec.Names), func(name string) bool { return name == addressed || name == sized })
	slices.Sort(wantNames)
	if !slices.Equal(names, wantNames) {
		o.differ("header_names: got %v, want %v", names, wantNames)
	}
}

// compareBudgets compares how stale x-slo-ttft-ms is when a request arrives: three
// lines are read before they have a slot, and retries repeat it.
func (rec *upstreamHeaders) compareBudgets(r *rig) {
	const tolerance = 30 // ms; the machine's own
	retried := rec.attempts() > 1
	var got, want []float64
	first := r.backend.Log[0].Arrived
	for _, row := range r.backend.Log {
		left := rec.window - row.Arrived // the job was created at 0
		got = append(got, float64((row.Call.TTFTBudget - left).Milliseconds()))
		if retried { // stale by all that passed since the first attempt
			want = append(want, float64((row.Arrived - first).Milliseconds()))
		}
	}
	if !retried {
		for _, request := range rec.Requests {
			want = append(want, request.Stale)
		}
		// Requests that were sent together arrived in any order.
		slices.Sort(got)
		slices.Sort(want)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > tolerance {
			r.differ("x-slo-ttft-ms of request %d: got %v ms too large, want %v", i, got[i], want[i])
		}
	}
	if retried {
		rec.compareRepeats(r)
	}
}

// compareRepeats holds the recording against the rule: one budget for all attempts.
func (rec *upstreamHeaders) compareRepeats(r *rig) {
	budgets := map[string]int64{}
	for _, request := range rec.Requests {
		if known, ok := budgets[request.ID]; ok && known != request.Budget {
			r.differ("x-slo-ttft-ms of %s, attempt %d: got %d as before, want %d", request.ID, request.Attempt, known, request.Budget)
		}
		budgets[request.ID] = request.Budget
	}
}

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
