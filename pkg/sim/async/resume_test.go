package async

import (
	"fmt"
	"testing"
	"time"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/engine"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/spec"
)

// cutter is an engine whose streams are cut after so many tokens, once per entry of
// cuts and request.
type cutter struct {
	k      *kernel.Kernel
	engine *engine.Server
	cuts   []int
	text   map[string]string // as a client that keeps what it was sent has it
	calls  map[string][]*sim.Call
}

func (c *cutter) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	n := len(c.calls[call.ID])
	c.calls[call.ID] = append(c.calls[call.ID], call)
	s := &cutStream{c: c, call: call, reply: reply, left: -1}
	if n < len(c.cuts) {
		s.left = c.cuts[n]
	}
	s.abort = c.engine.Submit(call, s)
	return s.abort
}

type cutStream struct {
	c     *cutter
	call  *sim.Call
	reply sim.Reply
	left  int // tokens until the cut, below 0 for no cut
	sent  int
	over  bool
	abort func()
}

func (s *cutStream) Headers(at kernel.Time, endpoint string) { s.reply.Headers(at, endpoint) }

func (s *cutStream) Tokens(at kernel.Time, n int) {
	if s.over {
		return
	}
	s.sent += n
	s.reply.Tokens(at, n)
	if s.left >= 0 && s.sent >= s.left {
		s.over = true
		s.abort()
		s.c.text[s.call.ID] += s.call.Output().Text(s.sent)
		if s.call.Stream {
			s.reply.End(at, sim.End{Status: sim.StatusNoAnswer, Cut: true})
		} else {
			s.reply.End(at, sim.End{Status: 429, DroppedReason: "evicted"})
		}
	}
}

func (s *cutStream) End(at kernel.Time, end sim.End) {
	if s.over {
		return
	}
	s.over = true
	s.c.text[s.call.ID] += s.call.Output().Text(end.Usage.OutputTokens)
	s.reply.End(at, end)
}

func TestAResumedRequestEndsWithTheTextOfAnUndisturbedOne(t *testing.T) {
	const limit, prompt = 50, 100
	tests := []struct {
		name    string
		resume  bool
		caching bool
		cuts    []int
		// What the last attempt asks for, and how much was done again.
		asks           int
		prompt, output float64
	}{
		{"undisturbed", true, false, nil, 50, 0, 0},
		{"cut once", true, false, []int{20}, 30, 120, 0},
		{"cut twice", true, false, []int{20, 10}, 20, 120 + 130, 0},
		{"cut after the first token", true, false, []int{1}, 49, 101, 0},
		// The prompt and its tokens but the last few are in the cache, in blocks of 16.
		{"cut once, prefix caching on", true, true, []int{20}, 30, 120 - 112, 0},
		{"from scratch without resume", false, false, []int{20, 10}, 50, 200, 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := kernel.NewVirtual()
			c := &cutter{k: k, engine: newEngine(t, k, tt.caching), cuts: tt.cuts, text: map[string]string{}, calls: map[string][]*sim.Call{}}
			cfg := defaults()
			cfg.Resume = tt.resume
			p := New(k, cfg, c)
			ids := make([]uint32, prompt)
			for i := range ids {
				ids[i] = uint32(i * 7)
			}
			call := &sim.Call{ID: "m", Model: model, Prompt: sim.PromptOf(ids), MaxTokens: limit}
			var results []Result
			p.Submit(Message{ID: "m", Deadline: k.Instant(time.Hour).Unix(), Call: call}, func(r Result) { results = append(results, r) })
			k.At(10*time.Minute, k.Stop)
			if err := k.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(results) != 1 || results[0].End.Status != 200 {
				t.Fatalf("got %+v", results)
			}
			end := results[0].End
			if u := end.Usage; u.PromptTokens != prompt || u.OutputTokens != limit || u.CachedTokens > prompt || end.FinishReason != "length" {
				t.Errorf("ended %+v", end)
			}
			want := call.Output().Text(limit)
			if got := sim.Completion(call, end, 0).Choices[0].Message.Content; got != want {
				t.Error("the answer is another text")
			}
			// And so is what came out of the engine, piece by piece.
			if tt.resume && c.text["m"] != want {
				t.Error("the pieces are another text")
			}
			last := c.calls["m"][len(tt.cuts)]
			if last.MaxTokens != tt.asks || last.Stream != tt.resume {
				t.Errorf("the last attempt is %d tokens, stream %v", last.MaxTokens, last.Stream)
			}
			m := p.Metrics()
			if got := value(t, m, "bgbench_async_redone_tokens_total", "prompt"); got != tt.prompt {
				t.Errorf("redone prompt tokens: %v, want %v", got, tt.prompt)
			}
			if got := value(t, m, "bgbench_async_redone_tokens_total", "output"); got != tt.output {
				t.Errorf("redone output tokens: %v, want %v", got, tt.output)
			}
			if got := value(t, m, "llm_d_async_async_tokens_total"); got != prompt+limit {
				t.Errorf("needed tokens: %v, want %d", got, prompt+limit)
			}
		})
	}
}

const model = "Qwen/Qwen3-8B"

func newEngine(t *testing.T, k *kernel.Kernel, caching bool) *engine.Server {
	t.Helper()
	arm, err := spec.LoadArm("s0-interactive-only", []string{fmt.Sprintf("engine.enablePrefixCaching=%v", caching)})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := engine.ConfigOf(arm.Engine, model, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return engine.New(k, cfg)
}

func TestAResumedRequestIsSentAgainAtTheNextPollAndARestartedOneAfterItsBackoff(t *testing.T) {
	stream := answer{after: 100 * time.Millisecond, tokens: 4, end: cut}
	for _, tt := range []struct {
		name     string
		resume   bool
		first    answer
		from, to time.Duration // of the second attempt
	}{
		{"cut in mid-stream", true, stream, 2 * time.Second, 2 * time.Second},
		{"evicted before its first token", true, evicted, 4 * time.Second, 6 * time.Second},
		{"evicted without resume", false, answer{after: stream.after, tokens: 4, end: evicted.end}, 4 * time.Second, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Resume = tt.resume })
			r.submit("m", time.Hour, tt.first, ok)
			r.run(time.Minute)
			if r.result("m").End.Status != 200 || len(r.log) != 2 {
				t.Fatalf("%+v after %d attempts", r.result("m"), len(r.log))
			}
			if at := r.log[1].at; at < tt.from || at > tt.to {
				t.Errorf("sent again at %v, want %v to %v", at, tt.from, tt.to)
			}
		})
	}
}

func TestAUsedUpBudgetEndsTheRequestWithoutGenerating(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Resume = true })
	r.submit("m", time.Hour, answer{after: time.Second, tokens: 10, end: cut}) // of 10
	r.run(time.Minute)
	got := r.result("m")
	if r.attempts["m"] != 1 {
		t.Errorf("%d attempts, want 1", r.attempts["m"])
	}
	if got.End.Status != 200 || got.End.FinishReason != "length" || got.End.Usage.OutputTokens != 10 || got.End.Usage.PromptTokens != 3 {
		t.Errorf("ended %+v", got)
	}
}
