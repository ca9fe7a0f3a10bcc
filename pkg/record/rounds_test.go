package record

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestRoundsAreTheSamplesOfASet(t *testing.T) {
	var rounds Rounds
	var set SampleSet
	series := benchSamples(1)
	for round := range 30 {
		at := time.UnixMicro(1_790_000_000_000_000 + int64(round)*1e6).UTC()
		switch round {
		case 0: // some are not there from the start
			rounds.Begin(series[500:])
		case 10:
			rounds.Begin(series)
		case 20: // and some go
			rounds.Begin(series[:700])
		}
		part := [][]Sample{series[500:], series, series[:700]}[round/10]
		rounds.Add(at, func(values []float64) []float64 {
			for i, s := range part {
				s.At, s.Value = at, float64(round*i)
				set.Add(s)
				values = append(values, s.Value)
			}
			return values
		})
	}
	dir := t.TempDir()
	read := func(name string, write func(*bytes.Buffer) error) []Sample {
		var file bytes.Buffer
		must(t, write(&file))
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, file.Bytes(), 0o644))
		return readAll[Sample](t, path)
	}
	got := read("rounds", func(b *bytes.Buffer) error { return rounds.WriteParquet(b) })
	want := read("set", func(b *bytes.Buffer) error { return writeSet(b, &set) })
	if len(got) != 22_000 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d samples, want %d, or other ones", len(got), len(want))
	}
}

// BenchmarkRounds takes 1,000 series for 500 s and writes them.
func BenchmarkRounds(b *testing.B) {
	series := benchSamples(1)
	b.ReportAllocs()
	for b.Loop() {
		var rounds Rounds
		rounds.Begin(series)
		for round := range 500 {
			rounds.Add(time.UnixMicro(int64(round)*1e6), func(values []float64) []float64 {
				for i := range series {
					values = append(values, float64(round/9*i))
				}
				return values
			})
		}
		var file bytes.Buffer
		must(b, rounds.WriteParquet(&file))
	}
	perRow(b, 500*len(series))
}
