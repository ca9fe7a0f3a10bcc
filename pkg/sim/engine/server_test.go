package engine

import (
	"strings"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

const ms = time.Millisecond

func TestALoneRequestTakesAlphaPrefillAndDecodes(t *testing.T) {
	k := kernel.NewVirtual()
	cfg := testConfig(t, nil)
	s := New(k, cfg)
	a := submitAt(k, s, 100*ms, &sim.Call{ID: "a", Prompt: prompt(1, 1000), MaxTokens: 4})
	runToEnd(t, k)

	var prefill Load
	prefill.add(0, 1000)
	at := 100*ms + cfg.RequestLatency + cfg.Cost.StepTime(prefill)
	want := []kernel.Time{at + cfg.TokenLatency}
	for context := 1001; context < 1004; context++ {
		at += cfg.Cost.StepTime(Load{Requests: 1, Tokens: 1, Context: context})
		want = append(want, at+cfg.TokenLatency)
	}
	got := a.tokenTimes()
	if len(got) != 4 {
		t.Fatalf("got %d tokens, want 4 (%+v)", len(got), a.events)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("token %d at %v, want %v", i, got[i], want[i])
		}
	}
	end, _ := a.end()
	if end.Status != 200 || end.FinishReason != "length" || end.Usage != (sim.Usage{PromptTokens: 1000, OutputTokens: 4}) {
		t.Errorf("end: got %+v", end)
	}
	if a.broken != "" {
		t.Error(a.broken)
	}
	if k.Now() != want[3] {
		t.Errorf("the idle engine made events until %v", k.Now())
	}
}

func TestTheSecondRequestWithTheSamePromptHitsThePrefixCache(t *testing.T) {
	k := kernel.NewVirtual()
	s := New(k, testConfig(t, nil))
	submitAt(k, s, 0, &sim.Call{ID: "a", Prompt: prompt(1, 1000), MaxTokens: 2})
	b := submitAt(k, s, time.Second, &sim.Call{ID: "b", Prompt: prompt(1, 1000), MaxTokens: 2})
	salted := submitAt(k, s, 2*time.Second, &sim.Call{ID: "c", Prompt: prompt(1, 1000), MaxTokens: 2, CacheSalt: "x"})
	runToEnd(t, k)
	if end, _ := b.end(); end.Usage.CachedTokens != 992 {
		t.Errorf("cached tokens: got %d, want 992", end.Usage.CachedTokens)
	}
	if end, _ := salted.end(); end.Usage.CachedTokens != 0 {
		t.Errorf("another salt hit the cache: %d tokens", end.Usage.CachedTokens)
	}
}

func TestTheNextTurnOfAChatHitsTheAnswerBeforeIt(t *testing.T) {
	k := kernel.NewVirtual()
	s := New(k, testConfig(t, nil))
	first := prompt(1, 64)
	submitAt(k, s, 0, &sim.Call{ID: "a", Prompt: first, MaxTokens: 33})
	next := first.IDs()
	for i := range 33 {
		next = append(next, sim.OutputOf(first).ID(i))
	}
	b := submitAt(k, s, time.Second, &sim.Call{ID: "b", Prompt: sim.PromptOf(append(next, 7, 8, 9)), MaxTokens: 1})
	runToEnd(t, k)
	if end, _ := b.end(); end.Usage.CachedTokens != 96 {
		t.Errorf("cached tokens: got %d, want the 64 of the prompt and 32 of the answer", end.Usage.CachedTokens)
	}
}

func TestTheFrontEndRefusesAsVLLMDoes(t *testing.T) {
	for _, c := range []struct {
		name              string
		call              sim.Call
		status            int
		kind, text, param string
	}{
		{
			"an unknown model is not found",
			sim.Call{Model: "gpt-9", Prompt: prompt(1, 10), MaxTokens: 5},
			404, "NotFoundError", "The model `gpt-9` does not exist.", "model",
		},
		{
			"a prompt that leaves no room for its output",
			sim.Call{Model: testModel, Prompt: prompt(1, 8000), MaxTokens: 193},
			400, "BadRequestError", "This model's maximum context length is 8192 tokens. However, you requested 193 output tokens and your prompt contains at least 8000 input tokens, for a total of at least 8193 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=8000)", "input_tokens",
		},
		{
			"a longer prompt is told no more than where the tokenizer stopped",
			sim.Call{Model: testModel, Prompt: prompt(1, 20000), MaxTokens: 192},
			400, "BadRequestError", "This model's maximum context length is 8192 tokens. However, you requested 192 output tokens and your prompt contains at least 8001 input tokens, for a total of at least 8193 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=8001)", "input_tokens",
		},
		{
			"more output than the context",
			sim.Call{Model: testModel, Prompt: prompt(1, 10), MaxTokens: 9000},
			400, "BadRequestError", "max_tokens=9000 cannot be greater than max_model_len=max_total_tokens=8192. Please request fewer output tokens. (parameter=max_tokens, value=9000)", "max_tokens",
		},
		{
			"negative output",
			sim.Call{Model: testModel, Prompt: prompt(1, 10), MaxTokens: -1},
			400, "BadRequestError", "max_tokens must be at least 1, got -1. (parameter=max_tokens, value=-1)", "max_tokens",
		},
		{
			"an empty prompt",
			sim.Call{Model: testModel, MaxTokens: 1},
			400, "BadRequestError", "The decoder prompt cannot be empty", "",
		},
		{
			"a prompt of the whole context without max_tokens",
			sim.Call{Model: testModel, Prompt: prompt(1, 8192)},
			400, "BadRequestError", "The decoder prompt (length 8192) plus the number of requested output tokens (at least 1) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens (prompt + requested output tokens).", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernel.NewVirtual()
			s := New(k, testConfig(t, nil))
			a := submitAt(k, s, ms, &c.call)
			runToEnd(t, k)
			if len(a.events) != 1 {
				t.Fatalf("got %+v, want an end alone", a.events)
			}
			end, _ := a.end()
			if end.Status != c.status || end.ErrorType != c.kind || end.Param != c.param {
				t.Errorf("got %d %s %q, want %d %s %q", end.Status, end.ErrorType, end.Param, c.status, c.kind, c.param)
			}
			if end.Message != c.text {
				t.Errorf("got  %s\nwant %s", end.Message, c.text)
			}
		})
	}
}

func TestAPromptThatJustFitsIsServedToTheLastTokenOfTheContext(t *testing.T) {
	k := kernel.NewVirtual()
	s := New(k, testConfig(t, nil))
	exact := submitAt(k, s, 0, &sim.Call{ID: "a", Prompt: prompt(1, 8000), MaxTokens: 192})
	open := submitAt(k, s, 0, &sim.Call{ID: "b", Prompt: prompt(2, 8100)})
	runToEnd(t, k)
	if end, _ := exact.end(); end.Status != 200 || end.Usage.OutputTokens != 192 {
		t.Errorf("exact fit: got %+v", end)
	}
	if end, _ := open.end(); end.Status != 200 || end.Usage.OutputTokens != 92 {
		t.Errorf("without max_tokens: got %+v, want the 92 tokens that are left", end)
	}
}

func TestAnAbortEndsTheReplyAtOnceAndFreesBlocksWhenTheStepEnds(t *testing.T) {
	for _, async := range []bool{false, true} {
		k := kernel.NewVirtual()
		cfg := testConfig(t, func(e *spec.Engine) { e.AsyncScheduling = async })
		s := New(k, cfg)
		a := &answer{k: k}
		var abort func()
		k.At(0, func() {
			abort = s.Submit(&sim.Call{ID: "a", Model: testModel, Prompt: prompt(1, 5000), MaxTokens: 100}, a)
		})
		var prefill Load
		prefill.add(0, 5000)
		middle := cfg.RequestLatency + cfg.Cost.StepTime(prefill)/2
		k.At(middle, func() {
			abort()
			abort() // the second does nothing
			if s.core.scheduler.pool.used() == 0 {
				t.Error("blocks were free while the step ran")
			}
		})
		runToEnd(t, k)
		end, ended := a.end()
		if !ended || len(a.events) != 1 || a.events[0].At != middle {
			t.Fatalf("async %v: got %+v, want one end at %v", async, a.events, middle)
		}
		if end.Status != sim.StatusAborted || end.FinishReason != "abort" || end.Usage.PromptTokens != 5000 {
			t.Errorf("async %v: end: got %+v", async, end)
		}
		if used := s.core.scheduler.pool.used(); used != 0 {
			t.Errorf("async %v: %d blocks are still used", async, used)
		}
		if got := s.metrics.aborted.Value(); got != 1 {
			t.Errorf("async %v: aborts counted: got %v, want 1", async, got)
		}
	}
}

func TestAnAbortBeforeTheEngineKnowsTheRequestLeavesNoTrace(t *testing.T) {
	k := kernel.NewVirtual()
	cfg := testConfig(t, nil)
	s := New(k, cfg)
	early, inbox := &answer{k: k}, &answer{k: k}
	k.At(0, func() {
		abort := s.Submit(&sim.Call{ID: "a", Model: testModel, Prompt: prompt(1, 100), MaxTokens: 5}, early)
		k.At(cfg.RequestLatency/2, abort)
	})
	submitAt(k, s, 0, &sim.Call{ID: "long", Prompt: prompt(2, 8000), MaxTokens: 1})
	k.At(10*ms, func() { // passes the front end while the prefill of long runs
		abort := s.Submit(&sim.Call{ID: "b", Model: testModel, Prompt: prompt(3, 100), MaxTokens: 5}, inbox)
		k.At(10*ms+cfg.RequestLatency+ms, abort)
	})
	runToEnd(t, k)
	for name, a := range map[string]*answer{"in the front end": early, "in the inbox": inbox} {
		if end, ok := a.end(); !ok || len(a.events) != 1 || end.Status != sim.StatusAborted {
			t.Errorf("%s: got %+v", name, a.events)
		}
	}
	if got := s.Stats().ScheduledTokens; got != 8000 {
		t.Errorf("scheduled %d tokens, want those of the long prompt alone", got)
	}
}

func TestAnAbortAfterTheEndDoesNothing(t *testing.T) {
	k := kernel.NewVirtual()
	s := New(k, testConfig(t, nil))
	a := &answer{k: k}
	k.At(0, func() {
		abort := s.Submit(&sim.Call{ID: "a", Model: testModel, Prompt: prompt(1, 10), MaxTokens: 2}, a)
		a.onEnd = abort
		k.At(time.Minute, abort)
	})
	runToEnd(t, k)
	if end, _ := a.end(); end.Status != 200 || a.broken != "" {
		t.Errorf("got %+v %s", end, a.broken)
	}
}

func TestAStuckEngineStandsStillUntilTheRequestIsAborted(t *testing.T) {
	for _, async := range []bool{false, true} {
		k := kernel.NewVirtual()
		s := New(k, testConfig(t, func(e *spec.Engine) { e.NumGPUBlocks = 65; e.AsyncScheduling = async }))
		huge, small := &answer{k: k}, &answer{k: k}
		k.At(0, func() {
			abort := s.Submit(&sim.Call{ID: "huge", Model: testModel, Prompt: prompt(1, 2000), MaxTokens: 5}, huge)
			s.Submit(&sim.Call{ID: "small", Model: testModel, Prompt: prompt(2, 20), MaxTokens: 5}, small)
			k.At(time.Hour, func() {
				if !s.Stuck() {
					t.Errorf("async %v: the engine does not say that it is stuck", async)
				}
				if got := s.metrics.waiting.Value(); got != 2 {
					t.Errorf("async %v: waiting: got %v, want 2", async, got)
				}
				abort()
			})
		})
		runToEnd(t, k)
		if s.Stuck() {
			t.Errorf("async %v: still stuck after the abort", async)
		}
		if end, _ := small.end(); end.Status != 200 {
			t.Errorf("async %v: the request behind: got %+v", async, small.events)
		}
		if n := len(huge.events); n != 1 || huge.events[0].At != time.Hour {
			t.Errorf("async %v: the huge one: got %+v", async, huge.events)
		}
	}
}

func TestARequestThatPreemptsItselfGetsStuckWithoutSpinning(t *testing.T) {
	for _, async := range []bool{false, true} {
		k := kernel.NewVirtual()
		s := New(k, testConfig(t, func(e *spec.Engine) { e.NumGPUBlocks = 33; e.AsyncScheduling = async }))
		a := submitAt(k, s, 0, &sim.Call{ID: "a", Prompt: prompt(1, 512), MaxTokens: 5})
		runToEnd(t, k)
		if !s.Stuck() {
			t.Errorf("async %v: not stuck", async)
		}
		if got := len(a.tokenTimes()); got != 1 {
			t.Errorf("async %v: got %d tokens, want the first alone", async, got)
		}
	}
}

func TestAsyncSchedulingMakesAnArrivalWaitForOneStepMore(t *testing.T) {
	first := func(async bool) time.Duration {
		k := kernel.NewVirtual()
		s := New(k, testConfig(t, func(e *spec.Engine) { e.AsyncScheduling = async }))
		submitAt(k, s, 0, &sim.Call{ID: "busy", Prompt: prompt(1, 100), MaxTokens: 1000})
		a := submitAt(k, s, time.Second, &sim.Call{ID: "a", Prompt: prompt(2, 100), MaxTokens: 3})
		runToEnd(t, k)
		return a.tokenTimes()[0] - time.Second
	}
	sync, async := first(false), first(true)
	step := 7700 * time.Microsecond // of one or two decodes of Qwen3-8B on an H100
	if !approx(async-sync, step, ms) {
		t.Errorf("first token after %v in sync and %v in async mode, want about %v between them", sync, async, step)
	}
}

func TestUrgentRequestsGoFirstUnderThePriorityPolicy(t *testing.T) {
	k := kernel.NewVirtual()
	s := New(k, testConfig(t, func(e *spec.Engine) { e.SchedulingPolicy = "priority"; e.MaxNumSeqs = 1 }))
	submitAt(k, s, 0, &sim.Call{ID: "running", Prompt: prompt(1, 100), MaxTokens: 50})
	late := submitAt(k, s, ms, &sim.Call{ID: "late", Prompt: prompt(2, 100), MaxTokens: 5, Priority: 1})
	urgent := submitAt(k, s, 2*ms, &sim.Call{ID: "urgent", Prompt: prompt(3, 100), MaxTokens: 5, Priority: -1})
	runToEnd(t, k)
	if l, u := late.tokenTimes()[0], urgent.tokenTimes()[0]; u > l {
		t.Errorf("the urgent request started at %v, the other at %v", u, l)
	}
}

func TestPreemptionNeitherTakesTokensBackNorMovesTheFirst(t *testing.T) {
	for _, async := range []bool{false, true} {
		k := kernel.NewVirtual()
		s := New(k, testConfig(t, func(e *spec.Engine) { e.NumGPUBlocks = 17; e.AsyncScheduling = async }))
		a := submitAt(k, s, 0, &sim.Call{ID: "a", Prompt: prompt(1, 100), MaxTokens: 60})
		b := submitAt(k, s, 0, &sim.Call{ID: "b", Prompt: prompt(2, 100), MaxTokens: 60})
		runToEnd(t, k)
		if got := s.Stats().Preemptions; got != 1 {
			t.Fatalf("async %v: preemptions: got %d, want 1", async, got)
		}
		for name, x := range map[string]*answer{"a": a, "b": b} {
			end, _ := x.end()
			if got := len(x.tokenTimes()); got != 60 || end.Usage.OutputTokens != 60 || x.broken != "" {
				t.Errorf("async %v: %s: got %d tokens, %+v %s", async, name, got, end, x.broken)
			}
		}
		if a.tokenTimes()[0] != b.tokenTimes()[0] {
			t.Errorf("async %v: first tokens at %v and %v, want one step", async, a.tokenTimes()[0], b.tokenTimes()[0])
		}
		longest := func(x *answer) time.Duration { g := gaps(x.tokenTimes()); return g[len(g)-1] }
		if la, lb := longest(a), longest(b); lb < 10*la {
			t.Errorf("async %v: the longest gap of the victim is %v, that of the other %v", async, lb, la)
		}
	}
}

func TestUnknownModelAndGPUNameTheKnownOnes(t *testing.T) {
	arm := spec.Engine{GPU: "H100"}
	if _, err := ConfigOf(arm, "gpt-9", 0); err == nil || !strings.Contains(err.Error(), `found "gpt-9", expected one of`) || !strings.Contains(err.Error(), testModel) {
		t.Errorf("model: got %v", err)
	}
	arm.GPU = "H300"
	if _, err := ConfigOf(arm, testModel, 0); err == nil || !strings.Contains(err.Error(), `found "H300", expected one of A100-80, H100, H200`) {
		t.Errorf("gpu: got %v", err)
	}
}

func TestAServerOnTheWallClockGivesTheSameAnswer(t *testing.T) {
	k := kernel.NewWall()
	cfg := testConfig(t, nil)
	cfg.RequestLatency = 0
	s := New(k, cfg)
	a := &answer{k: k}
	a.onEnd = k.Stop
	k.Post(func() {
		s.Submit(&sim.Call{ID: "a", Model: testModel, Prompt: prompt(1, 100), MaxTokens: 5}, a)
	})
	if err := k.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end, _ := a.end(); end.Status != 200 || len(a.tokenTimes()) != 5 || a.broken != "" {
		t.Errorf("got %+v %s", a.events, a.broken)
	}
	// Never faster than the model; how much slower is up to the machine.
	if total := a.tokenTimes()[4]; total < 5*7*ms {
		t.Errorf("5 tokens after %v, want at least 35ms", total)
	}
}
