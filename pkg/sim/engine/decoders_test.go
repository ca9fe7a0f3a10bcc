package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Twins of the same requests, of which one scheduler returns every token: what the other
// leaves out of its steps changes nothing in them.
func TestDecodersChangeNothing(t *testing.T) {
	joined := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawScheduler(t)
		cfg.NumGPUBlocks = rapid.IntRange(8, 300).Draw(t, "blocks")
		lazy, plain := NewScheduler(cfg), NewScheduler(cfg)
		var twins [][2]*Request
		var queue [][2]*Batch
		depth := 1
		if cfg.AsyncScheduling {
			depth = 2
		}
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			for range rapid.IntRange(0, 2).Draw(t, "arrivals") {
				if len(twins) < 15 {
					r := drawRequest(t, len(twins))
					twin := *r
					r.EveryToken, twin.EveryToken = false, true
					twins = append(twins, [2]*Request{r, &twin})
					lazy.Add(r)
					plain.Add(&twin)
				}
			}
			if lazy.Unfinished() == 0 {
				continue
			}
			a, b := lazy.Schedule(), plain.Schedule()
			if a.Load != b.Load || !sameRequests(a.Admitted, b.Admitted) || !sameRequests(a.Preempted, b.Preempted) {
				t.Fatalf("step %d: got %+v, without decoders %+v", step, a, b)
			}
			if !slices.EqualFunc(lazy.itemsOf(a), b.items, func(a, b item) bool {
				return a.request.ID == b.request.ID && a.tokens == b.tokens && a.token == b.token
			}) {
				t.Fatalf("step %d: got items %+v, without decoders %+v", step, lazy.itemsOf(a), b.items)
			}
			joined += a.decoders
			queue = append(queue, [2]*Batch{a, b})
			if rapid.IntRange(0, 9).Draw(t, "abort") == 0 {
				r := rapid.SampledFrom(twins).Draw(t, "aborted")
				lazy.Abort(r[0])
				plain.Abort(r[1])
			}
			if len(queue) == depth {
				got, all := lazy.Update(queue[0][0]), plain.Update(queue[0][1])
				if len(got)+lazy.Decoded() != len(all) || plain.Decoded() != 0 {
					t.Fatalf("step %d: got %d and %d tokens, without decoders %d and %d", step, len(got), lazy.Decoded(), len(all), plain.Decoded())
				}
				queue = queue[1:]
			}
			if lazy.Stats() != plain.Stats() || !slices.Equal(lazy.pool.queue.ids(), plain.pool.queue.ids()) || !sameRequests(lazy.running, plain.running) {
				t.Fatalf("step %d: got %+v, without decoders %+v", step, lazy.Stats(), plain.Stats())
			}
			for _, r := range twins {
				lazy.settle(r[0])
				if a, b := r[0], r[1]; a.state != b.state || a.known != b.known || a.computed != b.computed || a.placeholders != b.placeholders ||
					a.inFlight != b.inFlight || a.stale != b.stale || a.hashed != b.hashed || !slices.Equal(a.blocks, b.blocks) {
					t.Fatalf("step %d: got %+v, without decoders %+v", step, a, b)
				}
			}
		}
	})
	if joined == 0 {
		t.Error("no request ever was a decoder")
	}
}

func sameRequests(a, b []*Request) bool {
	return slices.EqualFunc(a, b, func(a, b *Request) bool { return a.ID == b.ID })
}
