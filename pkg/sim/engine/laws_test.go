package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// checkBlocks holds the laws of the KV cache: every block is either free or used,
// its references are those of the requests' tables, and the prefix cache finds
// exactly the hashed blocks.
func checkBlocks(t *rapid.T, s *Scheduler) {
	refs := make([]int32, len(s.pool.blocks))
	for _, r := range s.running {
		s.settle(r)
		if len(r.blocks)*s.cfg.BlockSize != r.slots || r.computed > r.slots {
			t.Fatalf("%s: %d tokens computed in %d blocks with %d slots", r.ID, r.computed, len(r.blocks), r.slots)
		}
		for _, id := range r.blocks {
			refs[id]++
		}
	}
	for _, r := range s.waiting.heap {
		if len(r.blocks) > 0 || r.computed > 0 {
			t.Fatalf("%s waits with %d blocks", r.ID, len(r.blocks))
		}
	}
	if refs[0] != 0 {
		t.Fatal("the null block was handed out")
	}
	free := s.pool.queue.ids()
	if len(free) != s.pool.free() {
		t.Fatalf("%d blocks are in the free queue, %d are counted", len(free), s.pool.free())
	}
	isFree := make([]bool, len(refs))
	for _, id := range free {
		if isFree[id] {
			t.Fatalf("block %d is free twice", id)
		}
		isFree[id] = true
	}
	hashed, found := 0, 0
	for id := 1; id < len(refs); id++ {
		b := s.pool.blocks[id]
		if b.refs != refs[id] || isFree[id] != (b.refs == 0) {
			t.Fatalf("block %d: %d references counted, %d held, free %v", id, b.refs, refs[id], isFree[id])
		}
		if b.hashed {
			hashed++
		}
	}
	for _, id := range s.pool.buckets {
		for ; id != 0; id = s.pool.blocks[id].chain {
			found++
		}
	}
	if hashed != found {
		t.Fatalf("%d blocks are hashed, %d are in the prefix cache", hashed, found)
	}
}

func drawScheduler(t *rapid.T) SchedulerConfig {
	return SchedulerConfig{
		MaxNumSeqs:                rapid.IntRange(1, 8).Draw(t, "maxNumSeqs"),
		MaxNumBatchedTokens:       rapid.IntRange(8, 200).Draw(t, "maxNumBatchedTokens"),
		MaxModelLen:               rapid.IntRange(150, 300).Draw(t, "maxModelLen"),
		BlockSize:                 rapid.SampledFrom([]int{1, 5, 16}).Draw(t, "blockSize"),
		NumGPUBlocks:              rapid.IntRange(8, 60).Draw(t, "numGPUBlocks"),
		EnablePrefixCaching:       rapid.Bool().Draw(t, "prefixCaching"),
		EnableChunkedPrefill:      rapid.IntRange(0, 3).Draw(t, "chunked") > 0,
		LongPrefillTokenThreshold: rapid.SampledFrom([]int{0, 0, 7, 32}).Draw(t, "threshold"),
		Priority:                  rapid.Bool().Draw(t, "priority"),
		AsyncScheduling:           rapid.Bool().Draw(t, "async"),
		ReserveFullISL:            rapid.Bool().Draw(t, "reserve"),
		Watermark:                 rapid.SampledFrom([]float64{0, 0, 0.1}).Draw(t, "watermark"),
	}
}

func drawRequest(t *rapid.T, i int) *Request {
	return &Request{
		ID:        fmt.Sprint(i),
		Prompt:    prompt(rapid.IntRange(0, 2).Draw(t, "seed"), rapid.IntRange(1, 120).Draw(t, "len")),
		MaxTokens: rapid.IntRange(1, 60).Draw(t, "maxTokens"),
		Priority:  rapid.IntRange(0, 2).Draw(t, "priority"),
		Arrival:   int64(i),
		Salt:      rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "salt"),
		Output:    recordedOutput(i),

		EveryToken: rapid.Bool().Draw(t, "everyToken"),
	}
}

func TestSchedulerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawScheduler(t)
		s := NewScheduler(cfg)
		depth := 1
		if cfg.AsyncScheduling {
			depth = 2
		}
		var requests []*Request
		var queue []*Batch
		tokens := map[*Request]int{}
		ended := map[*Request]int{}
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			for range rapid.IntRange(0, 2).Draw(t, "arrivals") {
				if len(requests) < 12 {
					r := drawRequest(t, len(requests))
					requests = append(requests, r)
					s.Add(r)
				}
			}
			if s.Unfinished() == 0 {
				continue
			}
			b := s.Schedule()
			checkBatch(t, cfg, s, b)
			checkBlocks(t, s)
			queue = append(queue, b)
			if rapid.IntRange(0, 9).Draw(t, "abort") == 0 {
				r := rapid.SampledFrom(requests).Draw(t, "aborted")
				if s.Abort(r) {
					ended[r]++
				}
			}
			if len(queue) < depth {
				continue
			}
			for _, r := range s.Update(queue[0]) {
				tokens[r]++
				if r.Finished() {
					ended[r]++
				}
			}
			queue = queue[1:]
			checkBlocks(t, s)
			for r, n := range tokens {
				if s.settle(r); r.OutputTokens() < n || r.EveryToken && r.OutputTokens() != n {
					t.Fatalf("%s has %d tokens, %d were delivered", r.ID, r.OutputTokens(), n)
				}
			}
		}
		all := 0
		for _, r := range requests {
			s.settle(r)
			if r.ended() != (ended[r] == 1) || ended[r] > 1 {
				t.Fatalf("%s ended %d times, its state is %d", r.ID, ended[r], r.state)
			}
			want := min(r.MaxTokens, cfg.MaxModelLen-r.Prompt.Len())
			if r.Finished() && r.OutputTokens() != want {
				t.Fatalf("%s finished with %d tokens, want %d", r.ID, r.OutputTokens(), want)
			}
			all += r.OutputTokens()
		}
		if got := s.Stats().OutputTokens; got != all {
			t.Fatalf("%d tokens are counted, the requests have %d", got, all)
		}
	})
}

func TestTheMemoryOfABlockedHeadChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawScheduler(t)
		with, without := NewScheduler(cfg), NewScheduler(cfg)
		var twins [][2]*Request
		var queue [][2]*Batch
		depth := 1
		if cfg.AsyncScheduling {
			depth = 2
		}
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			for range rapid.IntRange(0, 2).Draw(t, "arrivals") {
				if len(twins) < 15 {
					r := drawRequest(t, len(twins))
					twin := *r
					twins = append(twins, [2]*Request{r, &twin})
					with.Add(r)
					without.Add(&twin)
				}
			}
			if with.Unfinished() == 0 {
				continue
			}
			without.blocked = blockedHead{}
			a, b := with.Schedule(), without.Schedule()
			if a.Load != b.Load || len(a.Admitted) != len(b.Admitted) || len(a.Preempted) != len(b.Preempted) {
				t.Fatalf("got %+v, without the memory %+v", a, b)
			}
			queue = append(queue, [2]*Batch{a, b})
			if rapid.IntRange(0, 9).Draw(t, "abort") == 0 {
				r := rapid.SampledFrom(twins).Draw(t, "aborted")
				with.Abort(r[0])
				without.Abort(r[1])
			}
			if len(queue) == depth {
				with.Update(queue[0][0])
				without.Update(queue[0][1])
				queue = queue[1:]
			}
			if with.Stats() != without.Stats() || with.pool.free() != without.pool.free() {
				t.Fatalf("got %+v, without the memory %+v", with.Stats(), without.Stats())
			}
		}
	})
}

func checkBatch(t *rapid.T, cfg SchedulerConfig, s *Scheduler, b *Batch) {
	var load Load
	seen := map[*Request]bool{}
	for _, it := range s.itemsOf(b) {
		n := int(it.tokens)
		if n < 1 || seen[it.request] || it.request.state != stateRunning {
			t.Fatalf("%s is scheduled with %d tokens in state %d", it.request.ID, n, it.request.state)
		}
		seen[it.request] = true
		load.add(it.request.computed-n, n)
	}
	if load != b.Load {
		t.Fatalf("load: got %+v, want %+v", b.Load, load)
	}
	if load.Tokens > cfg.MaxNumBatchedTokens || s.Running() > cfg.MaxNumSeqs {
		t.Fatalf("%d tokens and %d seats are above the limits", load.Tokens, s.Running())
	}
	if len(b.Preempted) > 0 && len(b.Admitted) > 0 {
		t.Fatal("a step that preempted has admitted")
	}
}

func TestNoStepIsFasterThanTheHardware(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(Models()).Draw(t, "model")
		g := rapid.SampledFrom(GPUs()).Draw(t, "gpu")
		tp := rapid.SampledFrom(spec.TensorParallelSizes()).Draw(t, "tp")
		shard, err := m.Shard(tp)
		if err != nil {
			t.Skip(err)
		}
		cost := NewCost(shard, g, tp)
		// Decodes alone, the ends of prompts whose start was cached, or anything.
		most := rapid.SampledFrom([]int{1, 4, 64, 8192}).Draw(t, "most")
		var l Load
		var flops, kv float64
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			start := rapid.IntRange(0, 16000).Draw(t, "start")
			n := rapid.IntRange(1, most).Draw(t, "n")
			l.add(start, n)
			flops += 2*m.layerParams()*float64(n) + 2*m.headParams()
			kv += m.KVBytes() * float64(start+n) // read once at least, whatever n is
			for i := 0; n > 1 && i < n; i++ {    // token by token, queries and values
				flops += 4 * float64(m.Layers*m.Heads*m.HeadDim) * float64(start+i)
			}
		}
		got := cost.StepTime(l).Seconds()
		if limit := flops / (float64(tp) * g.PeakFLOPS); got < limit {
			t.Fatalf("a step of %+v takes %v s, its FLOPs at peak %v s", l, got, limit)
		}
		if limit := (m.WeightBytes() + kv) / (float64(tp) * g.Bandwidth); got < limit {
			t.Fatalf("a step of %+v takes %v s, its bytes at full bandwidth %v s", l, got, limit)
		}
	})
}

// workload is a random day of a server: arrivals, some aborted, some by closed
// loops that submit from inside a Reply.
type workload struct {
	cfg      Config
	seed     uint64
	stepwise bool
}

func (w workload) run(t *rapid.T) (answers []*answer, s *Server) {
	k := kernel.NewVirtual()
	s = New(k, w.cfg)
	s.core.stepwise = w.stepwise
	rng := rand.New(rand.NewPCG(w.seed, 7))
	submit := func(onEnd func()) *answer {
		a := &answer{k: k, onEnd: onEnd}
		answers = append(answers, a)
		call := &sim.Call{
			ID: fmt.Sprint(len(answers)), Model: testModel, Priority: rng.IntN(3),
			Prompt: prompt(rng.IntN(4), 1+rng.IntN(400)), MaxTokens: 1 + rng.IntN(80),
		}
		abort := s.Submit(call, a)
		if rng.IntN(4) == 0 {
			k.After(time.Duration(rng.IntN(1500))*ms, abort)
		}
		return a
	}
	for range 1 + rng.IntN(3) { // closed loops
		left := 1 + rng.IntN(6)
		var again func()
		again = func() {
			if left--; left > 0 {
				submit(again)
			}
		}
		k.At(0, again)
	}
	at := kernel.Time(0)
	for range rng.IntN(12) {
		at += time.Duration(rng.IntN(400)) * ms
		k.At(at, func() { submit(nil) })
	}
	for tick := range 8 { // somebody else's events
		k.At(kernel.Time(tick)*250*ms, func() {})
	}
	if err := k.Run(context.Background()); !errors.Is(err, kernel.ErrDeadlock) {
		t.Fatal(err)
	}
	return answers, s
}

func drawWorkload(t *rapid.T) workload {
	cfg := Config{Name: "vllm-0", Model: testModel, RequestLatency: requestLatency, TokenLatency: tokenLatency}
	cfg.Scheduler = drawScheduler(t)
	cfg.Scheduler.BlockSize = 16
	cfg.Scheduler.MaxModelLen = 600
	cfg.Scheduler.NumGPUBlocks = rapid.IntRange(40, 120).Draw(t, "kv")
	cfg.Scheduler.MaxNumBatchedTokens = rapid.IntRange(64, 2000).Draw(t, "budget")
	// Chunks off and a prompt above the budget would wait for ever, which is
	// allowed but not what most runs should be about.
	cfg.Scheduler.EnableChunkedPrefill = true
	if rapid.IntRange(0, 4).Draw(t, "zeroLatency") == 0 {
		cfg.TokenLatency = 0
	}
	cfg.Cost = NewCost(Models()[2], GPUs()[1], 1)
	return workload{cfg: cfg, seed: rapid.Uint64().Draw(t, "seed")}
}

func TestServerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorkload(t)
		answers, s := w.run(t)
		for i, a := range answers {
			if a.broken != "" {
				t.Fatalf("reply %d: %s", i, a.broken)
			}
			end, ended := a.end()
			if !ended && !s.Stuck() {
				t.Fatalf("reply %d has no end: %+v", i, a.events)
			}
			times := a.tokenTimes()
			if end.Status == 200 && len(times) != end.Usage.OutputTokens {
				t.Fatalf("reply %d: %d tokens came, the usage says %d", i, len(times), end.Usage.OutputTokens)
			}
			if len(times) > 0 && a.events[0].At != times[0] {
				t.Fatalf("reply %d: headers at %v, first token at %v", i, a.events[0].At, times[0])
			}
			for _, gap := range gaps(times) {
				if least := s.cfg.Cost.StepTime(Load{Requests: 1, Tokens: 1, Context: 1}); gap < least-s.cfg.TokenLatency {
					t.Fatalf("reply %d: two tokens %v apart, no step is below %v", i, gap, least)
				}
			}
		}
		if used := s.core.scheduler.pool.used(); !s.Stuck() && used != 0 {
			t.Fatalf("%d blocks are used by nobody", used)
		}
	})
}

func TestTheSameSeedGivesTheSameTraceAndTheShortcutChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorkload(t)
		first, s := w.run(t)
		second, _ := w.run(t)
		w.stepwise = true
		stepwise, slow := w.run(t)
		if len(first) != len(second) || len(first) != len(stepwise) {
			t.Fatalf("got %d, %d and %d replies", len(first), len(second), len(stepwise))
		}
		for i := range first {
			if !reflect.DeepEqual(first[i].events, second[i].events) {
				t.Fatalf("reply %d differs between two runs", i)
			}
			if !reflect.DeepEqual(first[i].events, stepwise[i].events) {
				t.Fatalf("reply %d: got %+v, with an event a step %+v", i, first[i].events, stepwise[i].events)
			}
		}
		if s.Stats() != slow.Stats() || s.Stuck() != slow.Stuck() {
			t.Fatalf("got %+v, with an event a step %+v", s.Stats(), slow.Stats())
		}
	})
}

func TestHashesChainAndSaltsSeparate(t *testing.T) {
	a, b := blockHash(0, []uint32{1, 2, 3, 4, 5}), blockHash(0, []uint32{1, 2, 3, 4, 6})
	c, d := blockHash(a, []uint32{9, 9, 9, 9}), blockHash(b, []uint32{9, 9, 9, 9})
	e, f := blockHash(saltHash("x"), []uint32{1, 2, 3, 4, 5}), blockHash(saltHash("y"), []uint32{1, 2, 3, 4, 5})
	all := []uint64{a, b, c, d, e, f, blockHash(0, []uint32{2, 1, 3, 4, 5}), blockHash(0, []uint32{3, 4, 1, 2, 5})}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 8 {
		t.Errorf("got %d different hashes of 8", n)
	}
}
