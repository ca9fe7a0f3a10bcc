package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway/scripted"
	"bgbench/pkg/spec"
)

// orders is order.json: what was seen of queue, workers, plan and semaphores.
type orders struct {
	JobsOrder   []jobsOrder `json:"jobs_order"`
	Concurrency []struct {
		Name   string
		Config struct {
			Workers     int `json:"num_workers"`
			Global      int
			PerEndpoint int             `json:"per_endpoint"`
			Gateways    json.RawMessage // 1 or {model: "own url" or "same url"}
		}
		Jobs []struct {
			Requests  int
			MaxFlight int `json:"max_in_flight"`
		}
		MaxFlight int `json:"max_in_flight_backend"`
	}
	ConfigChecks []struct {
		Name, Message string
		Config        struct {
			Per, Glob int
			AIMD      []float64
		}
	} `json:"config_checks"`
	WithinJob []struct {
		Name        string
		PerEndpoint int `json:"per_endpoint"`
		FileOrder   []struct {
			CustomID string `json:"custom_id"`
			System   *string
			Hash     uint32 `json:"fnv32a"`
		} `json:"file_order"`
		Arrivals []string `json:"arrival_order"`
	} `json:"within_job"`
	WorkerRelease []workerRelease `json:"worker_release"`
	ModelOrder    struct {
		First []string `json:"first_model"`
	} `json:"model_order"`
	LineURL []struct {
		LineURL  string   `json:"line_url"`
		Upstream []string `json:"upstream_path"`
	} `json:"line_url_decides"`
	Progress struct{ Changes [][]any } `json:"progress_updates"`
	SlotHeld struct{ Backend [][]any } `json:"slot_held_during_backoff"`
}

type jobsOrder struct {
	Name   string
	Config struct {
		Workers      int           `json:"num_workers"`
		Global       int           `json:"global"`
		PerEndpoint  int           `json:"per_endpoint"`
		PollInterval spec.Duration `json:"poll_interval"`
	}
	Jobs     []timedJob
	Arrivals string `json:"arrival_order"`
}

type timedJob struct {
	Job      string
	Requests int
	Window   string  `json:"completion_window"`
	First    float64 `json:"first_arrival_s"`
	LastDone float64 `json:"last_done_s"`
}

type workerRelease struct {
	Name string
	Jobs []timedJob
	A, B struct {
		Status string
		First  *float64 `json:"first_arrival_s"`
	}
}

func readOrders(t *testing.T) (o orders) {
	readRecording(t, "order.json", &o)
	return o
}

func plainConfig(workers, global, perEndpoint int) Config {
	cfg := Config{EndpointURL: backendURL, Seed: 1}
	cfg.NumWorkers, cfg.PollInterval = workers, spec.Duration(300*time.Millisecond)
	cfg.Quirks = spec.ObservedQuirks()
	cfg.Concurrency.Global, cfg.Concurrency.PerEndpoint = global, perEndpoint
	cfg.RequestTimeout, cfg.InitialBackoff, cfg.MaxBackoff = spec.Duration(time.Minute), spec.Duration(200*time.Millisecond), spec.Duration(2*time.Second)
	return cfg
}

// first and last say when the requests whose ids begin with prefix were seen.
func (r *rig) first(prefix string) (first, last float64) {
	first = math.Inf(1)
	for _, row := range r.backend.Log {
		if strings.HasPrefix(row.ID, prefix) {
			first, last = min(first, row.Arrived.Seconds()), max(last, row.Done.Seconds())
		}
	}
	return first, last
}

// slack is what the real machine needs beyond the model, in seconds: its polls,
// starts of jobs and 72 requests at 1 ms each.
const slack = 0.6

func near(got, recorded float64) bool { return math.Abs(got-recorded) <= slack }

func TestJobsStartByDeadlineAndShareTheEndpoint(t *testing.T) {
	for _, rec := range readOrders(t).JobsOrder {
		t.Run(rec.Name, func(t *testing.T) {
			if len(rec.Jobs) == 0 {
				equalWindows(t, rec)
				return
			}
			cfg := plainConfig(rec.Config.Workers, rec.Config.Global, rec.Config.PerEndpoint)
			cfg.PollInterval = rec.Config.PollInterval
			r := newRig(t, cfg, 0)
			at := time.Duration(0) // before the processor's first poll
			if strings.Contains(rec.Name, "idle") {
				at = 20 * time.Millisecond
			}
			for _, job := range rec.Jobs {
				input := uniformInput(job.Job, job.Requests, 150*time.Millisecond)
				if at == 0 {
					r.jobs = append(r.jobs, r.create(input, job.Window))
				} else {
					r.submit(at, input, job.Window)
				}
			}
			r.run(0)
			for _, job := range rec.Jobs {
				if first, last := r.first(job.Job); !near(first, job.First) || !near(last, job.LastDone) {
					t.Errorf("job %s: first request at %.2f s, last answer at %.2f s; recorded %.2f and %.2f",
						job.Job, first, last, job.First, job.LastDone)
				}
			}
			if flight := maxFlight(r.backend.Log, ""); flight != rec.Config.PerEndpoint {
				t.Errorf("%d in flight, expected %d", flight, rec.Config.PerEndpoint)
			}
		})
	}
}

// equalWindows: with one slot the waiting jobs take turns.
func equalWindows(t *testing.T, rec jobsOrder) {
	r := newRig(t, plainConfig(rec.Config.Workers, 100, rec.Config.PerEndpoint), 0)
	for _, job := range []string{"P", "Q", "R"} {
		r.jobs = append(r.jobs, r.create(uniformInput(job, 4, 150*time.Millisecond), "1h"))
	}
	r.run(0)
	var arrivals []string
	for _, row := range r.backend.Log {
		arrivals = append(arrivals, row.ID)
	}
	if got := strings.Join(arrivals, " "); got != rec.Arrivals {
		t.Errorf("arrivals %s, recorded %s", got, rec.Arrivals)
	}
}

func TestAWorkerIsHeldUntilItsEventReadEnds(t *testing.T) {
	for _, rec := range readOrders(t).WorkerRelease {
		t.Run(rec.Name, func(t *testing.T) {
			a, b, window := uniformInput("A", 1, 0), uniformInput("B", 1, 200*time.Millisecond), "1h"
			cancel := time.Duration(0)
			var firstB float64
			switch rec.Name {
			case "job_of_25_s":
				a = uniformInput("A", 1, 25*time.Second)
			case "job_failed_at_ingestion":
				a = "no JSON\n"
			case "job_expired_in_queue":
				window = "0s"
			case "job_cancelled_after_3_s":
				a, cancel = uniformInput("A", 1, time.Minute), 3100*time.Millisecond
			default:
				job := rec.Jobs[0]
				a = uniformInput("A", job.Requests, time.Duration((job.LastDone-job.First)*1e9).Round(100*time.Millisecond))
				firstB = rec.Jobs[1].First
			}
			if rec.B.First != nil {
				firstB = *rec.B.First
			}
			r := newRig(t, plainConfig(1, 100, 4), 0)
			r.submit(30*time.Millisecond, a, window)
			r.submit(40*time.Millisecond, b, "2h")
			if cancel > 0 {
				r.k.At(cancel, func() {
					if _, apiErr := r.g.Cancel(DefaultTenant, r.jobs[0].ID); apiErr != nil {
						t.Error(apiErr)
					}
				})
			}
			r.run(0)
			if first, _ := r.first("B"); !near(first, firstB) {
				t.Errorf("job B starts at %.2f s, recorded %.2f", first, firstB)
			}
			if rec.A.Status != "" && r.jobs[0].Status != rec.A.Status {
				t.Errorf("job A ended %s, recorded %s", r.jobs[0].Status, rec.A.Status)
			}
		})
	}
}

func TestQuirksCanBeSwitchedOff(t *testing.T) {
	t.Run("a worker is free when its job has ended", func(t *testing.T) {
		cfg := plainConfig(1, 100, 4)
		cfg.Quirks.WorkerHeldAfterJob = false
		r := newRig(t, cfg, 0)
		r.jobs = append(r.jobs, r.create(uniformInput("A", 2, time.Second), "1h"), r.create(uniformInput("B", 2, time.Second), "2h"))
		r.run(0)
		if first, _ := r.first("B"); first > 1.2 {
			t.Errorf("job B starts at %.2f s, expected it right after job A", first)
		}
	})
	t.Run("global bounds all jobs together", func(t *testing.T) {
		for quirk, want := range map[bool]int{false: 6, true: 12} {
			cfg := plainConfig(2, 6, 6)
			cfg.ModelGateways = []ModelGateway{{"m1", "http://one"}, {"m2", "http://two"}}
			cfg.Quirks.GlobalPerJob = quirk
			r := newRig(t, cfg, 0)
			r.jobs = append(r.jobs, r.create(uniformInput("A", 30, time.Second), "1h"),
				r.create(strings.ReplaceAll(uniformInput("B", 30, time.Second), `"m1"`, `"m2"`), "1h"))
			r.run(0)
			if flight := maxFlight(r.backend.Log, ""); flight != want {
				t.Errorf("global per job %t: %d in flight, expected %d", quirk, flight, want)
			}
		}
	})
}

// maxFlight is the largest number in flight of the requests whose ids begin with
// prefix.
func maxFlight(log []scripted.Row, prefix string) int {
	type edge struct {
		at    time.Duration
		delta int
	}
	var edges []edge
	for _, row := range log {
		if strings.HasPrefix(row.ID, prefix) {
			edges = append(edges, edge{row.Arrived, 1}, edge{row.Done, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.delta - b.delta // a slot is free before it is taken again
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.delta
		most = max(most, now)
	}
	return most
}

func TestConcurrencyOfJobsAndEndpoints(t *testing.T) {
	for _, rec := range readOrders(t).Concurrency {
		t.Run(rec.Name, func(t *testing.T) {
			cfg := plainConfig(rec.Config.Workers, rec.Config.Global, rec.Config.PerEndpoint)
			var urls map[string]string
			if json.Unmarshal(rec.Config.Gateways, &urls) == nil {
				for _, model := range sortedKeys(urls) {
					url := "http://shared"
					if urls[model] == "own url" {
						url = "http://" + model
					}
					cfg.ModelGateways = append(cfg.ModelGateways, ModelGateway{model, url})
				}
			}
			// Which model a job begins with is drawn; some draw keeps both endpoints
			// as busy as they were then.
			most := 0
			for cfg.Seed = 1; cfg.Seed <= 8; cfg.Seed++ {
				r := newRig(t, cfg, 0)
				for i, job := range rec.Jobs {
					r.jobs = append(r.jobs, r.create(twoModels(string(rune('A'+i)), job.Requests, len(urls)), "1h"))
				}
				r.run(0)
				flight := maxFlight(r.backend.Log, "")
				if flight > rec.MaxFlight {
					t.Errorf("%d in flight, recorded %d", flight, rec.MaxFlight)
				}
				most = max(most, flight)
				for i := range rec.Jobs {
					job := string(rune('A' + i))
					if flight := maxFlight(r.backend.Log, job); flight > rec.Config.Global {
						t.Errorf("job %s: %d in flight, above global %d", job, flight, rec.Config.Global)
					}
				}
			}
			if most != rec.MaxFlight {
				t.Errorf("at most %d in flight, recorded %d", most, rec.MaxFlight)
			}
		})
	}
}

// twoModels interleaves requests for m1 and m2 when there are two gateways.
func twoModels(job string, n, gateways int) string {
	var b strings.Builder
	for i := range n {
		model := "m1"
		if gateways == 2 && i%2 == 0 {
			model = "m2"
		}
		id := fmt.Sprintf("%s-%s-%03d", job, model, i)
		b.WriteString(lineFor(id, model, "id="+id+";lat=100", nil))
	}
	return b.String()
}

func TestOrderInsideAJob(t *testing.T) {
	for _, rec := range readOrders(t).WithinJob {
		t.Run(rec.Name, func(t *testing.T) {
			var input strings.Builder
			model := func(i int) string {
				if rec.Name == "two_models_serial" && i%2 == 0 {
					return "m2"
				}
				return "m1"
			}
			hash := map[string]uint32{}
			for i, line := range rec.FileOrder {
				hash[line.CustomID] = line.Hash
				input.WriteString(lineFor(line.CustomID, model(i), fmt.Sprintf("id=%s;lat=50", line.CustomID), line.System))
			}
			cfg := plainConfig(1, 100, rec.PerEndpoint)
			if rec.Name == "two_models_serial" {
				cfg.Seed = 2 // draws m1 first, as the recorded job did
			}
			r := newRig(t, cfg, 0)
			r.jobs = append(r.jobs, r.create(input.String(), "1h"))
			r.run(0)
			var arrivals []string
			for _, row := range r.backend.Log {
				arrivals = append(arrivals, row.ID)
			}
			want := rec.Arrivals
			if rec.PerEndpoint > 1 {
				// Requests that were in flight together arrived in any order: what is
				// left to compare is the order of the keys.
				arrivals, want = hashes(arrivals, hash), hashes(want, hash)
				slices.Sort(want)
			}
			if !slices.Equal(arrivals, want) {
				t.Errorf("arrivals\n%v, recorded\n%v", arrivals, want)
			}
		})
	}
}

func hashes(ids []string, hash map[string]uint32) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = fmt.Sprintf("%010d", hash[id])
	}
	return list
}

func TestModelsComeOneAfterTheOtherInADrawnOrder(t *testing.T) {
	first := map[string]int{}
	for seed := range 64 {
		cfg := plainConfig(1, 100, 1)
		cfg.Seed = int64(seed)
		r := newRig(t, cfg, 0)
		r.jobs = append(r.jobs, r.create(twoModels("A", 6, 2), "1h"))
		r.run(0)
		models := ""
		for _, row := range r.backend.Log {
			models += row.Call.Model
		}
		if models != "m1m1m1m2m2m2" && models != "m2m2m2m1m1m1" {
			t.Fatalf("models were mixed: %s", models)
		}
		first[models[:2]]++
	}
	recorded := map[string]int{}
	for _, m := range readOrders(t).ModelOrder.First {
		recorded[m]++
	}
	// Recorded 14 of 16; the rule gives seven of eight, 56 of 64.
	if first["m1"] < 48 || first["m2"] == 0 {
		t.Errorf("first model %v in 64 jobs, recorded %v in 16", first, recorded)
	}
}

func TestTheURLOfALineDecidesThePath(t *testing.T) {
	for _, rec := range readOrders(t).LineURL {
		r := newRig(t, plainConfig(1, 100, 1), 0)
		line := strings.Replace(lineFor("a", "m1", "id=a", nil), chatPath, rec.LineURL, 1)
		r.jobs = append(r.jobs, r.create(line, "1h"))
		r.run(0)
		path := r.backend.Log[0].Call.Path
		if path == "" {
			path = chatPath
		}
		if path != rec.Upstream[0] || r.jobs[0].RequestCounts.Completed != 1 {
			t.Errorf("line url %s: upstream path %s, recorded %s; %+v", rec.LineURL, path, rec.Upstream[0], r.jobs[0].RequestCounts)
		}
	}
}

func TestASlotIsHeldThroughBackoff(t *testing.T) {
	cfg := plainConfig(1, 100, 2)
	cfg.MaxRetries, cfg.InitialBackoff, cfg.MaxBackoff = 1, spec.Duration(1500*time.Millisecond), spec.Duration(3*time.Second)
	r := newRig(t, cfg, 50*time.Millisecond)
	var input strings.Builder
	for _, id := range []string{"x-0", "x-1", "y-0", "y-1", "y-2", "y-3", "y-4", "y-5"} {
		script := "id=" + id
		if id[0] == 'x' {
			script += ";plan=503,200"
		}
		input.WriteString(lineFor(id, "m1", script, nil))
	}
	r.jobs = append(r.jobs, r.create(input.String(), "1h"))
	r.run(0)
	var got, want []string
	for _, row := range r.backend.Log {
		got = append(got, fmt.Sprint(row.ID, " ", row.Attempt))
	}
	for _, row := range readOrders(t).SlotHeld.Backend {
		want = append(want, fmt.Sprint(row[2], " ", row[3]))
	}
	for _, list := range [][]string{got, want} { // requests in flight together come in any order
		for i := 0; i+1 < len(list); i += 2 {
			slices.Sort(list[i : i+2])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("attempts %v, recorded %v", got, want)
	}
}

func TestProgressIsPushedOnceASecond(t *testing.T) {
	r := newRig(t, plainConfig(1, 100, 8), 50*time.Millisecond)
	r.jobs = append(r.jobs, r.create(uniformInput("A", 400, 50*time.Millisecond), "1h"))
	var ours []string
	var poll func()
	poll = func() {
		o := r.jobs[0].object()
		if o.Status != openai.BatchFinalizing {
			if s := fmt.Sprint(o.Status, " ", o.RequestCounts.Completed); o.RequestCounts.Total > 0 && (len(ours) == 0 || ours[len(ours)-1] != s) {
				ours = append(ours, s)
			}
		}
		r.k.After(10*time.Millisecond, poll)
	}
	poll()
	r.run(0)
	// The real processor did 144 and 296 in the same time: 50 ms and some overhead each.
	want := []string{"in_progress 152", "in_progress 312", "completed 400"}
	if len(ours) != len(readOrders(t).Progress.Changes)-1 || !slices.Equal(ours, want) {
		t.Errorf("progress %v, expected %v", ours, want)
	}
}

func TestConfigIsRefusedInTheProcessorsWords(t *testing.T) {
	for _, rec := range readOrders(t).ConfigChecks {
		t.Run(rec.Name, func(t *testing.T) {
			if rec.Name == "global_and_model_gateways" {
				return // Config has no way to say that
			}
			cfg := plainConfig(1, max(rec.Config.Glob, 100), rec.Config.Per)
			if rec.Config.Glob > 0 {
				cfg.Concurrency.Global = rec.Config.Glob
			}
			if a := rec.Config.AIMD; a != nil {
				cfg.Concurrency.AIMD = spec.AIMD{Enabled: true, Min: int(a[0]), BackoffFactor: a[1], AdditiveIncrease: int(a[2])}
			}
			if err := cfg.Validate(); err == nil || err.Error() != rec.Message {
				t.Errorf("%v, recorded %q", err, rec.Message)
			}
		})
	}
}
