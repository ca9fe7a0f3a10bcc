package load

import (
	"errors"
	"fmt"
	"os"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/scrape"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/stack"
)

// openModel builds the stack model on a kernel of its own.
func (o Options) openModel(id Identity) (target, error) {
	k := kernel.NewVirtual()
	st, err := stack.New(k, stack.Config{
		Arm: o.Stack.Arm, Model: o.Stack.Model, MaxModelLen: o.Stack.MaxModelLen, Seed: o.Stack.Seed,
	})
	if err != nil {
		return target{}, err
	}
	t := target{
		k:         k,
		transport: &ModelTransport{K: k, Backend: st.Inference()},
		close:     func() error { return nil },
	}
	if g := st.Gateway(); g != nil {
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

// sampler writes the metrics of a stack model once a simulated second, as a scraper
// at the stack's /metrics pages would have.
type sampler struct {
	k       *kernel.Kernel
	sources []stack.Source
	pages   []*scrape.Page // of the sources
	rows    []record.Sample
	path    string
	file    *os.File
	out     *record.StreamWriter[record.Sample]
	err     error
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
	s.out, s.err = record.NewStreamWriter[record.Sample](f, map[string]string{})
	if s.err != nil {
		return nil, s.close()
	}
	k.At(0, s.sample)
	return s, nil
}

func (s *sampler) sample() {
	if s.err != nil {
		return
	}
	at := calendar(s.k, s.k.Now())
	s.rows = s.rows[:0]
	for i, source := range s.sources {
		s.rows = s.pages[i].Append(s.rows, source.Registry.Gather(), at)
	}
	if s.err = s.out.Write(s.rows...); s.err != nil {
		return
	}
	s.k.After(samplePeriod, s.sample)
}

// close ends the stream. The first failure to write it is reported here.
func (s *sampler) close() error {
	if s.out != nil && s.err == nil {
		s.err = s.out.Close()
	}
	if err := errors.Join(s.err, s.file.Close()); err != nil {
		return fmt.Errorf("writing model samples %s: %w", s.path, err)
	}
	return nil
}
