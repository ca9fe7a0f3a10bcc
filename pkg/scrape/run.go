package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/record"
)

// Endpoint is a /metrics page and the component that it belongs to.
type Endpoint struct{ Source, URL string }

// Config says what Run scrapes.
type Config struct {
	Endpoints []Endpoint
	Interval  time.Duration
	Timeout   time.Duration // of one scrape; at most the interval, which 0 stands for
	Client    *http.Client
	Base      record.Sample // experiment, arm and trial of all rows
	// MustAnswer makes Run fail if no endpoint answers the first time.
	MustAnswer bool
	// Write takes the rows of a round.
	Write func([]record.Sample) error
	// Begun is called, if set, when the first round is written.
	Begun func()
}

// Health is how often an endpoint was asked, how often in vain, and why the last time.
type Health struct {
	Endpoint
	Scrapes, Failures int
	LastFailure       error
}

// Run scrapes all endpoints at once, then again at each interval, until ctx is done,
// which is no error. A round that takes too long leaves rounds out; none is caught up.
func Run(ctx context.Context, cfg Config) ([]Health, error) {
	targets, err := cfg.targets()
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(cfg.Interval)
	defer ticker.Stop()
	for first := true; ctx.Err() == nil; first = false {
		rows := cfg.round(ctx, targets)
		if first && cfg.MustAnswer && ctx.Err() == nil {
			if err := noneAnswered(targets); err != nil {
				return nil, err
			}
		}
		if err := cfg.Write(rows); err != nil {
			return healths(targets), err
		}
		if first && cfg.Begun != nil {
			cfg.Begun()
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return healths(targets), nil
}

// target is an endpoint with what is known of it.
type target struct {
	Health
	page *Page
}

func (cfg *Config) targets() ([]*target, error) {
	if cfg.Interval <= 0 {
		return nil, fmt.Errorf("found interval %s, expected more than 0", cfg.Interval)
	}
	if cfg.Timeout <= 0 || cfg.Timeout > cfg.Interval {
		cfg.Timeout = cfg.Interval
	}
	var out []*target
	for _, e := range cfg.Endpoints {
		address, err := url.Parse(e.URL)
		if err != nil || address.Host == "" {
			return nil, fmt.Errorf("metrics endpoint %s: found URL %q, expected one like http://127.0.0.1:8000/metrics", e.Source, e.URL)
		}
		base := cfg.Base
		base.Instance = &address.Host
		out = append(out, &target{Health: Health{Endpoint: e}, page: NewPage(e.Source, base)})
	}
	return out, nil
}

// round scrapes all targets at the same time and returns the rows in their order.
func (cfg *Config) round(ctx context.Context, targets []*target) []record.Sample {
	parts := make([][]record.Sample, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { parts[i] = cfg.scrape(ctx, t) })
	}
	all.Wait()
	var rows []record.Sample
	for _, part := range parts {
		rows = append(rows, part...)
	}
	return rows
}

// scrape returns the rows of one page, stamped with the instant of the question. A
// scrape that ended because Run was stopped says nothing about the endpoint.
func (cfg *Config) scrape(ctx context.Context, t *target) []record.Sample {
	limited, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	at := time.Now()
	families, err := fetch(limited, cfg.Client, t.URL)
	took := time.Since(at)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	t.Scrapes++
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", cfg.Timeout)
		}
		t.Failures++
		t.LastFailure = err
	}
	return t.page.Up(t.page.Append(nil, families, at), at, err == nil, took)
}

// noneAnswered is nil if one did.
func noneAnswered(targets []*target) error {
	var why []string
	for _, t := range targets {
		if t.Failures == 0 {
			return nil
		}
		why = append(why, fmt.Sprintf("%s at %s: %v", t.Source, t.URL, t.LastFailure))
	}
	return cli.WithHint(fmt.Errorf("no endpoint answered: %s", strings.Join(why, "; ")), "bg-deploy status STACK says what is up")
}

func healths(targets []*target) []Health {
	out := make([]Health, len(targets))
	for i, t := range targets {
		out[i] = t.Health
	}
	return out
}
