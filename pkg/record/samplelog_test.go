package record

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// sampleLogOf encodes batches of samples.
func sampleLogOf(t testing.TB, batches ...[]Sample) []byte {
	t.Helper()
	var out bytes.Buffer
	l, err := newSampleLog(&out, map[string]string{"bg.run": "1"})
	must(t, err)
	for _, rows := range batches {
		must(t, l.Write(rows...))
		must(t, l.Flush())
	}
	must(t, l.Close())
	return out.Bytes()
}

func TestLogGivesSamplesBackInTheirOrder(t *testing.T) {
	steady := benchSamples(40) // 40,000: more than a frame has
	changing := slices.Clone(steady[:3000])
	for i := range changing {
		if i >= 1500 {
			changing[i].Type = "gauge" // the exporter changed its mind
		}
		changing[i].At = changing[i].At.Add(-time.Duration(i%7) * time.Hour)
	}
	odd := []Sample{{Metric: "m", Value: math.Inf(1)}, {Metric: "m", Value: math.Copysign(0, -1)}, {Metric: "m", Value: -1e308}, {}}
	for i := range odd {
		odd[i].At = time.UnixMicro(int64(i) * math.MaxInt32).UTC()
	}
	for name, want := range map[string][]Sample{
		"the same series round after round": steady, "series that change and times that go back": changing,
		"rows that have nothing in common": someRows[Sample](2000), "odd values": odd, "none": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var batches [][]Sample
			for part := range slices.Chunk(want, 900) {
				batches = append(batches, part)
			}
			r, err := NewReader[Sample](bytes.NewReader(sampleLogOf(t, batches...)))
			must(t, err)
			if got := collect(t, r.All()); !reflect.DeepEqual(got, want) {
				t.Errorf("found %d rows that are not the %d written ones", len(got), len(want))
			}
			if r.Meta()["bg.run"] != "1" || r.Meta()[SchemaKey] != "bg_sample/1" {
				t.Errorf("metadata %v", r.Meta())
			}
		})
	}
}

func TestLogThatWasCutKeepsItsWholeFrames(t *testing.T) {
	rows := benchSamples(2)
	whole := sampleLogOf(t, rows[:1000], rows[1000:])
	first := len(sampleLogOf(t, rows[:1000])) - 8 // without the end mark
	for _, c := range []struct {
		name string
		log  []byte
		rows int
	}{
		{"no end mark", whole[:len(whole)-8], 2000},
		{"half an end mark", whole[:len(whole)-4], 2000},
		{"the last byte of a frame is missing", whole[:len(whole)-9], 1000},
		{"half a head", whole[:first+5], 1000},
		{"a byte of a frame has changed", append(append(slices.Clone(whole[:first+100]), ^whole[first+100]), whole[first+101:]...), 1000},
		{"another frame's length", append(slices.Clone(whole[:first]), 0xff, 0xff, 0xff, 0xff), 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader[Sample](bytes.NewReader(c.log))
			must(t, err)
			n := 0
			for _, err = range r.All() {
				if err != nil {
					break
				}
				n++
			}
			if n != c.rows || !errors.Is(err, ErrTruncated) {
				t.Errorf("found %d rows and %v, expected %d and that the log was cut", n, err, c.rows)
			}
		})
	}
}

func TestLogOfSamplesIsNothingElse(t *testing.T) {
	log := sampleLogOf(t, benchSamples(1))
	_, err := NewReader[Job](bytes.NewReader(log))
	wantError(t, err, "found a log of samples, expected rows of schema bg_job/1")
	_, err = NewReader[Sample](bytes.NewReader(append(slices.Clone(sampleLogMagic), make([]byte, 8)...)))
	wantError(t, err, "found an end mark where metadata begin")
}

func TestMetadataOfALateHourReachTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.parquet")
	w, err := Create[Sample](path, map[string]string{"early": "1"})
	must(t, err)
	must(t, w.Write(benchSamples(1)...))
	must(t, SetMeta(w, "late", "2"))
	must(t, w.Close())
	if err := SetMeta(w, "later", "3"); err == nil {
		t.Error("metadata of a closed file were taken")
	}
	r, err := ReadFile[Sample](path)
	must(t, err)
	defer r.Close()
	if want := map[string]string{"early": "1", "late": "2", SchemaKey: "bg_sample/1"}; !reflect.DeepEqual(r.Meta(), want) {
		t.Errorf("found %v, expected %v", r.Meta(), want)
	}
}

func FuzzSampleLog(f *testing.F) {
	rows := benchSamples(1)
	f.Add([]byte{}, sampleLogOf(f, rows[:3])[4:])
	f.Add([]byte{0, 0, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte{})
	f.Fuzz(func(t *testing.T, payload, frames []byte) {
		l := &sampleLogReader{meta: make(map[string]string), last: -1}
		if rows, err := l.decode(logBytes{payload}); err == nil && len(rows)*9 > len(payload)+9 {
			t.Errorf("found %d rows in %d bytes", len(rows), len(payload))
		}
		r, err := NewReader[Sample](bytes.NewReader(append(slices.Clone(sampleLogMagic), frames...)))
		if err != nil {
			return
		}
		for _, err := range r.All() {
			if err != nil {
				return
			}
		}
	})
}

// BenchmarkSampleLog compares the unfinished file of samples with the stream that it
// stands for.
func BenchmarkSampleLog(b *testing.B) {
	rows := benchSamples(50)
	for name, create := range map[string]func(*bytes.Buffer) (rowWriter[Sample], error){
		"log":    func(w *bytes.Buffer) (rowWriter[Sample], error) { return newSampleLog(w, nil) },
		"stream": func(w *bytes.Buffer) (rowWriter[Sample], error) { return NewStreamWriter[Sample](w, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				w, err := create(&out)
				must(b, err)
				for round := range slices.Chunk(rows, 1000) {
					must(b, w.Write(round...))
					must(b, w.Flush())
				}
				must(b, w.Close())
			}
			perRow(b, len(rows))
			b.ReportMetric(float64(out.Len())/float64(len(rows)), "B/row")
		})
	}
}
