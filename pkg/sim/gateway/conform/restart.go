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
	"bgbench/pkg/spec"
)

// restartFile is restart.json.
type restartFile struct {
	Note        string         `json:"note"`
	Experiments []*restart     `json:"experiments"`
	Cut         *partialOutput `json:"sigkill_partial_output_cut"`
}

// partialOutput is what was uploaded of a large output after a SIGKILL.
type partialOutput struct {
	Status    string               `json:"status"`
	Counts    openai.RequestCounts `json:"request_counts"`
	Bytes     int                  `json:"output_bytes"`
	Complete  int                  `json:"complete_json_lines"`
	LastBytes int                  `json:"last_line_bytes"`
	LastValid bool                 `json:"last_line_valid_json"`
}

// restart is one job under whose processor something happened.
type restart struct {
	Name     string `json:"name"`
	Signal   string `json:"signal"`
	Note     string `json:"note"`
	Settings struct {
		Workers         int           `json:"num_workers"`
		PerEndpoint     int           `json:"per_endpoint"`
		ShutdownTimeout spec.Duration `json:"shutdown_timeout"`
		PollInterval    spec.Duration `json:"poll_interval"`
	} `json:"config"`
	Requests  int                 `json:"requests"`
	Latency   float64             `json:"latency_ms"`
	Window    string              `json:"window"`
	Recovery  []string            `json:"startup_recovery_metric"`
	Events    []restartEvent      `json:"events"`
	Polls     [][]json.RawMessage `json:"polls"` // seconds, batch
	Lines     *int                `json:"output_lines"`
	Errors    *int                `json:"error_lines"`
	Codes     []string            `json:"error_codes"`
	Total     int                 `json:"backend_requests_total"`
	Twice     int                 `json:"requests_sent_twice"`
	ErrorLine json.RawMessage     `json:"error_first_line"`

	cut        *partialOutput // of the case that it was recorded with
	statuses   []string
	gcInterval time.Duration
	size       int // of an answer's text, 0 for the usual one
}

// restartEvent is [seconds, what, data].
type restartEvent struct {
	at   float64
	what string
	data eventData
}

type eventData struct {
	Signal    string          `json:"signal"`
	Batch     *openai.Batch   `json:"batch"`
	Arrived   *int            `json:"backend_arrived"`
	Done      *int            `json:"backend_done_200"`
	Gone      *int            `json:"client_gone"`
	Exit      *int            `json:"exit"`
	WorkDir   [][2]any        `json:"work_dir_files"` // name, bytes
	RedisKeys json.RawMessage `json:"redis_keys"`     // for people
}

const (
	eventSignal  = "signal"
	eventEnded   = "process ended"
	eventAfter   = "after end"
	eventStarted = "processor started again, ready"
	eventWiped   = "work dir wiped (pod deleted)"
	eventGC      = "batch-gc started"
	eventGaveUp  = "gave up waiting"
	eventEnd     = "end"
)

var restartEvents = []string{eventSignal, eventEnded, eventAfter, eventStarted, eventWiped, eventGC, eventGaveUp, eventEnd}

func (e *restartEvent) UnmarshalJSON(text []byte) error {
	var cells []json.RawMessage
	if err := json.Unmarshal(text, &cells); err != nil {
		return odd(text, "events: found %s, expected a list", compact(json.RawMessage(text)))
	}
	if len(cells) != 3 || json.Unmarshal(cells[0], &e.at) != nil || json.Unmarshal(cells[1], &e.what) != nil {
		return odd(text, "events: found %s, expected [seconds, what, data]", compact(json.RawMessage(text)))
	}
	if !slices.Contains(restartEvents, e.what) {
		return odd(text, "events: found %q, expected one of %s", e.what, strings.Join(restartEvents, ", "))
	}
	if err := strict(cells[2], &e.data); err != nil {
		return odd(text, "events: data of %s: %v", e.what, err)
	}
	return nil
}

func restartCases(d document) ([]Case, error) {
	var file restartFile
	if err := d.decode(&file); err != nil {
		return nil, err
	}
	if len(file.Experiments) == 0 {
		return nil, d.fault([]any{"experiments"}, "found none, expected one or more")
	}
	var cases []Case
	for i, rec := range file.Experiments {
		p := place{d, []any{"experiments", i}}
		if rec == nil || rec.Name == "" {
			return nil, p.fault("name", "found none, expected the name of the experiment")
		}
		if err := rec.check(p); err != nil {
			return nil, err
		}
		if rec.size > 0 {
			rec.cut = file.Cut
		}
		cases = append(cases, Case{Name: "restart/" + rec.Name, File: d.file, replay: rec.replay})
	}
	return cases, nil
}

var (
	wordsGC   = regexp.MustCompile(`batch-gc .*interval (\d+) s`)
	wordsSize = regexp.MustCompile(`(\d+) kB per answer`)
)

func (rec *restart) check(p place) error {
	if rec.Signal != spec.SignalTerm && rec.Signal != spec.SignalKill {
		return p.fault("signal", "found %q, expected %s or %s", rec.Signal, spec.SignalTerm, spec.SignalKill)
	}
	if rec.Requests < 1 || rec.Requests > maxRequests {
		return p.fault("requests", "found %d, expected 1 to %d", rec.Requests, maxRequests)
	}
	if rec.Latency < 0 {
		return p.fault("latency_ms", "found %v, expected 0 or more", rec.Latency)
	}
	if _, err := p.window(rec.Window, append(slices.Clone(p.path), "window")...); err != nil {
		return err
	}
	last := 0.0
	has := map[string]bool{}
	for i, e := range rec.Events {
		if e.at < last || e.at > patience.Seconds() {
			return p.document.fault(append(slices.Clone(p.path), "events", i), "found %v s, expected %v to %v", e.at, last, patience.Seconds())
		}
		last, has[e.what] = e.at, true
	}
	if !has[eventSignal] {
		return p.fault("events", "found none called %s", eventSignal)
	}
	for i, poll := range rec.Polls {
		var b openai.Batch
		if len(poll) != 2 || json.Unmarshal(poll[1], &b) != nil {
			return p.document.fault(append(slices.Clone(p.path), "polls", i), "found %s, expected [seconds, batch]", compact(poll))
		}
		rec.statuses = append(rec.statuses, b.Status)
	}
	rec.statuses = slices.Compact(rec.statuses)
	if found := wordsGC.FindStringSubmatch(rec.Note); found != nil {
		n, _ := strconv.Atoi(found[1]) // digits; too many of them are a long time
		rec.gcInterval = time.Duration(n) * time.Second
	} else if has[eventGC] {
		return p.fault("note", "found %q, expected the interval of batch-gc", rec.Note)
	}
	if found := wordsSize.FindStringSubmatch(rec.Note); found != nil {
		n, _ := strconv.Atoi(found[1])
		rec.size = 1000 * n
	}
	return nil
}

// untilTaken is how long a job waits for a worker: a poll interval, nearly, as they
// were created when the processor had just looked.
const untilTaken = 290 * time.Millisecond

// latency is that of the backend. Where fewer answers had come at the signal than that
// allows, large ones took longer.
func (rec *restart) latency() time.Duration {
	latency := rec.Latency
	for _, e := range rec.Events {
		if e.what == eventSignal && e.data.Done != nil && rec.Settings.PerEndpoint > 0 {
			rounds := float64(*e.data.Done) / float64(rec.Settings.PerEndpoint)
			left := 1000*e.at - float64(untilTaken.Milliseconds())
			if math.Floor(left/latency) > rounds {
				latency = left / (rounds + 0.5)
			}
		}
	}
	return time.Duration(latency * float64(time.Millisecond))
}

func (rec *restart) replay(o *outcome) {
	cfg := plainConfig(rec.Settings.Workers, 100, rec.Settings.PerEndpoint)
	if rec.Settings.PollInterval > 0 {
		cfg.PollInterval = rec.Settings.PollInterval
	}
	r := newRig(o, cfg, rec.latency())
	var input strings.Builder
	for i := range rec.Requests {
		id := fmt.Sprintf("req-%04d", i)
		script := "id=" + id
		if rec.size > 0 {
			script += ";size=" + strconv.Itoa(rec.size)
		}
		input.WriteString(lineFor(id, "m1", script, nil))
	}
	created := cfg.PollInterval.Std() - untilTaken
	r.submit(created, input.String(), rec.Window)
	at := func(e restartEvent) time.Duration { return created + seconds(e.at) }
	signal, ended := time.Duration(0), time.Duration(0)
	for _, e := range rec.Events {
		switch e.what {
		case eventSignal:
			signal = at(e)
			r.k.At(signal, func() {
				rec.compareBackend(r, e)
				r.g.Stop(rec.Signal, func() { ended = r.k.Now() })
			})
		case eventEnded:
			r.k.At(at(e)+seconds(slack), func() {
				if got := (ended - created).Seconds(); ended == 0 || !near(got, e.at) {
					r.differ("end of the process: got %.2f s, want %.2f s", got, e.at)
				}
			})
		case eventAfter:
			r.k.At(at(e)+seconds(slack), func() { rec.compareLeft(r, e) })
		case eventWiped:
			r.k.At(at(e)+seconds(slack)+2, r.g.LoseWorkDir)
		case eventStarted:
			r.k.At(at(e)+seconds(slack)+3, r.g.Start)
		case eventGC:
			r.k.At(at(e)+seconds(slack)+4, func() { r.g.StartGC(rec.gcInterval) })
		}
	}
	seen := r.record()
	r.run(0)
	if missing := missing(*seen, rec.statuses); missing != "" {
		r.differ("statuses: got %v, want %v", *seen, rec.statuses)
	}
	rec.compareEnd(r)
}
