package load

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
)

// processWatch measures the generator itself during a run on the wall clock.
type processWatch struct {
	k       *kernel.Kernel
	dialled func() int64
	lag     durations
	gc      []uint64 // pauses by bin, as they were at the start
	over    bool
}

// lagPeriod is fine enough to see every stall of 50 ms, the limit of lateness.
const lagPeriod = 50 * time.Millisecond

// watchProcess starts watching; nil on the virtual clock.
func watchProcess(k *kernel.Kernel, dialled func() int64) *processWatch {
	if k.Virtual() {
		return nil
	}
	w := &processWatch{k: k, dialled: dialled, gc: slices.Clone(gcPauses().Counts)}
	w.tick(lagPeriod)
	return w
}

// tick compares the clock with when the event was due: in the replay, everything
// else that was due then was as late.
func (w *processWatch) tick(due kernel.Time) {
	w.k.At(due, func() {
		if w.over {
			return
		}
		now := time.Since(w.k.Epoch())
		w.lag.add(now - due)
		// The beats that passed meanwhile were as late as this one, less their distance.
		next := due + lagPeriod
		for ; next <= now; next += lagPeriod {
			w.lag.add(now - next)
		}
		w.tick(next)
	})
}

// health ends the watch.
func (w *processWatch) health(t *tally, cpu, wall time.Duration) *record.ProcessHealth {
	if w == nil {
		return nil
	}
	w.over = true
	h := &record.ProcessHealth{
		CPUs: cpu.Seconds() / wall.Seconds(), SocketsOpened: w.dialled(),
		ConnectionUses: t.written, Reused: t.reused,
		LoopLagP50S: w.lag.quantile(0.5).Seconds(), LoopLagP99S: w.lag.quantile(0.99).Seconds(), LoopLagMaxS: w.lag.largest.Seconds(),
	}
	now := gcPauses()
	for i, n := range now.Counts {
		if n -= w.gc[i]; n > 0 {
			h.GCPauses += n
			h.GCPauseMaxS = now.Buckets[i+1]
			if math.IsInf(h.GCPauseMaxS, 1) {
				h.GCPauseMaxS = now.Buckets[i]
			}
		}
	}
	return h
}

// gcPauses is the runtime's histogram of the time that the world was stopped.
func gcPauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}
