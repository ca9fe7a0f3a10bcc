package conform

import (
	"math"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/spec"
)

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
