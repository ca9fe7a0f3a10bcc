package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/spec"
	"bgbench/pkg/stats"
)

// The benchmarks below hold the generator to a schedule on the machine that they run on.
// A loop that sleeps to due times and does nothing else runs beside them: where even that
// wakes late, the machine has no time to give, and the verdict says so.

// sleepLimitMS is how late a machine that has time wakes a sleeper at the 99th percentile.
const sleepLimitMS = 1.0

// control is the loop that runs beside a benchmark.
type control struct {
	ended sync.WaitGroup
	late  []float64
}

func (c *control) start(lines []inputs.Due) {
	c.ended.Go(func() { c.late = append(c.late, sleepLoop(lines)...) })
}

// verdict logs whether the aim was met, and reports it: 1 for yes, 0 for no and -1 where
// the machine was too busy to tell.
func (c *control) verdict(b *testing.B, aim string, met bool) {
	b.Helper()
	bare := p99MS(c.late)
	b.ReportMetric(bare, "bare-p99-ms")
	switch {
	case met:
		b.ReportMetric(1, "held")
		b.Logf("%s: held", aim)
	case bare > sleepLimitMS:
		b.ReportMetric(-1, "held")
		b.Logf("%s: no verdict, the machine is busy: a bare sleep loop wakes %.1f ms late at p99, above %.0f ms", aim, bare, sleepLimitMS)
	default:
		b.ReportMetric(0, "held")
		b.Logf("%s: NOT held, though a bare sleep loop wakes only %.2f ms late at p99", aim, bare)
	}
}

func p99MS(seconds []float64) float64 {
	slices.Sort(seconds)
	return 1e3 * stats.Quantile(seconds, 0.99)
}

// sleepLoop sleeps to each due time and returns how late it woke.
func sleepLoop(lines []inputs.Due) []float64 {
	began := time.Now()
	var late []float64
	for _, line := range lines {
		due := began.Add(time.Duration(line.DueNS))
		time.Sleep(time.Until(due))
		late = append(late, time.Since(due).Seconds())
	}
	return late
}

// BenchmarkLateness is how late requests leave at 1,000 a second. The aim is 1 ms at the
// 99th percentile, whenever the bare sleep loop keeps that.
func BenchmarkLateness(b *testing.B) {
	const rate = 1000
	url := benchServer(b)
	var late []float64
	var beside control
	for b.Loop() {
		set := selfInputs(2*rate, 2*time.Second)
		client := benchClient(b, url, 1, 0)
		var rows memory
		r := NewReplay(client.K, ReplayConfig{Inputs: set, Transport: client, Rows: &rows, Router: spec.Router{}})
		beside.start(set.Schedule)
		if err := r.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		beside.ended.Wait()
		for _, row := range rows.requests {
			late = append(late, *row.LatenessS)
		}
	}
	p99 := p99MS(late)
	b.ReportMetric(p99, "p99-ms")
	beside.verdict(b, "lateness p99 under 1 ms at 1,000 requests/s", p99 < 1)
}

// BenchmarkRequestRate is 5,000 requests a second of one token each, from a server in the
// same process, rows and all. The aim is an achieved over offered rate of 0.999.
func BenchmarkRequestRate(b *testing.B) {
	const rate, length = 5000, 4 * time.Second
	benchmarkRung(b, Rung{What: "requests/s", Load: rate}, rate*int(length.Seconds()), length, 1, 0)
}

// BenchmarkStreams is 1,000 streams at once that bring 50 tokens a second each, from a
// server in the same process. The aims are an achieved over offered rate of 0.999 and
// tokens that keep their pace to 0.999.
func BenchmarkStreams(b *testing.B) {
	const length = 2 * time.Second // in which they open
	benchmarkRung(b, Rung{What: "streams", Load: 1000}, 1000, length, int(3*length/selfTokenGap), selfTokenGap)
}

func benchmarkRung(b *testing.B, rung Rung, n int, length time.Duration, tokens int, gap time.Duration) {
	server, err := newSelfServer()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	var beside control
	achieved, pace, needed := 1.0, 1.0, 0.0
	expected := (time.Duration(tokens) * gap).Seconds()
	var faults []string
	for b.Loop() {
		beside.start(selfInputs(int(1000*length.Seconds()), length).Schedule)
		out, err := SelfTest{Dir: b.TempDir()}.try(context.Background(), server.URL, rung, n, length, tokens, gap)
		if err != nil {
			b.Fatal(err)
		}
		beside.ended.Wait()
		achieved = min(achieved, *out.Health.AchievedOffered)
		if gap > 0 {
			pace = min(pace, expected/(expected+stats.Mean(out.Over)))
		}
		// Of the processors, while it brings what it has to at the offered rate: however
		// long a busy machine took over it.
		offered := length.Seconds()
		if gap > 0 {
			offered = expected
		}
		needed = max(needed, out.Health.CPUSeconds/offered)
		faults = append(faults, out.Faults...)
	}
	b.ReportMetric(achieved, "achieved/offered")
	if gap > 0 {
		b.ReportMetric(pace, "achieved/offered-tokens")
	}
	b.ReportMetric(needed, "cpus-needed")
	for _, fault := range faults {
		b.Log(fault)
	}
	beside.verdict(b, fmt.Sprintf("%d %s, achieved/offered at least 0.999", rung.Load, rung.What), achieved >= 0.999 && pace >= 0.999 && len(faults) == 0)
}
