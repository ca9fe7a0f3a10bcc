package load

import (
	"strings"
	"testing"
	"time"

	"bgbench/pkg/inputs"
	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// loopSet is a closed loop of 2 in the burst of 10 s, of so many requests, and a
// request of the idle phase.
func loopSet(t *testing.T, requests int) *inputs.Set {
	var lines []inputs.Due
	for i := range requests {
		lines = append(lines, inputs.Due{I: i, Phase: "burst", Class: record.ClassInteractive, Prompt: i % 2, InFlight: 2})
	}
	lines = append(lines, inputs.Due{I: requests, DueNS: int64(15 * time.Second), Phase: "idle", Class: record.ClassInteractive})
	return testSet(t, lines)
}

func TestAClosedLoopSendsTheNextWhenOneEnds(t *testing.T) {
	k := kernel.NewVirtual()
	open, most := 0, 0
	tr := transportFunc(func(_ *Request, done func(Attempt)) func() {
		if open++; open > most {
			most = open
		}
		sent := At(k.Now())
		k.After(3*time.Second, func() {
			open--
			done(Attempt{Sent: sent, Done: At(k.Now()), Status: record.StatusOK})
		})
		return func() {}
	})
	r, rows := virtualReplay(t, loopSet(t, 50), k, tr, nil, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var due []float64
	for _, row := range rows.requests {
		if *row.Phase == "burst" {
			due = append(due, seconds(t, k, row.DueAt))
			if *row.LatenessS != 0 {
				t.Errorf("a request of the loop is %g s late", *row.LatenessS)
			}
		}
	}
	// At 0, 3, 6 and 9 s of the phase, two each: nothing starts after its end.
	if len(due) != 8 || due[0] != 0 || due[7] != 9 || most != 2 {
		t.Errorf("found requests due at %v with %d at once", due, most)
	}
	if h := r.tally.health(); h.Due != 9 || h.Sent != 9 {
		t.Errorf("found %d of %d sent, expected 9 of 9: the loop owes no number", h.Sent, h.Due)
	}
	if len(r.Warnings()) != 0 {
		t.Errorf("warnings: %q", r.Warnings())
	}
}

func TestAClosedLoopThatRunsOutSaysSo(t *testing.T) {
	k := kernel.NewVirtual()
	// A server that refuses at once eats the requests in an instant, without a nested call.
	refuse := transportFunc(func(_ *Request, done func(Attempt)) func() {
		done(Attempt{Sent: At(k.Now()), Done: At(k.Now()), Status: record.StatusRateLimited})
		return func() {}
	})
	r, rows := virtualReplay(t, loopSet(t, 100_000), k, refuse, nil, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(rows.requests) != 100_001 {
		t.Errorf("found %d rows", len(rows.requests))
	}
	want := "phase burst of cycle 0: the closed loop ran out of requests 10.0 s before the end of the phase (requests in the profile)"
	if w := strings.Join(r.Warnings(), "\n"); w != want {
		t.Errorf("found warnings %q, expected %q", w, want)
	}
}

func TestAClosedLoopRunsOnTheModelAndOnSockets(t *testing.T) {
	loop := func(p *spec.Profile) {
		p.Interactive.Cycles, p.Interactive.WarmupCycles = 1, 0
		p.Interactive.Phases = []spec.Phase{{
			Name: "burst", Class: spec.ClassInteractive, Duration: spec.Duration(2 * time.Second),
			Arrival: spec.Closed, InFlight: 3, Requests: 200,
		}}
		p.Batch.Jobs = nil
	}
	o := modelOptions(t, "ci", "s0-interactive-only", loop)
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	out := o.Output.(*kept)
	if n := len(out.requests); n < 6 || n >= 200 || out.meta.Load.Due != n {
		t.Errorf("found %d rows and %d due, expected a few", n, out.meta.Load.Due)
	}

	server, err := newSelfServer()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	set := loopSet(t, 5000)
	set.Schedule = set.Schedule[:5000]
	set.Manifest.Profile.Interactive.Phases = []spec.Phase{{Name: "burst", Duration: spec.Duration(100 * time.Millisecond)}}
	k := kernel.NewWall()
	c := opened(t, Connection{}, server.URL, "")
	r, rows := virtualReplay(t, set, k, newHTTPTransport(k, c.inference), nil, backlogNone)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows.requests {
		if *row.LatenessS < 0 || row.E2ES == nil {
			t.Fatalf("row %d: lateness %v", i, row.LatenessS)
		}
	}
	if len(rows.requests) < 3 {
		t.Errorf("found %d rows", len(rows.requests))
	}
}
