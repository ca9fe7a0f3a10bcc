package conform

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/spec"
)

// settings is a processor's configuration as the recordings hold it: what they leave
// out has the value that all of them were made with.
type settings struct {
	NumWorkers   int           `json:"num_workers"`
	PollInterval spec.Duration `json:"poll_interval"`
	Concurrency  struct {
		Global      int `json:"global"`
		PerEndpoint int `json:"per_endpoint"`
		Recovery    int `json:"recovery"` // not read by what is recorded
		AIMD        struct {
			Enabled          bool    `json:"enabled"`
			Min              int     `json:"min"`
			BackoffFactor    float64 `json:"backoff_factor"`
			AdditiveIncrease int     `json:"additive_increase"`
		} `json:"aimd"`
	} `json:"concurrency"`
	SendFairnessHeader bool            `json:"send_fairness_header"`
	Gateway            json.RawMessage `json:"gateway"` // one for all models, or one by model
}

type gatewaySettings struct {
	URL            string        `json:"url"`
	RequestTimeout spec.Duration `json:"request_timeout"`
	MaxRetries     int           `json:"max_retries"`
	InitialBackoff spec.Duration `json:"initial_backoff"`
	MaxBackoff     spec.Duration `json:"max_backoff"`
	Objective      string        `json:"inference_objective"`
}

const backendURL = "http://backend:8000"

// plainConfig is a processor without AIMD and retries.
func plainConfig(workers, global, perEndpoint int) gateway.Config {
	cfg := gateway.Config{EndpointURL: backendURL, Seed: 1}
	cfg.Quirks = spec.ObservedQuirks()
	cfg.NumWorkers, cfg.PollInterval = max(workers, 1), spec.Duration(300*time.Millisecond)
	cfg.Concurrency.Global, cfg.Concurrency.PerEndpoint = max(global, 1), max(perEndpoint, 1)
	cfg.RequestTimeout = spec.Duration(30 * time.Second)
	cfg.InitialBackoff, cfg.MaxBackoff = spec.Duration(200*time.Millisecond), spec.Duration(2*time.Second)
	return cfg
}

// config turns settings into the model's. at is where they stand in d.
func (s settings) config(d document, at ...any) (gateway.Config, error) {
	const defaultGlobal, defaultPerEndpoint = 100, 10 // upstream
	global, perEndpoint := s.Concurrency.Global, s.Concurrency.PerEndpoint
	if global == 0 {
		global = defaultGlobal
	}
	if perEndpoint == 0 {
		perEndpoint = min(defaultPerEndpoint, global)
	}
	cfg := plainConfig(s.NumWorkers, global, perEndpoint)
	if s.PollInterval > 0 {
		cfg.PollInterval = s.PollInterval
	}
	a := s.Concurrency.AIMD
	cfg.Concurrency.AIMD = spec.AIMD{Enabled: a.Enabled, Min: a.Min, BackoffFactor: a.BackoffFactor, AdditiveIncrease: a.AdditiveIncrease}
	cfg.SendFairnessHeader = s.SendFairnessHeader
	if err := s.gateways(&cfg, d, append(slices.Clone(at), "gateway")); err != nil {
		return cfg, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, d.fault(at, "%v", err)
	}
	return cfg, nil
}

func (s settings) gateways(cfg *gateway.Config, d document, at []any) error {
	if len(s.Gateway) == 0 {
		return nil
	}
	var one gatewaySettings
	if strict(s.Gateway, &one) != nil {
		var models map[string]gatewaySettings
		if err := strict(s.Gateway, &models); err != nil || len(models) == 0 {
			return d.fault(at, "found neither the settings of a gateway nor those of one by model: %v", err)
		}
		for _, name := range sortedKeys(models) {
			one = models[name]
			cfg.ModelGateways = append(cfg.ModelGateways, gateway.ModelGateway{Model: name, URL: one.URL})
		}
	}
	if one.MaxRetries < 0 || one.MaxRetries > maxRetries {
		return d.fault(append(at, "max_retries"), "found %d, expected 0 to %d", one.MaxRetries, maxRetries)
	}
	cfg.MaxRetries, cfg.InferenceObjective = one.MaxRetries, one.Objective
	for _, field := range []struct{ from, into *spec.Duration }{
		{&one.RequestTimeout, &cfg.RequestTimeout}, {&one.InitialBackoff, &cfg.InitialBackoff}, {&one.MaxBackoff, &cfg.MaxBackoff},
	} {
		if *field.from < 0 {
			return d.fault(at, "found the duration %s, expected 0 or more", *field.from)
		}
		if *field.from > 0 {
			*field.into = *field.from
		}
	}
	return nil
}

// Bounds of a case, so that no file can keep a replay busy for ever.
const (
	maxRetries  = 100
	maxRequests = 10_000
	maxJobs     = 100
)

// requests checks a number of requests.
func (d document) requests(n int, path ...any) error {
	if n < 0 || n > maxRequests {
		return d.fault(path, "found %d, expected 0 to %d", n, maxRequests)
	}
	return nil
}

// window reads a completion window.
func (d document) window(text string, path ...any) (time.Duration, error) {
	window, err := time.ParseDuration(text)
	if err != nil {
		return 0, d.fault(path, "found %q, expected a duration such as 1h", text)
	}
	return window, nil
}

// strict decodes without accepting unknown keys.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
