package load

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"bgbench/pkg/deploy"
	"bgbench/pkg/inputs"
	"bgbench/pkg/inputs/draw"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// benchDayVariable set to 1 makes BenchmarkEndurance play the whole day.
const benchDayVariable = "BG_BENCH_DAY"

const (
	// A day of 5 requests a second is played at 1,000 a second, in 7 minutes.
	dayRate, playRate = 5, 1000
	// dayGrowthLimit is what the heap may grow by from a tenth of the run to its end:
	// 10 bytes a request of a whole day, less than any list of them would take.
	dayGrowthLimit = 4 << 20
)

// BenchmarkEndurance is the heap of a run with as many requests as a schedule of a day
// has, or of a tenth of a day: what a request takes must not stay.
func BenchmarkEndurance(b *testing.B) {
	length := 24 * time.Hour / 10
	if os.Getenv(benchDayVariable) == "1" {
		length = 24 * time.Hour
	}
	url := benchServer(b)
	for b.Loop() {
		before := liveHeap()
		set := dayInputs(b, length)
		n := len(set.Schedule)
		b.ReportMetric((liveHeap()-before)/float64(n), "schedule-B/request")

		cell, err := CreateCell(filepath.Join(b.TempDir(), "cell"), Identity{}, false)
		if err != nil {
			b.Fatal(err)
		}
		out := &heapWatch{Cell: cell, n: n}
		err = Run(context.Background(), Options{
			Stack: deploy.Stack{
				Target: spec.TargetLocal, InferenceURL: url, Model: set.Manifest.Profile.Model, MaxModelLen: set.Manifest.Profile.MaxModelLen,
				Arm: spec.Arm{Name: "endurance", Dispatch: spec.DispatchNone},
			},
			StackJSON: []byte("{}"), Inputs: set, Output: out,
			Connection: Connection{Header: map[string][]string{selfTokensHeader: {"4"}}},
		})
		if err != nil {
			b.Fatal(err)
		}
		if out.rows != n || out.failed > 0 {
			b.Errorf("found %d rows, %d of them failed, expected %d", out.rows, out.failed, n)
		}
		growth := out.heap[2] - out.heap[0]
		b.ReportMetric(float64(n), "requests")
		b.ReportMetric(out.heap[0]/(1<<20), "MB-at-10%")
		b.ReportMetric(out.heap[1]/(1<<20), "MB-at-50%")
		b.ReportMetric(out.heap[2]/(1<<20), "MB-at-100%")
		b.ReportMetric(growth/float64(n), "growth-B/request")
		if growth > dayGrowthLimit {
			b.Errorf("the heap grew by %.1f MB, expected %.1f at most", growth/(1<<20), float64(dayGrowthLimit)/(1<<20))
		}
	}
}

// dayInputs draws a schedule of so long, reads it back from its files, and shortens the
// time between its requests.
func dayInputs(b *testing.B, length time.Duration) *inputs.Set {
	b.Helper()
	p, err := spec.LoadProfile("ci", nil)
	if err != nil {
		b.Fatal(err)
	}
	p.Interactive.Phases = []spec.Phase{{Name: "day", Rate: dayRate, Duration: spec.Duration(length), Class: spec.ClassInteractive}}
	p.Interactive.Cycles, p.Interactive.WarmupCycles = 1, 0
	p.Batch.Jobs = nil
	dir := filepath.Join(b.TempDir(), "t1")
	if _, _, err := (draw.Trial{Experiment: "endurance", Profile: p, Number: 1}).Write(dir); err != nil {
		b.Fatal(err)
	}
	set, err := inputs.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	const faster = playRate / dayRate
	for i := range set.Schedule {
		set.Schedule[i].DueNS /= faster
	}
	set.Manifest.Profile.Interactive.Phases[0].Duration /= faster
	return set
}

// heapWatch is a cell that looks at the heap after a tenth of its rows, a half, and all.
type heapWatch struct {
	*Cell
	n, rows, failed int
	heap            [3]float64
}

// WriteRequests implements Output.
func (w *heapWatch) WriteRequests(rows ...record.Request) error {
	err := w.Cell.WriteRequests(rows...)
	before := w.rows
	w.rows += len(rows)
	for _, row := range rows {
		if row.Status != record.StatusOK {
			w.failed++
		}
	}
	for i, at := range []int{w.n / 10, w.n / 2, w.n} {
		if before < at && w.rows >= at {
			w.heap[i] = liveHeap()
		}
	}
	return err
}

// liveHeap is what is in use, in bytes, after a collection.
func liveHeap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
