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
	"bgbench/pkg/spec"
)

// orders is order.json: what was seen of queue, workers, plan and semaphores.
type orders struct {
	JobsOrder     []jobsOrder     `json:"jobs_order"`
	Concurrency   []concurrency   `json:"concurrency"`
	WithinJob     []withinJob     `json:"within_job"`
	WorkerRelease []workerRelease `json:"worker_release"`
	ConfigChecks  []configCheck   `json:"config_checks"`
	ModelOrder    *modelOrder     `json:"model_order"`
	LineURL       []lineURL       `json:"line_url_decides"`
	Progress      *progress       `json:"progress_updates"`
	SlotHeld      *slotHeld       `json:"slot_held_during_backoff"`
}

var orderSections = []string{
	"jobs_order", "concurrency", "within_job", "worker_release", "config_checks",
	"model_order", "line_url_decides", "progress_updates", "slot_held_during_backoff",
}

func orderCases(d document) ([]Case, error) {
	var o orders
	if err := d.decode(&o); err != nil {
		return nil, err
	}
	b := caseBuilder{d: d}
	for i, c := range o.JobsOrder {
		b.add("jobs_order", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.Concurrency {
		b.add("concurrency", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.WithinJob {
		b.add("within_job", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.WorkerRelease {
		b.add("worker_release", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.ConfigChecks {
		b.add("config_checks", i, c.Name, c.check, c.replay)
	}
	for i, c := range o.LineURL {
		b.add("line_url_decides", i, strings.Trim(c.LineURL, "/"), c.check, c.replay)
	}
	if o.ModelOrder != nil {
		b.add("model_order", -1, "first_model", o.ModelOrder.check, o.ModelOrder.replay)
	}
	if o.Progress != nil {
		b.add("progress_updates", -1, "changes", o.Progress.check, o.Progress.replay)
	}
	if o.SlotHeld != nil {
		b.add("slot_held_during_backoff", -1, "attempts", o.SlotHeld.check, o.SlotHeld.replay)
	}
	return b.cases, b.err
}

// caseBuilder collects the cases of a file and the first error in one.
type caseBuilder struct {
	d     document
	cases []Case
	err   error
}

// place is a document and the path of a case in it.
type place struct {
	document
	path []any
}

func (p place) fault(step any, format string, args ...any) error {
	return p.document.fault(append(slices.Clone(p.path), step), format, args...)
}

func (b *caseBuilder) add(section string, i int, name string, check func(place) error, replay func(*outcome)) {
	p := place{b.d, []any{section}}
	if i >= 0 {
		p.path = append(p.path, i)
	}
	if b.err != nil {
		return
	}
	if name == "" {
		b.err = p.fault("name", "found none, expected the name of the case")
		return
	}
	if b.err = check(p); b.err == nil {
		b.cases = append(b.cases, Case{Name: "order/" + section + "/" + name, File: b.d.file, replay: replay})
	}
}

// jobsOrder are jobs that were created together.
type jobsOrder struct {
	Name   string `json:"name"`
	Note   string `json:"note"`
	Config struct {
		Workers      int           `json:"num_workers"`
		Global       int           `json:"global"`
		PerEndpoint  int           `json:"per_endpoint"`
		AIMD         bool          `json:"aimd"`
		PollInterval spec.Duration `json:"poll_interval"`
	} `json:"config"`
	Jobs      []timedJob `json:"jobs"`
	Arrivals  string     `json:"arrival_order"`
	MaxFlight *int       `json:"max_in_flight_backend"`
}

type timedJob struct {
	Job          string               `json:"job"`
	Requests     int                  `json:"requests"`
	Window       string               `json:"completion_window"`
	Created      float64              `json:"created_s"`
	First        float64              `json:"first_arrival_s"`
	LastArrival  float64              `json:"last_arrival_s"`
	LastDone     float64              `json:"last_done_s"`
	TerminalSeen float64              `json:"terminal_seen_s"`
	Status       string               `json:"status"`
	Counts       openai.RequestCounts `json:"request_counts"`
}

func (p place) jobs(jobs []timedJob) error {
	if len(jobs) > maxJobs {
		return p.fault("jobs", "found %d, expected up to %d", len(jobs), maxJobs)
	}
	for i, job := range jobs {
		if job.Job == "" {
			return p.fault("jobs", "found no name of job %d", i)
		}
		if job.Requests < 1 || job.Requests > maxRequests {
			return p.fault("jobs", "found %d requests in job %s, expected 1 to %d", job.Requests, job.Job, maxRequests)
		}
		if _, err := time.ParseDuration(job.Window); err != nil {
			return p.fault("jobs", "found the window %q in job %s, expected a duration such as 1h", job.Window, job.Job)
		}
	}
	return nil
}

func (rec jobsOrder) check(p place) error {
	if len(rec.Jobs) == 0 && rec.Arrivals == "" {
		return p.fault("jobs", "found none, expected jobs or an arrival_order")
	}
	if rec.Config.AIMD {
		return p.fault("config", "found aimd true, expected false")
	}
	for _, id := range strings.Fields(rec.Arrivals) {
		if job, _, ok := cutNumber(id); !ok || job == "" {
			return p.fault("arrival_order", "found %q, expected JOB-NUMBER", id)
		}
	}
	return p.jobs(rec.Jobs)
}

// cutNumber splits JOB-NUMBER.
func cutNumber(id string) (job string, n int, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(id[i+1:])
	return id[:i], n, err == nil
}

// wordsLatency is how long a request of a case takes.
var wordsLatency = regexp.MustCompile(`(\d+) ms each`)

// usualLatency is what all of those took that do not say it.
const usualLatency = 150 * time.Millisecond

func latencyOf(note string) time.Duration {
	if found := wordsLatency.FindStringSubmatch(note); found != nil {
		ms, _ := strconv.Atoi(found[1]) // digits; too many of them are a long time
		return time.Duration(ms) * time.Millisecond
	}
	return usualLatency
}

// wordsIdle says that the processor was there before the jobs.
var wordsIdle = regexp.MustCompile(`\bprocessor idle\b`)

func (rec jobsOrder) replay(o *outcome) {
	cfg := plainConfig(rec.Config.Workers, max(rec.Config.Global, 100), rec.Config.PerEndpoint)
	if rec.Config.Global > 0 {
		cfg.Concurrency.Global = rec.Config.Global
	}
	if rec.Config.PollInterval > 0 {
		cfg.PollInterval = rec.Config.PollInterval
	}
	r := newRig(o, cfg, 0)
	if len(rec.Jobs) == 0 {
		rec.replayArrivals(r)
		return
	}
	for _, job := range rec.Jobs {
		input := uniformInput(job.Job, job.Requests, latencyOf(rec.Note))
		if wordsIdle.MatchString(rec.Note) {
			r.submit(20*time.Millisecond, input, job.Window)
		} else { // before the processor's first poll
			r.create(input, job.Window, nil)
		}
	}
	r.run(0)
	for i, job := range rec.Jobs {
		what := "job " + job.Job + ": "
		first, last := r.seen(job.Job + "-")
		if !near(first, job.First) {
			r.differ("%sfirst request: got %.2f s, want %.2f s", what, first, job.First)
		}
		if !near(last, job.LastDone) {
			r.differ("%slast answer: got %.2f s, want %.2f s", what, last, job.LastDone)
		}
		r.want(what+"status", r.job(i).Status, job.Status)
		r.want(what+"counts", r.job(i).RequestCounts, job.Counts)
	}
	if rec.MaxFlight != nil {
		r.want("in flight at most", r.maxFlight(""), *rec.MaxFlight)
	}
	r.want("requests", len(r.backend.Log), len(strings.Fields(rec.Arrivals)))
}

// replayArrivals compares the order of arrivals of jobs that are known by their
// requests alone: with one slot the waiting jobs take turns.
func (rec jobsOrder) replayArrivals(r *rig) {
	sizes := map[string]int{}
	for _, id := range strings.Fields(rec.Arrivals) {
		job, n, _ := cutNumber(id)
		sizes[job] = max(sizes[job], n+1)
	}
	for _, job := range sortedKeys(sizes) {
		r.create(uniformInput(job, min(sizes[job], maxRequests), usualLatency), "1h", nil)
	}
	r.run(0)
	r.want("arrival_order", strings.Join(r.arrivals(), " "), rec.Arrivals)
}

func (r *rig) arrivals() (ids []string) {
	for _, row := range r.backend.Log {
		ids = append(ids, row.ID)
	}
	return ids
}

// concurrency is what semaphores let through.
type concurrency struct {
	Name   string `json:"name"`
	Note   string `json:"note"`
	Config struct {
		Workers     int             `json:"num_workers"`
		Global      int             `json:"global"`
		PerEndpoint int             `json:"per_endpoint"`
		AIMD        bool            `json:"aimd"`
		Gateways    json.RawMessage `json:"gateways"` // 1, or {model: "own url" or "same url"}
	} `json:"config"`
	Jobs []struct {
		Job         string `json:"job"`
		Requests    int    `json:"requests"`
		MaxFlight   int    `json:"max_in_flight"`
		MaxFlightM1 *int   `json:"max_in_flight_m1"`
		MaxFlightM2 *int   `json:"max_in_flight_m2"`
	} `json:"jobs"`
	MaxFlight int     `json:"max_in_flight_backend"`
	ArrivalsA *string `json:"arrival_order_job_A"` // which models come first is drawn
}

func (rec concurrency) urls() map[string]string {
	var urls map[string]string
	if json.Unmarshal(rec.Config.Gateways, &urls) != nil {
		return nil // one for all models
	}
	return urls
}

func (rec concurrency) check(p place) error {
	for model, url := range rec.urls() {
		if url != "own url" && url != "same url" {
			return p.fault("config", "found %q for the gateway of %s, expected own url or same url", url, model)
		}
	}
	if rec.Config.AIMD {
		return p.fault("config", "found aimd true, expected false")
	}
	if len(rec.Jobs) == 0 || len(rec.Jobs) > maxJobs {
		return p.fault("jobs", "found %d, expected 1 to %d", len(rec.Jobs), maxJobs)
	}
	for _, job := range rec.Jobs {
		if job.Requests < 1 || job.Requests > maxRequests {
			return p.fault("jobs", "found %d requests in job %s, expected 1 to %d", job.Requests, job.Job, maxRequests)
		}
	}
	return nil
}

// draws is how many draws of the order of models a replay looks at: one of them keeps
// all endpoints as busy as they were.
const draws = 8

func (rec concurrency) replay(o *outcome) {
	urls := rec.urls()
	models := sortedKeys(urls)
	cfg := plainConfig(rec.Config.Workers, rec.Config.Global, rec.Config.PerEndpoint)
	for _, model := range models {
		url := "http://shared"
		if urls[model] == "own url" {
			url = "http://" + model
		}
		cfg.ModelGateways = append(cfg.ModelGateways, gateway.ModelGateway{Model: model, URL: url})
	}
	if len(models) == 0 {
		models = []string{"m1"}
	}
	most, most1 := 0, make([]int, len(rec.Jobs))
	for cfg.Seed = 1; cfg.Seed <= draws; cfg.Seed++ {
		r := newRig(o, cfg, 0)
		for _, job := range rec.Jobs {
			r.create(mixedModels(job.Job, job.Requests, models), "1h", nil)
		}
		r.run(0)
		most = max(most, r.maxFlight(""))
		for i, job := range rec.Jobs {
			most1[i] = max(most1[i], r.maxFlight(job.Job+"-"))
		}
	}
	o.want("in flight at most", most, rec.MaxFlight)
	for i, job := range rec.Jobs {
		// What a job gets beside others depends on who wakes first; it is never above
		// its own semaphore, and alone it is what was recorded.
		if most1[i] > rec.Config.Global || len(rec.Jobs) == 1 && most1[i] != job.MaxFlight {
			o.differ("job %s: in flight at most: got %d, want %d", job.Job, most1[i], job.MaxFlight)
		}
	}
}

// mixedModels interleaves requests for several models, the last one first.
func mixedModels(job string, n int, models []string) string {
	var b strings.Builder
	for i := range n {
		model := models[len(models)-1-i%len(models)]
		id := fmt.Sprintf("%s-%s-%03d", job, model, i)
		b.WriteString(lineFor(id, model, "id="+id+";lat=100", nil))
	}
	return b.String()
}

// withinJob is the order of the lines of a job.
type withinJob struct {
	Name        string `json:"name"`
	PerEndpoint int    `json:"per_endpoint"`
	Note        string `json:"note"`
	FileOrder   []struct {
		CustomID string  `json:"custom_id"`
		System   *string `json:"system"`
		Hash     uint32  `json:"fnv32a"`
	} `json:"file_order"`
	Arrivals      []string `json:"arrival_order"`
	ArrivalHashes []uint32 `json:"arrival_fnv32a"`
	Ascending     bool     `json:"ascending"`
	FileOrderKept bool     `json:"file_order_kept_inside_groups"`
}

func (rec withinJob) check(p place) error {
	if len(rec.FileOrder) == 0 || len(rec.FileOrder) > maxRequests {
		return p.fault("file_order", "found %d lines, expected 1 to %d", len(rec.FileOrder), maxRequests)
	}
	if len(rec.Arrivals) != len(rec.FileOrder) {
		return p.fault("arrival_order", "found %d, expected the %d of file_order", len(rec.Arrivals), len(rec.FileOrder))
	}
	if rec.PerEndpoint < 1 {
		return p.fault("per_endpoint", "found %d, expected 1 or more", rec.PerEndpoint)
	}
	return nil
}

// wordsModels says that a job was for two models.
var wordsModels = regexp.MustCompile(`(?i)two models`)

func (rec withinJob) replay(o *outcome) {
	var input strings.Builder
	hash := map[string]uint32{}
	two := wordsModels.MatchString(rec.Note)
	for _, line := range rec.FileOrder {
		hash[line.CustomID] = line.Hash
		o.want("fnv32a of "+line.CustomID, gateway.PrefixHash(line.System), line.Hash)
		model := "m1"
		if n, err := strconv.Atoi(strings.TrimLeft(line.CustomID, "r")); two && err == nil && n%2 == 0 {
			model = "m2"
		}
		input.WriteString(lineFor(line.CustomID, model, fmt.Sprintf("id=%s;lat=50", line.CustomID), line.System))
	}
	seeds := int64(1)
	if two { // which model comes first is drawn
		seeds = draws * draws
	}
	var got []string
	for seed := range seeds {
		cfg := plainConfig(1, 100, rec.PerEndpoint)
		cfg.Concurrency.Global = max(cfg.Concurrency.Global, rec.PerEndpoint)
		cfg.Seed = seed + 1
		r := newRig(o, cfg, 0)
		r.create(input.String(), "1h", nil)
		r.run(0)
		if got = r.arrivals(); rec.matches(got, hash) {
			return
		}
	}
	o.differ("arrival_order: got %v, want %v", got, rec.Arrivals)
}

// matches compares arrivals. Requests that were in flight together arrived in any
// order: what is left to compare then is the order of the keys.
func (rec withinJob) matches(got []string, hash map[string]uint32) bool {
	want := rec.Arrivals
	if rec.PerEndpoint == 1 {
		return slices.Equal(got, want)
	}
	hashes := func(ids []string) []uint32 {
		list := make([]uint32, len(ids))
		for i, id := range ids {
			list[i] = hash[id]
		}
		return list
	}
	sorted := hashes(want)
	slices.Sort(sorted)
	return slices.Equal(hashes(got), sorted) && slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

// workerRelease is when a worker takes the job after its first one.
type workerRelease struct {
	Name   string `json:"name"`
	Note   string `json:"note"`
	Config struct {
		Workers      int           `json:"num_workers"`
		PollInterval spec.Duration `json:"poll_interval"`
	} `json:"config"`
	Jobs []timedJob   `json:"jobs"`
	A    *releasedJob `json:"A"`
	B    *releasedJob `json:"B"`
}

type releasedJob struct {
	Status   string   `json:"status"`
	First    *float64 `json:"first_arrival_s"`
	Terminal float64  `json:"terminal_seen_s"`
}

func (rec workerRelease) check(p place) error {
	if len(rec.Jobs) == 0 && (rec.A == nil || rec.B == nil) {
		return p.fault("jobs", "found none, expected jobs, or A and B")
	}
	if rec.A != nil && !openai.Ended(rec.A.Status) {
		return p.fault("A", "found the status %q, expected the end of a job", rec.A.Status)
	}
	return p.jobs(rec.Jobs)
}

func (rec workerRelease) replay(o *outcome) {
	cfg := plainConfig(rec.Config.Workers, 100, 4)
	if rec.Config.PollInterval > 0 {
		cfg.PollInterval = rec.Config.PollInterval
	}
	cfg.RequestTimeout = spec.Duration(time.Hour)
	r := newRig(o, cfg, 0)
	if len(rec.Jobs) > 0 {
		for i, job := range rec.Jobs {
			latency := seconds(job.LastDone - job.First).Round(100 * time.Millisecond)
			r.submit(time.Duration(30+10*i)*time.Millisecond, uniformInput(job.Job, job.Requests, latency), job.Window)
		}
		r.run(0)
		for i, job := range rec.Jobs {
			rec.compare(r, i, job.Job, job.Status, &job.First)
		}
		return
	}
	a, window, cancel := uniformInput("A", 1, 0), "1h", time.Duration(0)
	switch {
	case rec.A.Status == openai.BatchFailed:
		a = "no JSON\n"
	case rec.A.Status == openai.BatchExpired && rec.A.First == nil:
		window = "0s"
	case rec.A.Status == openai.BatchCancelled:
		a, cancel = uniformInput("A", 1, time.Hour), seconds(rec.A.Terminal-0.03)
	case rec.A.First != nil:
		a = uniformInput("A", 1, seconds(rec.A.Terminal-*rec.A.First).Round(100*time.Millisecond))
	}
	r.submit(30*time.Millisecond, a, window)
	r.submit(40*time.Millisecond, uniformInput("B", 1, 200*time.Millisecond), "2h")
	if cancel > 0 {
		r.k.At(cancel, func() {
			if _, apiErr := r.g.Cancel(gateway.DefaultTenant, r.jobs[0]); apiErr != nil {
				r.differ("cancelling job A: %v", apiErr)
			}
		})
	}
	r.run(0)
	rec.compare(r, 0, "A", rec.A.Status, rec.A.First)
	rec.compare(r, 1, "B", rec.B.Status, rec.B.First)
}

func (rec workerRelease) compare(r *rig, i int, name, status string, first *float64) {
	r.want("job "+name+": status", r.job(i).Status, status)
	got, _ := r.seen(name + "-")
	switch {
	case first == nil && !math.IsInf(got, 1):
		r.differ("job %s: first request: got %.2f s, want none", name, got)
	case first != nil && !near(got, *first):
		r.differ("job %s: first request: got %.2f s, want %.2f s", name, got, *first)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// configCheck is a configuration that the processor refused.
type configCheck struct {
	Name   string `json:"name"`
	Config struct {
		Per  int       `json:"per"`
		Glob int       `json:"glob"`
		AIMD []float64 `json:"aimd"` // min, factor, increase
	} `json:"config"`
	Exit    int    `json:"exit"`
	Message string `json:"message"`
}

func (rec configCheck) check(p place) error {
	if n := len(rec.Config.AIMD); n != 0 && n != 3 {
		return p.fault("config", "found %d numbers of aimd, expected min, factor and increase", n)
	}
	return nil
}

func (rec configCheck) replay(o *outcome) {
	cfg := plainConfig(1, 100, 1)
	cfg.Concurrency.PerEndpoint = rec.Config.Per
	if rec.Config.Glob != 0 {
		cfg.Concurrency.Global = rec.Config.Glob
	}
	if a := rec.Config.AIMD; a != nil {
		cfg.Concurrency.AIMD = spec.AIMD{Enabled: true, Min: int(a[0]), BackoffFactor: a[1], AdditiveIncrease: int(a[2])}
	}
	if strings.Contains(rec.Message, "model_gateways") {
		o.notRun = "the model has one key for both kinds of gateways, so it cannot have both"
		return
	}
	got := ""
	if err := cfg.Validate(); err != nil {
		got = err.Error()
	}
	o.want("message", got, rec.Message)
	o.want("refused", got != "", rec.Exit != 0)
}

// modelOrder is which model came first in jobs with two.
type modelOrder struct {
	Note  string   `json:"note"`
	First []string `json:"first_model"`
}

func (rec *modelOrder) check(p place) error {
	for i, model := range rec.First {
		if model != "m1" && model != "m2" {
			return p.fault("first_model", "found %q at %d, expected m1 or m2", model, i)
		}
	}
	if len(rec.First) == 0 {
		return p.fault("first_model", "found none, expected one a job")
	}
	return nil
}

// replay holds the share of m1 against that of many draws: it must not be one that the
// rule makes unlikely (four standard deviations).
func (rec *modelOrder) replay(o *outcome) {
	const jobs = 64
	first := 0
	for seed := range jobs {
		cfg := plainConfig(1, 100, 1)
		cfg.Seed = int64(seed)
		r := newRig(o, cfg, 0)
		r.create(mixedModels("A", 6, []string{"m1", "m2"}), "1h", nil)
		r.run(0)
		models := ""
		for _, row := range r.backend.Log {
			models += row.Call.Model
		}
		switch models {
		case "m1m1m1m2m2m2":
			first++
		case "m2m2m2m1m1m1":
		default:
			o.differ("the models of job %d came as %s, want one after the other", seed, models)
		}
	}
	recorded := 0
	for _, model := range rec.First {
		if model == "m1" {
			recorded++
		}
	}
	share, n := float64(first)/jobs, float64(len(rec.First))
	if got := float64(recorded) / n; math.Abs(got-share) > 4*math.Sqrt(share*(1-share)/n) {
		o.differ("jobs that began with m1: got %.0f %%, want %.0f %%", 100*share, 100*got)
	}
}

// lineURL is where a line's url led.
type lineURL struct {
	Endpoint string               `json:"batch_endpoint"`
	LineURL  string               `json:"line_url"`
	Upstream []string             `json:"upstream_path"`
	Status   string               `json:"status"`
	Counts   openai.RequestCounts `json:"request_counts"`
}

func (rec lineURL) check(p place) error {
	if rec.Endpoint != chatPath {
		return p.fault("batch_endpoint", "found %q, expected %s", rec.Endpoint, chatPath)
	}
	return nil
}

func (rec lineURL) replay(o *outcome) {
	r := newRig(o, plainConfig(1, 100, 1), 0)
	r.create(strings.Replace(lineFor("a", "m1", "id=a", nil), chatPath, rec.LineURL, 1), "1h", nil)
	r.run(0)
	var paths []string
	for _, row := range r.backend.Log {
		path := row.Call.Path
		if path == "" {
			path = chatPath
		}
		paths = append(paths, path)
	}
	if !slices.Equal(paths, rec.Upstream) {
		o.differ("upstream_path: got %v, want %v", paths, rec.Upstream)
	}
	o.want("status", r.job(0).Status, rec.Status)
	o.want("counts", r.job(0).RequestCounts, rec.Counts)
}

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

// slotHeld are requests that wait for a retry before others that want their slots.
type slotHeld struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Backend []row  `json:"backend"`

	flight  int
	initial time.Duration
}

var wordsSlots = regexp.MustCompile(`per_endpoint (\d+); .*initial_backoff ([0-9.]+) s`)

func (rec *slotHeld) check(p place) error {
	found := wordsSlots.FindStringSubmatch(rec.Note)
	if found == nil {
		return p.fault("note", "found %q, expected per_endpoint N and initial_backoff N s", rec.Note)
	}
	rec.flight, _ = strconv.Atoi(found[1])
	rec.initial, _ = time.ParseDuration(found[2] + "s")
	if len(rec.Backend) == 0 {
		return p.fault("backend", "found no rows, expected those of the backend")
	}
	return nil
}

func (rec *slotHeld) replay(o *outcome) {
	cfg := plainConfig(1, 100, rec.flight)
	cfg.InitialBackoff, cfg.MaxBackoff = spec.Duration(rec.initial), spec.Duration(2*rec.initial)
	plans, most := map[string][]string{}, 1
	for _, row := range rec.Backend {
		plans[row.id] = append(plans[row.id], row.answer)
		most = max(most, len(plans[row.id]))
	}
	cfg.MaxRetries = min(most-1, maxRetries)
	r := newRig(o, cfg, 50*time.Millisecond)
	var input strings.Builder
	for _, id := range sortedKeys(plans) {
		input.WriteString(lineFor(id, "m1", "id="+id+";plan="+strings.Join(plans[id], ","), nil))
	}
	r.create(input.String(), "1h", nil)
	r.run(0)
	var got, want []string
	for _, row := range r.backend.Log {
		got = append(got, fmt.Sprint(row.ID, " ", row.Attempt))
	}
	for _, row := range rec.Backend {
		want = append(want, fmt.Sprint(row.id, " ", row.attempt))
	}
	for _, list := range [][]string{got, want} { // requests in flight together come in any order
		for volley := range slices.Chunk(list, max(rec.flight, 1)) {
			slices.Sort(volley)
		}
	}
	if !slices.Equal(got, want) {
		o.differ("attempts: got %v, want %v", got, want)
	}
}
