package engine

import (
	"fmt"
	"testing"

	"bgbench/pkg/sim"
)

// Rules of vLLM's scheduler that no recorded case isolates. docs/model.md lists all
// rules with what holds each of them.

func smallScheduler(change func(*SchedulerConfig)) *Scheduler {
	cfg := SchedulerConfig{
		MaxNumSeqs: 8, MaxNumBatchedTokens: 512, MaxModelLen: 4096, BlockSize: 16, NumGPUBlocks: 257,
		EnablePrefixCaching: true, EnableChunkedPrefill: true, ReserveFullISL: true,
	}
	if change != nil {
		change(&cfg)
	}
	return NewScheduler(cfg)
}

func add(s *Scheduler, prompt sim.Prompt, maxTokens int) *Request {
	n := s.Unfinished()
	r := &Request{ID: fmt.Sprint(n), Prompt: prompt, MaxTokens: maxTokens, Arrival: int64(n), Output: recordedOutput(n)}
	s.Add(r)
	return r
}

// tokensOf is what b computes of r, 0 when r is not in it.
func tokensOf(b *Batch, r *Request) int {
	for _, it := range b.items {
		if it.request == r {
			return int(it.tokens)
		}
	}
	return 0
}

func TestAChunkInProgressIsHitUpToItsEnd(t *testing.T) {
	s := smallScheduler(func(cfg *SchedulerConfig) { cfg.LongPrefillTokenThreshold = 256 })
	first, twin := add(s, prompt(1, 2000), 1), add(s, prompt(1, 2000), 1)
	b := s.Schedule()
	if got := tokensOf(b, first); got != 256 {
		t.Errorf("the first computes %d tokens, want a chunk of 256", got)
	}
	if tokensOf(b, twin) != 256 || twin.CachedTokens() != 256 {
		t.Errorf("its twin found %d tokens and computes %d, want the 256 of this step's chunk and the 256 behind them", twin.CachedTokens(), tokensOf(b, twin))
	}
}

func TestAResumedRequestComputesAtLeastOneToken(t *testing.T) {
	s := smallScheduler(func(cfg *SchedulerConfig) { cfg.NumGPUBlocks = 12 })
	// Each prompt fills five of the 11 blocks, and the second finds no sixth.
	first, victim := add(s, prompt(1, 80), 17), add(s, prompt(2, 80), 40)
	resumed := -1
	for range 60 {
		b := s.Schedule()
		if victim.Preemptions() == 1 && resumed < 0 && len(b.Admitted) == 1 {
			resumed = tokensOf(b, victim)
			if known := victim.known; known != 81 || resumed != 1 {
				t.Errorf("the victim computes %d of its %d tokens, want the last alone", resumed, known)
			}
		}
		s.Update(b)
	}
	if resumed < 0 || !first.Finished() || !victim.Finished() {
		t.Fatalf("resumed with %d tokens, preemptions %d, finished %v and %v", resumed, victim.Preemptions(), first.Finished(), victim.Finished())
	}
	if got := s.Stats(); got.PreemptedPrefixHits != 80 || got.PrefixHits != 0 {
		t.Errorf("hits: got %d and %d of preempted requests, want 0 and 80 kept apart", got.PrefixHits, got.PreemptedPrefixHits)
	}
}

func TestABlockOfOutputIsHashedOneStepLaterUnderAsyncScheduling(t *testing.T) {
	for _, async := range []bool{false, true} {
		s := smallScheduler(func(cfg *SchedulerConfig) { cfg.AsyncScheduling = async })
		r := add(s, prompt(1, 15), 40)
		hashed := "" // after 15 prompt tokens, step 1 computes the 16th token
		note := func(what string, step int) {
			if hashed == "" && r.hashed == 1 {
				hashed = fmt.Sprintf("%s of step %d", what, step)
			}
		}
		var queue []*Batch
		updated := 0
		for step := range 5 {
			queue = append(queue, s.Schedule())
			note("schedule", step)
			if async && len(queue) < 2 {
				continue
			}
			s.Update(queue[0])
			note("update", updated)
			queue = queue[1:]
			updated++
		}
		want := "schedule of step 1"
		if async {
			want = "schedule of step 2" // when step 1 was scheduled the token had not arrived
		}
		if hashed != want {
			t.Errorf("async %v: the block was hashed in the %s, want the %s", async, hashed, want)
		}
	}
}

func TestABlockedHeadIsLookedUpManyTimesAndCountedOnce(t *testing.T) {
	s := smallScheduler(func(cfg *SchedulerConfig) { cfg.NumGPUBlocks = 12 })
	add(s, prompt(1, 100), 20)
	blocked := add(s, prompt(2, 150), 1)
	steps := 0
	for ; blocked.state == stateWaiting && steps < 100; steps++ {
		s.Update(s.Schedule())
	}
	if got := s.Stats(); steps < 10 || got.PrefixQueries != 250 {
		t.Errorf("after %d steps: got %d tokens looked up, want the 250 of both prompts", steps, got.PrefixQueries)
	}
}

func TestAResumedRequestNeedsRoomForItsOutputToo(t *testing.T) {
	s := smallScheduler(func(cfg *SchedulerConfig) {
		cfg.NumGPUBlocks, cfg.MaxNumBatchedTokens, cfg.EnablePrefixCaching = 12, 32, false
	})
	first, victim := add(s, prompt(1, 16), 90), add(s, prompt(2, 16), 90)
	for steps := 0; victim.Preemptions() == 0; steps++ {
		if steps == 100 {
			t.Fatal("nobody was preempted")
		}
		s.Update(s.Schedule())
	}
	// Five of the eleven blocks are free. The victim's prompt takes one and its
	// first chunk two, but prompt and output take six.
	for !first.Finished() {
		if b := s.Schedule(); len(b.Admitted) > 0 {
			t.Fatalf("a request of %d tokens was admitted to %d free blocks", victim.known, s.pool.free())
		} else {
			s.Update(b)
		}
	}
	if b := s.Schedule(); len(b.Admitted) != 1 {
		t.Errorf("%d were admitted after the other had ended, want the victim", len(b.Admitted))
	}
}

func TestUnderAsyncSchedulingNoTokenBeyondTheContextIsComputed(t *testing.T) {
	s := smallScheduler(func(cfg *SchedulerConfig) { cfg.AsyncScheduling, cfg.MaxModelLen = true, 40 })
	r := add(s, prompt(1, 30), 100)
	var queue []*Batch
	for s.Unfinished() > 0 {
		queue = append(queue, s.Schedule())
		if len(queue) == 2 {
			s.Update(queue[0])
			queue = queue[1:]
		}
	}
	// Ten tokens of output fill the context; the last of them is never computed.
	if got := s.Stats().ScheduledTokens; r.OutputTokens() != 10 || got != 39 {
		t.Errorf("got %d tokens of output and %d computed, want 10 and 39", r.OutputTokens(), got)
	}
}
