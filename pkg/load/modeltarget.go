package load

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/scrape"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/stack"
)

// openModel builds the stack model on a kernel of its own.
func (o Options) openModel(id Identity) (target, error) {
	useHugePages()
	k := kernel.NewVirtual()
	st, err := stack.New(k, o.Stack.ModelConfig())
	if err != nil {
		return target{}, err
	}
	watch := newStuckWatch(k, st.Engines())
	t := target{
		k:         k,
		transport: &ModelTransport{K: k, Backend: st.Inference(), Tokenizer: sim.Tokenizer{Prompts: o.Prompts}},
		warnings:  watch.warnings,
		close:     func() error { return nil },
	}
	if g := st.Gateway(); g != nil {
		g.Keep(o.Prompts)
		t.jobs = ModelJobs{g}
	}
	if o.ModelSamples != "" {
		s, err := newSampler(k, id, st.Sources(), o.ModelSamples)
		if err != nil {
			return target{}, err
		}
		t.close = s.close
	}
	return t, nil
}

// sampler takes the metrics of a stack model once a simulated second, as a scraper
// at the stack's /metrics pages would have. It writes them at the end of the run, as
// the sorted Parquet file that they are to become: that takes a fraction of what
// writing every round does, and a run on the virtual clock that is killed has nothing
// to save.
type sampler struct {
	k       *kernel.Kernel
	sources []stack.Source
	pages   []*scrape.Page // of the sources
	changes []int          // of their registries, when the rounds began to have these series
	rounds  record.Rounds
	last    kernel.Time // of the last round
	path    string
	file    *os.File
}

const samplePeriod = time.Second

func newSampler(k *kernel.Kernel, id Identity, sources []stack.Source, path string) (*sampler, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("model samples: %w", err)
	}
	s := &sampler{k: k, sources: sources, path: path, file: f}
	for _, source := range sources {
		s.pages = append(s.pages, scrape.NewPage(source.Name, record.Sample{
			Experiment: id.Experiment, Arm: id.Arm, Trial: int32(id.Trial),
		}))
	}
	k.At(0, s.sample)
	return s, nil
}

func (s *sampler) sample() {
	s.round()
	s.k.After(samplePeriod, s.sample)
}

func (s *sampler) round() {
	s.last = s.k.Now()
	at := calendar(s.k, s.last)
	if s.changed() {
		var rows []record.Sample
		for i, source := range s.sources {
			rows = s.pages[i].Append(rows, source.Registry.Gather(), at)
		}
		s.rounds.Begin(rows)
	}
	s.rounds.Add(at, func(values []float64) []float64 {
		for _, source := range s.sources {
			values = source.Registry.AppendValues(values)
		}
		return values
	})
}

// changed reports whether a source has other series than in the last round.
func (s *sampler) changed() bool {
	changes := make([]int, len(s.sources))
	for i, source := range s.sources {
		changes[i] = source.Registry.Changes()
	}
	if slices.Equal(changes, s.changes) {
		return false
	}
	s.changes = changes
	return true
}

// close writes the samples, a last round included: without it the counters would lack
// what the servers did since the one before, and the work that they did could not be
// held against that of the rows.
func (s *sampler) close() error {
	if s.k.Now() > s.last {
		s.round()
	}
	if err := errors.Join(s.rounds.WriteParquet(s.file), s.file.Close()); err != nil {
		return fmt.Errorf("writing model samples %s: %w", s.path, err)
	}
	return nil
}
