package scrape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bgbench/pkg/cli"
	"bgbench/pkg/command"
	"bgbench/pkg/record"
)

// ToFile is Run into the Parquet file called path, which appears when ctx is done.
// If it fails, what was measured stays in the file's partial, unless nothing was.
func ToFile(ctx context.Context, cfg Config, path string) ([]Health, error) {
	out, err := record.Create[record.Sample](path, nil)
	if err != nil {
		return nil, err
	}
	rows := 0
	cfg.Write = func(round []record.Sample) error {
		rows += len(round)
		return out.Write(round...)
	}
	healths, err := Run(ctx, cfg)
	if warnings := warningsOf(healths); err == nil && len(warnings) > 0 {
		err = setWarnings(out, warnings)
	}
	if err == nil {
		return healths, out.Close()
	}
	err = errors.Join(err, out.Abandon())
	if rows == 0 {
		err = errors.Join(err, os.Remove(record.Partial(path)))
	}
	return healths, err
}

// ToStream is Run into an Arrow IPC stream that is never more than a round behind.
func ToStream(ctx context.Context, cfg Config, w io.Writer) ([]Health, error) {
	out, err := record.NewStreamWriter[record.Sample](w, nil)
	if err != nil {
		return nil, err
	}
	cfg.Write = func(round []record.Sample) error {
		if err := out.Write(round...); err != nil {
			return err
		}
		return out.Flush()
	}
	healths, err := Run(ctx, cfg)
	if err != nil {
		return healths, err
	}
	return healths, out.Close()
}

// During is ToFile while a command runs, which begins after the first round: the
// growth of a counter counts from there. It returns the exit status of the command
// with what went wrong beside it.
func During(ctx context.Context, cfg Config, path string, program command.Command) ([]Health, error) {
	if err := program.Find(); err != nil {
		return nil, err
	}
	scraping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var healths []Health
	begun, done := make(chan struct{}), make(chan error, 1)
	cfg.Begun = func() { close(begun) }
	go func() {
		var err error
		healths, err = ToFile(scraping, cfg, path)
		done <- err
	}()
	select {
	case <-begun:
	case err := <-done:
		return healths, err
	case <-ctx.Done():
		stop()
		recording := <-done
		return healths, errors.Join(ctx.Err(), recording)
	}
	err := program.Run(ctx)
	stop()
	recording := <-done
	return healths, withStatus(err, recording)
}

// SamplesVariable is the environment variable that tells a load generator where to
// write the samples of a stack model, as a Parquet file or an Arrow IPC stream.
const SamplesVariable = "BG_MODEL_SAMPLES"

// FromModel runs a command that drives the stack model, of which there is nothing
// to scrape, and makes the Parquet file called path from the samples that it wrote.
func FromModel(ctx context.Context, path string, program command.Command) error {
	if err := program.Find(); err != nil {
		return err
	}
	return Samples(path, func(partial string) error {
		program.Env = append(program.Env, SamplesVariable+"="+partial)
		if err := program.Run(ctx); err != nil {
			return err
		}
		if _, err := os.Stat(partial); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s wrote no samples to %s, which %s names; expected bg-load run on target model",
				program.Args[0], partial, SamplesVariable)
		}
		return nil
	})
}

// Samples makes the Parquet file called path from the samples of a stack model that run
// writes to the file called partial.
func Samples(path string, run func(partial string) error) error {
	partial := record.Partial(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("making room for the samples of the model: %w", err)
	}
	err := run(partial)
	finishing := record.Finish[record.Sample](partial, path)
	if err != nil && errors.Is(finishing, os.ErrNotExist) {
		return err // it failed before it had samples
	}
	return withStatus(err, finishing)
}

// WarningsKey is the key of a file's metadata under which its warnings stand, as a JSON
// list of texts.
const WarningsKey = "bg.warnings"

// RangeToFile is Range into the Parquet file called path, with the report's warnings in
// its metadata. A file without samples is none.
func RangeToFile(ctx context.Context, cfg RangeConfig, path string) (RangeReport, error) {
	out, err := record.Create[record.Sample](path, nil)
	if err != nil {
		return RangeReport{}, err
	}
	report, err := rangeTo(ctx, cfg, out.Write)
	if err == nil && len(report.Warnings) > 0 {
		err = setWarnings(out, report.Warnings)
	}
	if err != nil {
		// What was asked for can be asked for again: half of it is of no use.
		return report, errors.Join(err, out.Abandon(), os.Remove(record.Partial(path)))
	}
	return report, out.Close()
}

// rangeTo is Range into a writer; no samples are an error.
func rangeTo(ctx context.Context, cfg RangeConfig, write func(...record.Sample) error) (RangeReport, error) {
	cfg.Write = func(rows []record.Sample) error { return write(rows...) }
	report, err := Range(ctx, cfg)
	if err == nil && report.Rows == 0 {
		err = errNothing(cfg)
	}
	return report, err
}

// RangeToStream is Range into an Arrow IPC stream.
func RangeToStream(ctx context.Context, cfg RangeConfig, w io.Writer) (RangeReport, error) {
	out, err := record.NewStreamWriter[record.Sample](w, nil)
	if err != nil {
		return RangeReport{}, err
	}
	report, err := rangeTo(ctx, cfg, out.Write)
	if err != nil {
		return report, err
	}
	return report, out.Close()
}

func errNothing(cfg RangeConfig) error {
	return cli.WithHint(fmt.Errorf("%s has no samples between %s and %s",
		cfg.URL, cfg.Start.UTC().Format(time.RFC3339Nano), cfg.End.UTC().Format(time.RFC3339Nano)),
		"was it scraping then, and do --namespace and --pod let its series in?")
}

func setWarnings(out *record.Writer[record.Sample], warnings []string) error {
	text, err := json.Marshal(warnings)
	if err != nil {
		return err
	}
	return record.SetMeta(out, WarningsKey, string(text))
}
