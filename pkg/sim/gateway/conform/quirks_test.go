package conform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/spec"
)

// linesOf makes lines of one script each, named a, b, c…
func linesOf(scripts ...string) string {
	var input strings.Builder
	for i, script := range scripts {
		id := string(rune('a' + i))
		input.WriteString(lineFor(id, "m1", "id="+id+";"+script, nil))
	}
	return input.String()
}

// limits runs a job with AIMD from 8 down to 1 and returns the changes of the limit.
func limits(t *testing.T, cfg gateway.Config, input string) string {
	t.Helper()
	cfg.Concurrency.PerEndpoint = 8
	cfg.Concurrency.AIMD = spec.AIMD{Enabled: true, Min: 1, BackoffFactor: 0.5, AdditiveIncrease: 1}
	changes := "8"
	cfg.LimitChanged = func(_ string, _, after int, _ string) { changes += fmt.Sprint(" ", after) }
	runJobs(t, cfg, input)
	return changes
}

// runJobs runs jobs that are created together, with windows of 1, 2, 3… hours.
func runJobs(t *testing.T, cfg gateway.Config, inputs ...string) *rig {
	t.Helper()
	var o outcome
	r := newRig(&o, cfg, 100*time.Millisecond)
	for i, input := range inputs {
		r.create(input, fmt.Sprint(i+1, "h"), nil)
	}
	r.run(0)
	for _, d := range o.differences {
		t.Fatal(d)
	}
	return r
}

// Each quirk is a switch that changes what its name says and that the recordings show
// when it is on.
func TestQuirksCanBeSwitchedOff(t *testing.T) {
	retries := func(cfg *gateway.Config) {
		cfg.MaxRetries, cfg.InitialBackoff, cfg.MaxBackoff = 1, spec.Duration(time.Second), spec.Duration(2*time.Second)
	}
	for name, c := range map[string]struct {
		off  func(*spec.Quirks)
		look func(t *testing.T, cfg gateway.Config) string
		// what is seen as observed, and with the quirk off
		observed, without string
	}{
		"workerHeldAfterJob": {
			func(q *spec.Quirks) { q.WorkerHeldAfterJob = false },
			func(t *testing.T, cfg gateway.Config) string {
				r := runJobs(t, cfg, uniformInput("A", 2, time.Second), uniformInput("B", 2, time.Second))
				first, _ := r.seen("B-")
				return fmt.Sprintf("the second job starts at %.0f s", first)
			},
			"the second job starts at 20 s", "the second job starts at 1 s",
		},
		"globalPerJob": {
			func(q *spec.Quirks) { q.GlobalPerJob = false },
			func(t *testing.T, cfg gateway.Config) string {
				cfg.NumWorkers, cfg.Concurrency.Global, cfg.Concurrency.PerEndpoint = 2, 6, 6
				cfg.ModelGateways = []gateway.ModelGateway{{Model: "m1", URL: "http://one"}, {Model: "m2", URL: "http://two"}}
				r := runJobs(t, cfg, uniformInput("A", 30, time.Second), strings.ReplaceAll(uniformInput("B", 30, time.Second), `"m1"`, `"m2"`))
				return fmt.Sprintf("%d in flight", r.maxFlight(""))
			},
			"12 in flight", "6 in flight",
		},
		"slotHeldInBackoff": {
			func(q *spec.Quirks) { q.SlotHeldInBackoff = false },
			func(t *testing.T, cfg gateway.Config) string {
				retries(&cfg)
				cfg.Concurrency.PerEndpoint = 1
				return strings.Join(runJobs(t, cfg, linesOf("plan=503,200", "", "lat=3000", "")).arrivals(), " ")
			},
			// The retry lines up behind the line that waits for the slot when it is due.
			"a a b c d", "a b c d a",
		},
		"budgetStampedAtRead": {
			func(q *spec.Quirks) { q.BudgetStampedAtRead = false },
			func(t *testing.T, cfg gateway.Config) string {
				retries(&cfg)
				cfg.Concurrency.PerEndpoint = 1
				r := runJobs(t, cfg, linesOf("plan=503,200", ""))
				stale := ""
				for _, row := range r.backend.Log {
					late := row.Call.TTFTBudget - (time.Hour - row.Arrived)
					stale += fmt.Sprint(late > 0, " ")
				}
				return stale
			},
			"false true true ", "false false false ",
		},
		"everySignalHalves": {
			func(q *spec.Quirks) { q.EverySignalHalves = false },
			func(t *testing.T, cfg gateway.Config) string {
				return limits(t, cfg, linesOf("plan=429", "plan=429", "plan=429", "plan=503", "", "", "", ""))
			},
			"8 4 2 1 2 3", "8 4 5",
		},
		"evictionIsPressure": {
			func(q *spec.Quirks) { q.EvictionIsPressure = false },
			func(t *testing.T, cfg gateway.Config) string {
				return limits(t, cfg, linesOf("plan=429/drop=evicted", "plan=429"))
			},
			"8 4 2", "8 4",
		},
		"evictionIsPressure, when the retry is answered": {
			func(q *spec.Quirks) { q.EvictionIsPressure = false },
			func(t *testing.T, cfg gateway.Config) string {
				retries(&cfg)
				return limits(t, cfg, linesOf("plan=429/drop=evicted-priority,200"))
			},
			"8 4", "8",
		},
		"refusalIsSuccess": {
			func(q *spec.Quirks) { q.RefusalIsSuccess = false },
			func(t *testing.T, cfg gateway.Config) string {
				return limits(t, cfg, linesOf("plan=429", "lat=200;plan=400", "lat=200;plan=404", "lat=200;plan=400", "lat=200;plan=400"))
			},
			"8 4 5", "8 4",
		},
		"timeoutIsNoSignal": {
			func(q *spec.Quirks) { q.TimeoutIsNoSignal = false },
			func(t *testing.T, cfg gateway.Config) string {
				cfg.RequestTimeout = spec.Duration(time.Second)
				return limits(t, cfg, linesOf("plan=hang/5000", "plan=close", "plan=badjson"))
			},
			"8", "8 4 2",
		},
		"retryAfterOnlyOn429": {
			func(q *spec.Quirks) { q.RetryAfterOnlyOn429 = false },
			func(t *testing.T, cfg gateway.Config) string {
				retries(&cfg)
				cfg.MaxBackoff = spec.Duration(time.Minute)
				_, waits := runJobs(t, cfg, linesOf("plan=503/ra=30,200")).attempts("a")
				return fmt.Sprint("waits 30 s: ", waits[0] == 30_000)
			},
			"waits 30 s: false", "waits 30 s: true",
		},
		"retryDelayClamped": {
			func(q *spec.Quirks) { q.RetryDelayClamped = false },
			func(t *testing.T, cfg gateway.Config) string {
				retries(&cfg)
				_, waits := runJobs(t, cfg, linesOf("plan=429/ra=30,200")).attempts("a")
				return fmt.Sprintf("waits %.0f ms", waits[0])
			},
			"waits 2000 ms", "waits 30000 ms",
		},
		"restartStartsOver": {
			func(q *spec.Quirks) { q.RestartStartsOver = false },
			func(t *testing.T, cfg gateway.Config) string {
				cfg.Concurrency.PerEndpoint = 1
				cfg.Restarts = []spec.Restart{{At: spec.Duration(250 * time.Millisecond), Signal: spec.SignalKill, DownFor: spec.Duration(time.Second)}}
				r := runJobs(t, cfg, linesOf("", "plan=400", "", ""))
				b := r.job(0)
				return fmt.Sprintf("%s, %d of %d, %d lines, sent %s", b.Status, b.RequestCounts.Completed, b.RequestCounts.Total,
					strings.Count(r.content(b.OutputFileID), "\n"), strings.Join(r.arrivals(), " "))
			},
			"completed, 3 of 4, 4 lines, sent a b c a b c d", "completed, 3 of 4, 4 lines, sent a b c c d",
		},
		"restartStartsOver, after a SIGTERM": {
			func(q *spec.Quirks) { q.RestartStartsOver = false },
			func(t *testing.T, cfg gateway.Config) string {
				cfg.Concurrency.PerEndpoint = 1
				cfg.Restarts = []spec.Restart{{At: spec.Duration(250 * time.Millisecond), Signal: spec.SignalTerm, DownFor: spec.Duration(time.Second)}}
				r := runJobs(t, cfg, linesOf("", "plan=400", "", ""))
				b := r.job(0)
				return fmt.Sprintf("%s at %.1f s, %d of %d, %d and %d lines", b.Status, r.k.Now().Seconds(), b.RequestCounts.Completed, b.RequestCounts.Total,
					strings.Count(r.content(b.OutputFileID), "\n"), strings.Count(r.content(b.ErrorFileID), "\n"))
			},
			"failed at 21.0 s, 0 of 0, 2 and 2 lines", "completed at 21.2 s, 3 of 4, 4 and 0 lines",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := plainConfig(1, 100, 4)
			if got := c.look(t, cfg); got != c.observed {
				t.Errorf("as observed: %s, expected %s", got, c.observed)
			}
			c.off(&cfg.Quirks)
			if got := c.look(t, cfg); got != c.without {
				t.Errorf("without: %s, expected %s", got, c.without)
			}
		})
	}
}

// What no recording shows, but must not go wrong: jobs of several workers, waiting for
// each other's slots, under repeated restarts.
func TestEveryLineHasOneResultAfterRestarts(t *testing.T) {
	for _, signal := range []string{spec.SignalTerm, spec.SignalKill} {
		for _, held := range []bool{true, false} {
			cfg := plainConfig(3, 3, 2)
			cfg.Quirks.RestartStartsOver, cfg.Quirks.SlotHeldInBackoff, cfg.Quirks.GlobalPerJob = false, held, held
			cfg.MaxRetries = 2
			for i := range 4 {
				cfg.Restarts = append(cfg.Restarts, spec.Restart{
					At: spec.Duration(time.Duration(1+30*i) * time.Second), Signal: signal, DownFor: spec.Duration(time.Second),
				})
			}
			inputs := make([]string, 3)
			for i := range inputs {
				var scripts []string
				for n := range 20 {
					scripts = append(scripts, []string{"lat=300", "lat=2000;plan=503,200", "plan=400", "plan=close"}[n%4])
				}
				inputs[i] = linesOf(scripts...)
			}
			r := runJobs(t, cfg, inputs...)
			for i := range inputs {
				b := r.job(i)
				want := openai.RequestCounts{Total: 20, Completed: 10, Failed: 10}
				if b.Status != openai.BatchCompleted || b.RequestCounts != want {
					t.Errorf("%s: job %d ended %s with %+v, expected %+v", signal, i, b.Status, b.RequestCounts, want)
				}
				if n := strings.Count(r.content(b.OutputFileID)+r.content(b.ErrorFileID), "\n"); n != 20 {
					t.Errorf("%s: job %d has %d results of 20 lines", signal, i, n)
				}
			}
		}
	}
}
