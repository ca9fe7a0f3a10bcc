package record

import (
	"errors"
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// FirstSamples returns when each source of a file of samples was sampled first. It
// reads two columns of a Parquet file and none of its rows.
func FirstSamples(path string) (map[string]time.Time, error) {
	r, err := ReadFile[Sample](path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	firsts := make(map[string]time.Time)
	if r.groups == nil {
		for s, err := range r.All() {
			if err != nil {
				return nil, err
			}
			earlier(firsts, s.Source, s.At)
		}
		return firsts, nil
	}
	for _, group := range r.groups.groups {
		if err := r.groups.firsts(group, firsts); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return firsts, nil
}

func earlier(firsts map[string]time.Time, source string, at time.Time) {
	if first, ok := firsts[source]; !ok || at.Before(first) {
		firsts[source] = at
	}
}

func (g *groupReader[T]) firsts(group parquet.RowGroup, firsts map[string]time.Time) (err error) {
	defer guard(&err)
	sources, instants := g.reader(group, "source"), g.reader(group, "at")
	defer func() { err = errors.Join(err, sources.close(), instants.close()) }()
	for left := int(group.NumRows()); left > 0; {
		n, err := sources.some(left)
		if err != nil {
			return err
		}
		if n, err = instants.some(n); err != nil {
			return err
		}
		source, micros := words(sources), fixed((*encoding.Values).Int64)(instants)
		for i := 0; i < n; {
			place, run := sources.takeRun(n - i)
			first := micros(instants.take())
			for range run - 1 {
				first = min(first, micros(instants.take()))
			}
			earlier(firsts, source(place), time.UnixMicro(first).UTC())
			i += run
		}
		left -= n
	}
	return nil
}
