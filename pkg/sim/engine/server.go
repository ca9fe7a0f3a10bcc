package engine

import (
	"fmt"

	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/metric"
)

// Server is one vLLM server: the API server in front, the engine core behind. It
// implements sim.Backend. Replies are never called from inside Submit or an abort
// function, always from an event of the kernel; but a patient one hears on an abort of
// the tokens that went before.
type Server struct {
	k       *kernel.Kernel
	cfg     Config
	core    core
	metrics *metrics
	shared  map[*sim.Prefix]*SharedPrompt
}

// New returns an idle server on k.
func New(k *kernel.Kernel, cfg Config) *Server {
	s := &Server{k: k, cfg: cfg, metrics: newMetrics(cfg), shared: map[*sim.Prefix]*SharedPrompt{}}
	s.core = core{
		k:         k,
		cfg:       &s.cfg,
		scheduler: NewScheduler(cfg.Scheduler),
		metrics:   s.metrics,
		depth:     1,
	}
	s.core.event = s.core.run
	if cfg.Scheduler.AsyncScheduling {
		s.core.depth = 2
	}
	return s
}

// Metrics is what the server exposes at /metrics.
func (s *Server) Metrics() *metric.Registry { return &s.metrics.registry }

// Stuck reports whether requests wait that no step will ever serve, such as a
// prompt that is larger than the KV cache. vLLM spins then; the model stands
// still until somebody aborts, which is up to its callers' timeouts.
func (s *Server) Stuck() bool { return s.core.stuck() }

// CatchUp tells all patient replies of the tokens that they have not heard of.
func (s *Server) CatchUp() { s.core.catchUp() }

// Stats returns the scheduler's totals.
func (s *Server) Stats() Stats { return s.core.scheduler.Stats() }

// call is a sim.Call on its way through the server.
type call struct {
	Request
	reply   sim.Reply
	patient sim.Patient // reply, where it is patient
	source  *sim.Call
	output  sim.Output
	stage   stage
	ended   bool // the reply had its End, or an event that brings it is on its way
	started bool // the reply had its Headers
	outputs int  // tokens delivered
	behind  span // those of them that a patient reply has not heard of

	timer                                kernel.Timer
	arrived, queued, admitted, first, at kernel.Time // at: last token
	wasAdmitted                          bool
}

// stage is where the request is; the reply may lag behind.
type stage uint8

const (
	stageFront stage = iota // on its way through the API server
	stageInbox              // waits for the step to end
	stageCore               // known to the scheduler
)

// OutputID implements OutputIDs. The hash of the prompt is computed only when a
// block of output tokens fills.
func (c *call) OutputID(i int) uint32 {
	if c.output == (sim.Output{}) {
		c.output = c.source.Output()
	}
	return c.output.ID(i)
}

// Submit implements sim.Backend. A call is refused at once, as vLLM refuses it: an
// unknown model with 404, a prompt that leaves no room for its output with 400.
// Without MaxTokens a call may fill the context. The model never ends an answer by
// itself, so IgnoreEOS makes no difference.
func (s *Server) Submit(source *sim.Call, reply sim.Reply) (abort func()) {
	c := &call{reply: reply, patient: sim.AsPatient(reply), source: source, arrived: s.k.Now()}
	if end, refused := s.refusal(source); refused {
		c.ended = true
		s.k.At(s.k.Now(), func() { reply.End(s.k.Now(), end) })
		return func() {}
	}
	maxTokens := source.MaxTokens
	if maxTokens == 0 {
		maxTokens = s.cfg.Scheduler.MaxModelLen - source.Prompt.Len()
	}
	c.Request = Request{
		ID:        source.ID,
		Prompt:    source.Prompt,
		MaxTokens: maxTokens,
		Priority:  source.Priority,
		Arrival:   int64(c.arrived),
		Salt:      source.CacheSalt,
		Output:    c,
		// Others hear of their tokens by settle.
		EveryToken: c.patient == nil,
		Shared:     s.sharedOf(source),
		call:       c,
	}
	c.timer = s.k.After(s.cfg.RequestLatency, func() { s.core.arrive(c) })
	return func() { s.abort(c) }
}

// sharedOf returns the same for all calls that are known to start with the same tokens.
func (s *Server) sharedOf(c *sim.Call) *SharedPrompt {
	prefix := c.Shared()
	if prefix == nil {
		return nil
	}
	shared, ok := s.shared[prefix]
	if !ok {
		shared = &SharedPrompt{Tokens: prefix.Len()}
		s.shared[prefix] = shared
	}
	return shared
}

// refusal is the front end's check of a call. The texts are vLLM's (renderers and
// serving, August 2026).
func (s *Server) refusal(c *sim.Call) (sim.End, bool) {
	limit := s.cfg.Scheduler.MaxModelLen
	switch {
	case c.Model != s.cfg.Model:
		return sim.End{
			Status:    404,
			ErrorType: "NotFoundError",
			Message:   fmt.Sprintf("The model `%s` does not exist.", c.Model),
			Param:     "model",
		}, true
	case c.MaxTokens < 0:
		return badRequest(fmt.Sprintf("max_tokens must be at least 1, got %d.", c.MaxTokens), "max_tokens", c.MaxTokens), true
	case c.Prompt.Len() == 0:
		return sim.End{Status: 400, ErrorType: "BadRequestError", Message: "The decoder prompt cannot be empty"}, true
	case c.MaxTokens > limit:
		return badRequest(fmt.Sprintf("max_tokens=%d cannot be greater than max_model_len=max_total_tokens=%d. Please request fewer output tokens.", c.MaxTokens, limit),
			"max_tokens", c.MaxTokens), true
	case c.Prompt.Len()+c.MaxTokens > limit:
		// The tokenizer stops one token above what would fit, so vLLM does not know
		// how long the prompt really is.
		input := limit - c.MaxTokens + 1
		return badRequest(fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt contains at least %d input tokens, for a total of at least %d tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
			limit, c.MaxTokens, input, input+c.MaxTokens), "input_tokens", input), true
	case c.Prompt.Len() == limit:
		return sim.End{Status: 400, ErrorType: "BadRequestError", Message: fmt.Sprintf(
			"The decoder prompt (length %d) plus the number of requested output tokens (at least 1) is longer than the maximum model length of %d. Make sure that `max_model_len` is no smaller than the number of text tokens (prompt + requested output tokens).",
			limit, limit)}, true
	}
	return sim.End{}, false
}

// badRequest is a validation error, whose text ends with what it is about.
func badRequest(message, parameter string, value int) sim.End {
	return sim.End{
		Status:    400,
		ErrorType: "BadRequestError",
		Message:   fmt.Sprintf("%s (parameter=%s, value=%d)", message, parameter, value),
		Param:     parameter,
	}
}

// abort is the client's disconnect. The caller hears of it at once; the engine
// gives the blocks back when the running step ends.
func (s *Server) abort(c *call) {
	if c.ended {
		return
	}
	if c.decoding.on {
		s.core.settle(c)
	}
	s.core.history.tell(c)
	c.ended = true
	c.timer.Stop()
	s.metrics.aborted.Add(1)
	s.k.At(s.k.Now(), func() {
		c.reply.End(s.k.Now(), sim.End{Status: sim.StatusAborted, FinishReason: "abort", Usage: c.usage()})
	})
	if c.stage == stageCore && !c.Request.ended() {
		s.core.abort(c)
	}
}

func (c *call) usage() sim.Usage {
	return sim.Usage{PromptTokens: c.Prompt.Len(), CachedTokens: c.CachedTokens(), OutputTokens: c.outputs}
}
