package conform

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/spec"
)

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
