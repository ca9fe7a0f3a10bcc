package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway/scripted"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// recordedConfig is a processor configuration as the recordings hold it.
type recordedConfig struct {
	NumWorkers   int           `json:"num_workers"`
	PollInterval spec.Duration `json:"poll_interval"`
	Concurrency  struct {
		Global      int `json:"global"`
		PerEndpoint int `json:"per_endpoint"`
		AIMD        struct {
			Enabled          bool    `json:"enabled"`
			Min              int     `json:"min"`
			BackoffFactor    float64 `json:"backoff_factor"`
			AdditiveIncrease int     `json:"additive_increase"`
		} `json:"aimd"`
	} `json:"concurrency"`
	SendFairnessHeader bool            `json:"send_fairness_header"`
	Gateway            json.RawMessage `json:"gateway"`
}

type recordedGateway struct {
	URL            string        `json:"url"`
	RequestTimeout spec.Duration `json:"request_timeout"`
	MaxRetries     int           `json:"max_retries"`
	InitialBackoff spec.Duration `json:"initial_backoff"`
	MaxBackoff     spec.Duration `json:"max_backoff"`
	Objective      string        `json:"inference_objective"`
}

const backendURL = "http://backend:8000"

func (c recordedConfig) config(t *testing.T) Config {
	t.Helper()
	cfg := Config{EndpointURL: backendURL, Seed: 1, SendFairnessHeader: c.SendFairnessHeader}
	cfg.NumWorkers, cfg.PollInterval = max(c.NumWorkers, 1), c.PollInterval
	cfg.Quirks = spec.ObservedQuirks()
	if cfg.PollInterval == 0 {
		cfg.PollInterval = spec.Duration(300 * time.Millisecond)
	}
	cfg.Concurrency.Global, cfg.Concurrency.PerEndpoint = c.Concurrency.Global, c.Concurrency.PerEndpoint
	if cfg.Concurrency.Global == 0 {
		cfg.Concurrency.Global = 100
	}
	aimd := c.Concurrency.AIMD
	cfg.Concurrency.AIMD = spec.AIMD{
		Enabled: aimd.Enabled, Min: aimd.Min, BackoffFactor: aimd.BackoffFactor, AdditiveIncrease: aimd.AdditiveIncrease,
	}
	var gw recordedGateway
	if len(c.Gateway) > 0 && strings.Contains(string(c.Gateway), `"m1"`) {
		var models map[string]recordedGateway
		decode(t, c.Gateway, &models)
		for _, name := range []string{"m1", "m2"} {
			gw = models[name]
			cfg.ModelGateways = append(cfg.ModelGateways, ModelGateway{Model: name, URL: gw.URL})
		}
	} else if len(c.Gateway) > 0 {
		decode(t, c.Gateway, &gw)
	}
	cfg.RequestTimeout, cfg.MaxRetries = gw.RequestTimeout, gw.MaxRetries
	cfg.InitialBackoff, cfg.MaxBackoff, cfg.InferenceObjective = gw.InitialBackoff, gw.MaxBackoff, gw.Objective
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = spec.Duration(30 * time.Second)
	}
	return cfg
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func readRecording(t *testing.T, name string, into any) {
	t.Helper()
	decode(t, []byte(readText(t, name)), into)
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rig is a gateway before a scripted backend on the virtual clock.
type rig struct {
	*testing.T
	k       *kernel.Kernel
	g       *Gateway
	backend *scripted.Backend
	jobs    []*batch
	owed    int // jobs that are still to be created
}

func newRig(t *testing.T, cfg Config, latency time.Duration) *rig {
	k := kernel.NewVirtual()
	r := &rig{T: t, k: k, backend: scripted.New(k, latency)}
	r.g = New(k, cfg, r.backend)
	return r
}

// submit uploads input and creates a job at an instant.
func (r *rig) submit(at time.Duration, input, window string) {
	r.owed++
	r.k.At(at, func() {
		r.owed--
		r.jobs = append(r.jobs, r.create(input, window))
	})
}

func (r *rig) create(input, window string) *batch {
	r.Helper()
	r.backend.Read(input)
	f, apiErr := r.g.Upload(DefaultTenant, Upload{Purpose: "batch", Filename: "input.jsonl", Content: []byte(input)})
	if apiErr != nil {
		r.Fatal(apiErr)
	}
	b, apiErr := r.g.CreateBatch(DefaultTenant, fmt.Appendf(nil,
		`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":%q}`, f.ID, window), nil)
	if apiErr != nil {
		r.Fatal(apiErr)
	}
	return r.g.batches[b.ID]
}

// run runs until all jobs have ended and linger has passed.
func (r *rig) run(linger time.Duration) {
	r.Helper()
	var watch func()
	watch = func() {
		if r.k.Now() > 10*time.Minute {
			r.Errorf("jobs have not ended after %s", r.k.Now())
		} else if r.owed > 0 || slices.ContainsFunc(r.jobs, func(b *batch) bool { return !openai.Ended(b.Status) }) {
			r.k.After(time.Millisecond, watch)
			return
		}
		r.k.After(linger, r.k.Stop)
	}
	r.k.After(0, watch)
	if err := r.k.Run(context.Background()); err != nil {
		r.Fatal(err)
	}
}

// resultLines parses a result file. Ids are checked and left out.
func (r *rig) resultLines(id *string) []openai.BatchOutput {
	r.Helper()
	if id == nil {
		return nil
	}
	content, apiErr := r.g.Content(DefaultTenant, *id)
	if apiErr != nil {
		r.Fatal(apiErr)
	}
	return parseResults(r.T, string(content))
}

func parseResults(t *testing.T, text string) []openai.BatchOutput {
	t.Helper()
	var lines []openai.BatchOutput
	for row := range strings.Lines(text) {
		var line openai.BatchOutput
		decode(t, []byte(row), &line)
		if line.Response != nil && line.Response.RequestID != line.ID || !strings.HasPrefix(line.ID, "batch_req_") {
			t.Errorf("ids of %s: %q, %+v", line.CustomID, line.ID, line.Response)
		}
		line.ID = ""
		if line.Response != nil {
			line.Response.RequestID = ""
		}
		// Go words a timeout in three ways, depending on where it strikes.
		if line.Error != nil && strings.Contains(line.Error.Message, "imeout") || line.Error != nil && strings.Contains(line.Error.Message, "deadline exceeded") {
			line.Error.Message = "timeout"
		}
		lines = append(lines, line)
	}
	return lines
}

func byCustomID(lines []openai.BatchOutput) []openai.BatchOutput {
	sorted := slices.Clone(lines)
	slices.SortFunc(sorted, func(a, b openai.BatchOutput) int { return strings.Compare(a.CustomID, b.CustomID) })
	return sorted
}

// lineFor is an input line whose user message is script.
func lineFor(customID, model, script string, system *string) string {
	messages := []openai.Message{{Role: "user", Content: script}}
	if system != nil {
		messages = append([]openai.Message{{Role: "system", Content: *system}}, messages...)
	}
	text, err := json.Marshal(map[string]any{
		"custom_id": customID, "method": "POST", "url": chatPath,
		"body": map[string]any{"model": model, "messages": messages},
	})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// uniformInput is a job NAME of n requests that take latency each.
func uniformInput(name string, n int, latency time.Duration) string {
	var b strings.Builder
	for i := range n {
		id := fmt.Sprintf("%s-%03d", name, i)
		b.WriteString(lineFor(id, "m1", fmt.Sprintf("id=%s;lat=%d", id, latency.Milliseconds()), nil))
	}
	return b.String()
}
