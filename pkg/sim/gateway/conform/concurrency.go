package conform

import (
	"encoding/json"
	"fmt"
	"strings"

	"bgbench/pkg/sim/gateway"
)

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
