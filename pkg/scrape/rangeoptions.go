package scrape

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/jsontext"
	"bgbench/pkg/record"
)

// RangeOptions is what a user says of a Range. Cell and Stack are paths; what they say
// holds where the other fields say nothing.
type RangeOptions struct {
	URL         string
	Client      *http.Client
	Cell, Stack string
	Start, End  string // RFC 3339
	Filter      Filter
	Match       []string
	Query       []string // NAME=PROMQL
	Step, Chunk time.Duration
	Rows        record.Sample // experiment, arm and trial
}

// Config resolves the options.
func (o RangeOptions) Config() (RangeConfig, error) {
	cfg := RangeConfig{URL: o.URL, Client: o.Client, Base: o.Rows, Step: o.Step, Chunk: o.Chunk}
	var stack *deploy.Stack
	if o.Cell != "" {
		meta, of, err := readCell(o.Cell)
		if err != nil {
			return cfg, err
		}
		stack = &of
		cfg.Start, cfg.End = meta.ScheduleStartedAt, meta.EndedAt
		cfg.Base.Experiment = cmp.Or(cfg.Base.Experiment, meta.Experiment)
		cfg.Base.Arm, cfg.Base.Trial = cmp.Or(cfg.Base.Arm, meta.Arm), cmp.Or(cfg.Base.Trial, int32(meta.Trial))
	}
	if o.Stack != "" {
		of, err := deploy.ReadStack(o.Stack)
		if err != nil {
			return cfg, err
		}
		stack = &of
	}
	if stack != nil {
		cfg.Base.Experiment, cfg.Base.Arm = cmp.Or(cfg.Base.Experiment, stack.Experiment), cmp.Or(cfg.Base.Arm, stack.Arm.Name)
		cfg.Sources = sources(*stack)
		for _, q := range Wanted(stack.Arm) {
			cfg.Selectors = append(cfg.Selectors, o.Filter.Selector(q))
		}
	}
	cfg.Base.Trial = cmp.Or(cfg.Base.Trial, 1)
	if err := o.window(&cfg); err != nil {
		return cfg, err
	}
	return cfg, o.ask(&cfg)
}

func (o RangeOptions) window(cfg *RangeConfig) error {
	for _, edge := range []struct {
		flag, text string
		to         *time.Time
	}{{"--start", o.Start, &cfg.Start}, {"--end", o.End, &cfg.End}} {
		if edge.text != "" {
			at, err := time.Parse(time.RFC3339, edge.text)
			if err != nil {
				return fmt.Errorf("%s: found %q, expected an instant such as 2026-11-29T12:00:00Z", edge.flag, edge.text)
			}
			*edge.to = at
		}
		if edge.to.IsZero() {
			return fmt.Errorf("%s: found none, expected an instant, or a --cell that ran", edge.flag)
		}
	}
	switch {
	case cfg.Start.After(cfg.End):
		return fmt.Errorf("--start: found %s, expected an instant before --end %s", cfg.Start.Format(time.RFC3339), cfg.End.Format(time.RFC3339))
	case o.Step < time.Millisecond:
		return fmt.Errorf("--step: found %s, expected at least 1ms", o.Step)
	case o.Chunk < time.Millisecond:
		return fmt.Errorf("--chunk: found %s, expected at least 1ms", o.Chunk)
	}
	return nil
}

func (o RangeOptions) ask(cfg *RangeConfig) error {
	for _, text := range o.Match {
		s, err := o.Filter.Match(text)
		if err != nil {
			return fmt.Errorf("--match: %w", err)
		}
		cfg.Selectors = append(cfg.Selectors, s)
	}
	for _, text := range o.Query {
		q, err := ParseQuery(text)
		if err != nil {
			return fmt.Errorf("--query: %w", err)
		}
		cfg.Queries = append(cfg.Queries, q)
	}
	if len(cfg.Selectors)+len(cfg.Queries) == 0 {
		return errors.New("found nothing to ask for, expected --cell, --stack, --match or --query")
	}
	return nil
}

func readCell(dir string) (record.Metadata, deploy.Stack, error) {
	var meta record.Metadata
	var stack deploy.Stack
	path := filepath.Join(dir, "run-metadata.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return meta, stack, err
	}
	var of struct {
		Stack *deploy.Stack `json:"stack"`
	}
	of.Stack = &stack
	if err := jsontext.Decode(path, text, &meta); err != nil {
		return meta, stack, err
	}
	return meta, stack, jsontext.Decode(path, text, &of)
}

// sources names the components of a stack by the instance labels of their series.
func sources(stack deploy.Stack) map[string]string {
	out := make(map[string]string)
	for _, e := range stack.Metrics {
		if address, err := url.Parse(e.URL); err == nil {
			out[address.Host] = e.Source
		}
	}
	return out
}
