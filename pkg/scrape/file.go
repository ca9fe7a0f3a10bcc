package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
	partial := record.Partial(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("making room for the samples of the model: %w", err)
	}
	program.Env = append(program.Env, SamplesVariable+"="+partial)
	err := program.Run(ctx)
	finishing := record.Finish[record.Sample](partial, path)
	if err != nil && errors.Is(finishing, os.ErrNotExist) {
		return err // it failed before it had samples
	}
	if err == nil && errors.Is(finishing, os.ErrNotExist) {
		return fmt.Errorf("%s wrote no samples to %s, which %s names; expected bg-load run on target model",
			program.Args[0], partial, SamplesVariable)
	}
	return withStatus(err, finishing)
}
