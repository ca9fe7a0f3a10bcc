package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"bgbench/pkg/record"
)

// RangeConfig says what Range asks a Prometheus server for.
type RangeConfig struct {
	URL        string
	Client     *http.Client
	Start, End time.Time // both belong to the range
	Selectors  []Selector
	Queries    []Query
	Step       time.Duration // of queries
	Chunk      time.Duration // of raw samples that are asked for at once
	Base       record.Sample // experiment, arm and trial of all rows
	// Sources names components by the instance label of their series.
	Sources map[string]string
	Write   func([]record.Sample) error
}

// RangeReport is what a reader of the rows must know.
type RangeReport struct {
	Rows     int
	Warnings []string
}

// maxSteps is how many steps a Prometheus server takes in a range query (11,000 of
// them and the point at the start, web/api/v1).
const maxSteps = 11000

// Range writes the samples that a server has of a range of time, with the instants at
// which it took them, and derived expressions at every step.
//
// Raw samples come from instant queries over a range selector: a range query would
// answer with a grid on which a value is repeated for minutes.
func Range(ctx context.Context, cfg RangeConfig) (RangeReport, error) {
	switch {
	case cfg.Start.After(cfg.End):
		return RangeReport{}, fmt.Errorf("found start %s after end %s", cfg.Start.Format(time.RFC3339), cfg.End.Format(time.RFC3339))
	case cfg.Step < time.Millisecond || cfg.Chunk < time.Millisecond:
		return RangeReport{}, fmt.Errorf("found step %s and chunk %s, expected at least 1 ms", cfg.Step, cfg.Chunk)
	}
	client, err := api.NewClient(api.Config{Address: cfg.URL, Client: cfg.Client})
	if err != nil {
		return RangeReport{}, err
	}
	r := &ranger{RangeConfig: cfg, api: promv1.NewAPI(client)}
	r.Start, r.End = r.Start.Truncate(time.Millisecond), r.End.Truncate(time.Millisecond)
	if err := r.askKinds(ctx); err != nil {
		return r.report, err
	}
	for _, s := range cfg.Selectors {
		before := r.report.Rows
		if err := r.raw(ctx, s); err != nil {
			return r.report, fmt.Errorf("%s: %w", s.PromQL, err)
		}
		switch {
		case r.report.Rows > before:
		case s.Wanted.Name == "":
			r.warn("no samples of " + s.PromQL)
		case s.Wanted.Certain:
			r.warn(fmt.Sprintf("no samples of %s: the server has none of %s", s.Wanted.Name, s.PromQL))
		}
	}
	for _, q := range cfg.Queries {
		before := r.report.Rows
		if err := r.derived(ctx, q); err != nil {
			return r.report, fmt.Errorf("%s=%s: %w", q.Name, q.PromQL, err)
		}
		if r.report.Rows == before {
			r.warn(fmt.Sprintf("no values of %s=%s", q.Name, q.PromQL))
		}
	}
	return r.report, nil
}

// ranger is a Range.
type ranger struct {
	RangeConfig
	api    promv1.API
	kinds  map[string]promv1.MetricType // of families
	report RangeReport
}

func (r *ranger) warn(text string) {
	if !slices.Contains(r.report.Warnings, text) {
		r.report.Warnings = append(r.report.Warnings, text)
	}
}

// raw writes the samples of a selector, a chunk of time after the other.
func (r *ranger) raw(ctx context.Context, s Selector) error {
	for from := r.Start; !from.After(r.End); {
		to := from.Add(r.Chunk - time.Millisecond)
		if to.After(r.End) {
			to = r.End
		}
		if err := r.rawChunk(ctx, s, from, to); err != nil {
			return err
		}
		from = to.Add(time.Millisecond)
	}
	return nil
}

// rawChunk asks for the samples from one instant to another, both included. Prometheus
// 2 includes the start of a range and Prometheus 3 does not, so it asks for a
// millisecond more and drops what is too old.
func (r *ranger) rawChunk(ctx context.Context, s Selector, from, to time.Time) error {
	selected := fmt.Sprintf("%s[%dms]", s.PromQL, to.Sub(from).Milliseconds()+1)
	value, err := r.ask(ctx, func(ctx context.Context) (model.Value, promv1.Warnings, promv1.Infos, error) {
		return r.api.Query(ctx, selected, to)
	})
	if tooMany(err) && to.Sub(from) > time.Millisecond {
		middle := from.Add((to.Sub(from) / 2).Truncate(time.Millisecond))
		if err := r.rawChunk(ctx, s, from, middle); err != nil {
			return err
		}
		return r.rawChunk(ctx, s, middle.Add(time.Millisecond), to)
	}
	if err != nil {
		return err
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return fmt.Errorf("found a %s, expected the samples of a selector", value.Type())
	}
	return r.write(r.rows(matrix, model.TimeFromUnixNano(from.UnixNano())))
}

// derived writes the values of an expression at every step.
func (r *ranger) derived(ctx context.Context, q Query) error {
	for from := r.Start; !from.After(r.End); {
		to := from.Add(maxSteps * r.Step)
		if to.After(r.End) {
			to = r.End
		}
		value, err := r.ask(ctx, func(ctx context.Context) (model.Value, promv1.Warnings, promv1.Infos, error) {
			return r.api.QueryRange(ctx, q.PromQL, promv1.Range{Start: from, End: to, Step: r.Step})
		})
		if err != nil {
			return err
		}
		matrix, ok := value.(model.Matrix)
		if !ok {
			return fmt.Errorf("found a %s, expected numbers over time", value.Type())
		}
		if err := r.write(r.derivedRows(q.Name, matrix)); err != nil {
			return err
		}
		// The end belongs to a range: the next one begins a step later.
		from = from.Add((to.Sub(from)/r.Step + 1) * r.Step)
	}
	return nil
}

func (r *ranger) write(rows []record.Sample) error {
	r.report.Rows += len(rows)
	if len(rows) == 0 {
		return nil
	}
	return r.Write(rows)
}

// askKinds asks for the types of metrics, which samples do not have.
func (r *ranger) askKinds(ctx context.Context) error {
	var all map[string][]promv1.Metadata
	_, err := r.ask(ctx, func(ctx context.Context) (model.Value, promv1.Warnings, promv1.Infos, error) {
		var err error
		all, err = r.api.Metadata(ctx, "", "")
		return nil, nil, nil, err
	})
	var said *promv1.Error
	if errors.As(err, &said) && (said.Type == promv1.ErrClient || said.Type == promv1.ErrBadData) {
		r.warn("the server does not tell the types of metrics (" + said.Msg + "): they are guessed from names")
		return nil
	}
	if err != nil {
		return err
	}
	r.kinds = make(map[string]promv1.MetricType)
	for name, entries := range all {
		if len(entries) > 0 {
			r.kinds[name] = entries[0].Type
		}
	}
	return nil
}

// attempts and firstPause: a server that restarts is back within some seconds.
const (
	attempts   = 5
	firstPause = 500 * time.Millisecond
)

// ask asks again what failed for a reason that may pass.
func (r *ranger) ask(ctx context.Context, question func(context.Context) (model.Value, promv1.Warnings, promv1.Infos, error)) (model.Value, error) {
	for attempt, pause := 1, firstPause; ; attempt, pause = attempt+1, 2*pause {
		value, warnings, infos, err := question(ctx)
		for _, text := range append(slices.Clone([]string(warnings)), infos...) {
			r.warn("the server: " + text)
		}
		if err == nil || ctx.Err() != nil || !passing(err) {
			return value, err
		}
		if attempt == attempts {
			return nil, fmt.Errorf("asked %d times in vain, the last time: %w", attempts, err)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// passing says whether an error may be gone the next time.
func passing(err error) bool {
	var said *promv1.Error
	if !errors.As(err, &said) {
		return true // no answer
	}
	switch said.Type {
	case promv1.ErrServer, promv1.ErrTimeout, promv1.ErrCanceled:
		return true
	case promv1.ErrClient:
		return strings.Contains(said.Msg, "429")
	}
	return false
}

// tooMany says whether the server refused to load as many samples at once
// (--query.max-samples).
func tooMany(err error) bool {
	var said *promv1.Error
	return errors.As(err, &said) && said.Type == promv1.ErrExec && strings.Contains(said.Msg, "too many samples")
}
