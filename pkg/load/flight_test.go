package load

import (
	"errors"
	"slices"
	"testing"
	"time"

	"bgbench/pkg/record"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"

	"pgregory.net/rapid"
)

// chaos is a transport that breaks its contract in every way.
type chaos struct {
	k *kernel.Kernel
	t *rapid.T
}

func (c chaos) Start(_ *Request, done func(Attempt)) func() {
	sent := At(c.k.Now())
	end := func(status string) { done(Attempt{Sent: sent, Done: At(c.k.Now()), Status: status}) }
	after := time.Duration(rapid.IntRange(0, 40_000).Draw(c.t, "ms")) * time.Millisecond
	cancelled := func() { end(record.StatusCancelled) }
	switch rapid.SampledFrom([]string{
		"answers", "answers at once", "answers twice", "never answers", "ignores the cancellation", "is slow to cancel", "cancels at once", "answers instead of cancelling",
	}).Draw(c.t, "way") {
	case "answers":
		c.k.After(after, func() { end(record.StatusOK) })
	case "answers at once":
		end(record.StatusOK)
	case "answers twice":
		c.k.After(after, func() { end(record.StatusOK); end(record.StatusHTTPError) })
		c.k.After(2*after, func() { end(record.StatusTransportError) })
	case "never answers":
		return cancelled
	case "ignores the cancellation":
	case "is slow to cancel":
		return func() { c.k.After(after, cancelled) }
	case "cancels at once":
		cancelled()
	case "answers instead of cancelling":
		return func() { end(record.StatusOK) }
	}
	return func() {}
}

func TestEachRequestEndsInExactlyOneRow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := kernel.NewVirtual()
		n := rapid.IntRange(0, 30).Draw(rt, "due")
		var at []float64
		for range n {
			at = append(at, float64(rapid.IntRange(0, 9999).Draw(rt, "due_ms"))/1000)
		}
		slices.Sort(at)
		lines := rapid.IntRange(0, 20).Draw(rt, "lines")
		backlog := spec.Backlog{Concurrency: rapid.IntRange(1, 5).Draw(rt, "concurrency")}
		if rapid.Bool().Draw(rt, "rate") {
			backlog.Rate = 3
		}
		r, rows := virtualReplay(t, testSet(t, dues(at...), lines), k, chaos{k, rt}, nil, backlog)
		r.cfg.Inputs.Manifest.Profile.Interactive.RequestTimeout = spec.Duration(rapid.IntRange(0, 30).Draw(rt, "timeout_s")) * spec.Duration(time.Second)
		stopped := errors.New("disk full")
		stop := rapid.IntRange(0, 100).Draw(rt, "stop_s")
		k.At(time.Duration(stop)*time.Second, func() {
			if stop < 30 {
				rows.err = stopped
			}
		})
		err := r.Run(t.Context())
		if err != nil && !errors.Is(err, stopped) {
			rt.Fatal(err)
		}
		seen := map[string]int{}
		for _, row := range rows.requests {
			seen[row.RequestID]++
			if !slices.Contains(record.Statuses, row.Status) {
				rt.Errorf("%s: status %q", row.RequestID, row.Status)
			}
		}
		for id, times := range seen {
			if times != 1 {
				rt.Errorf("%s has %d rows, expected 1", id, times)
			}
		}
		if started := r.schedule.next + lines; len(seen) != started {
			rt.Errorf("found %d requests with rows, expected the %d that were sent or are of a job", len(seen), started)
		}
		if err == nil && r.schedule.next != n {
			rt.Errorf("%d of %d lines of the schedule were sent", r.schedule.next, n)
		}
		if len(r.flights.open) != 0 {
			rt.Errorf("%d requests are still in flight", len(r.flights.open))
		}
	})
}

func TestACancelledAttemptThatHadEndedKeepsItsStatus(t *testing.T) {
	k := kernel.NewVirtual()
	set := testSet(t, dues(0))
	set.Manifest.Profile.Interactive.RequestTimeout = spec.Duration(time.Second)
	tr := transportFunc(func(_ *Request, done func(Attempt)) func() {
		return func() { done(Attempt{Sent: At(0), Done: At(time.Second), Status: record.StatusOK, HTTPStatus: 200}) }
	})
	r, rows := virtualReplay(t, set, k, tr, nil, spec.Backlog{Concurrency: 1})
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rows.requests[0].Status; got != record.StatusOK {
		t.Errorf("found status %s, expected ok: the answer was whole when the timeout struck", got)
	}
}
