package interop

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"bgbench/pkg/spec"
)

// ConvertInferencePerf makes a profile of the configuration of inference-perf, alone or
// as the one workload of an llm-d benchmark template. The workload is the same but for
// what is unsupported, which says what became of it.
func ConvertInferencePerf(data []byte, file string) (_ spec.Profile, unsupported []Unsupported, _ error) {
	var root map[string]any
	if err := yaml.Unmarshal(data, &root); err != nil {
		return spec.Profile{}, nil, fmt.Errorf("%s: %w", file, err)
	}
	c := &converter{}
	top := c.section("", root)
	if top.has("workload") {
		workloads := top.section("workload")
		if len(workloads.keys) != 1 {
			return spec.Profile{}, nil, fmt.Errorf("%s: workload: found %d, expected one", file, len(workloads.keys))
		}
		for name := range workloads.keys {
			top = workloads.section(name)
		}
	}
	p := &perfConfig{converter: c, profile: perfDefaults()}
	p.server(top.section("server"))
	p.api(top.section("api"))
	p.data(top.section("data"))
	p.load(top.section("load"))
	top.ignore("report", "storage", "metrics", "tokenizer", "circuit_breakers")
	if top.has("circuit_breakers") {
		c.leave(top.at("circuit_breakers"), "has no counterpart and is left out")
	}
	top.close()
	if err := c.err(file); err != nil {
		return spec.Profile{}, nil, err
	}
	p.fitContext()
	if err := p.profile.Validate(); err != nil {
		return spec.Profile{}, nil, fmt.Errorf("%s: as a profile: %w", file, err)
	}
	return p.profile, c.left, nil
}

// perfConfig is a profile that is being made of a configuration.
type perfConfig struct {
	*converter
	profile spec.Profile
	// context is the key that gives its length, empty where there is none; fits is set
	// where it was given and need not hold the longest request.
	context string
	fits    bool
}

func perfDefaults() spec.Profile {
	return spec.Profile{
		Name: "inference-perf", Description: "converted from a configuration of inference-perf", Seed: 42, Model: "Qwen/Qwen3-8B",
		Interactive: spec.Interactive{Arrival: spec.PoissonFixedN, Cycles: 1, RequestTimeout: spec.Duration(5 * time.Minute)},
		Drain:       spec.Drain{Interactive: spec.Duration(5 * time.Minute), Jobs: spec.Duration(time.Minute)},
	}
}

func (p *perfConfig) server(s *configSection) {
	p.profile.Model = s.text("model_name", p.profile.Model)
	p.profile.Prompt.IgnoreEOS = s.boolean("ignore_eos", true)
	s.ignore("type", "base_url", "api_key", "cert_path", "key_path")
	s.close()
}

func (p *perfConfig) api(s *configSection) {
	if kind := s.text("type", "completion"); kind != "chat" {
		p.leave(s.at("type"), "%s requests are sent as chats, whose template adds some tokens to each", kind)
	}
	if !s.boolean("streaming", false) {
		p.leave(s.at("streaming"), "answers are streamed all the same")
	}
	s.ignore("slo_unit", "slo_tpot_header", "slo_ttft_header")
	s.close()
}

func (p *perfConfig) data(s *configSection) {
	prompt := &p.profile.Prompt
	switch kind := s.text("type", "mock"); kind {
	case "random", "synthetic":
		prompt.ISL = p.distribution(s.section("input_distribution"), true)
		prompt.OSL = p.distribution(s.section("output_distribution"), true)
	case "shared_prefix":
		p.sharedPrefix(s.section("shared_prefix"))
	case "conversation_replay":
		p.conversations(s.section("conversation_replay"))
	case "shareGPT":
		prompt.Source = &spec.Source{Type: spec.ShareGPT, File: s.text("path", "")}
		if prompt.Source.File == "" {
			p.fault(s.at("path"), "found none, expected the file: nothing is fetched")
		}
		prompt.ISL = spec.Distribution{Type: spec.Uniform, Min: 1, Max: 1024}
		prompt.OSL = spec.Distribution{Type: spec.Uniform, Min: 1, Max: 1024}
		p.leave(s.at("type"), "texts of more than 1024 tokens are left out: change isl.max")
	default:
		p.fault(s.at("type"), "found %q, expected one of random, synthetic, shared_prefix, conversation_replay, shareGPT", kind)
	}
	s.close()
}

// sharedPrefix: each group has a system prompt and questions of its own.
func (p *perfConfig) sharedPrefix(s *configSection) {
	first := func(keys ...string) string {
		for _, k := range keys {
			if s.has(k) {
				return k
			}
		}
		return keys[0]
	}
	prompt := &p.profile.Prompt
	prompt.SystemPrompts.Count = s.whole(first("num_groups", "num_unique_system_prompts"), 10)
	each := first("num_prompts_per_group", "num_users_per_system_prompt")
	if n := s.whole(each, 10); s.has(each) {
		p.leave(s.at(each), "%d prompts of a group would be sent again and again; here every question is a new one", n)
	}
	system := p.length(s, "system_prompt_len", 100)
	if system.Type != spec.Fixed {
		p.leave(s.at("system_prompt_len"), "all system prompts have the mean length")
	}
	prompt.SystemPrompts.Tokens = int(math.RoundToEven(system.Mean))
	prompt.ISL, prompt.OSL = p.length(s, "question_len", 50), p.length(s, "output_len", 50)
	if s.has("question_distribution") {
		prompt.ISL = p.distribution(s.section("question_distribution"), false)
	}
	if s.has("output_distribution") {
		prompt.OSL = p.distribution(s.section("output_distribution"), false)
	}
	if s.boolean("enable_multi_turn_chat", false) {
		p.leave(s.at("enable_multi_turn_chat"), "each question stands alone; see conversation of the profile")
	}
	p.seed(s, "seed")
	s.close()
}

// conversations: each has a system prompt of its own behind the shared one.
func (p *perfConfig) conversations(s *configSection) {
	prompt := &p.profile.Prompt
	if n := s.whole("shared_system_prompt_len", 8359); n > 0 {
		prompt.SystemPrompts = spec.SystemPrompts{Count: 1, Tokens: n}
	}
	c := &spec.Conversation{Open: s.whole("num_conversations", 200), Turns: 1}
	if s.has("dynamic_system_prompt_len") {
		d := p.distribution(s.section("dynamic_system_prompt_len"), false)
		c.Context = int(math.RoundToEven(meanOf(d)))
		if d.Type != spec.Fixed {
			p.leave(s.at("dynamic_system_prompt_len"), "every conversation begins with the mean, %d tokens", c.Context)
		}
	}
	if s.has("turns_per_conversation") {
		d := p.distribution(s.section("turns_per_conversation"), false)
		c.Turns = max(1, int(math.RoundToEven(meanOf(d))))
		switch d.Type {
		case spec.Fixed:
		case spec.Uniform:
			c.MinTurns, c.Turns = d.Min, d.Max
		default:
			p.leave(s.at("turns_per_conversation"), "every conversation has the mean, %d turns", c.Turns)
		}
	}
	prompt.Conversation = c
	prompt.ISL = p.distribution(s.section("input_tokens_per_turn"), false)
	prompt.OSL = p.distribution(s.section("output_tokens_per_turn"), false)
	if wait := s.section("tool_call_latency_sec"); wait.number("max", 0) > 0 || wait.number("mean", 0) > 0 {
		p.leave(wait.path, "turns do not wait for tools")
	}
	p.context = s.at("max_model_len")
	if n := s.whole("max_model_len", 0); n > 0 {
		p.profile.MaxModelLen, p.fits = n, true
	}
	p.seed(s, "seed")
	s.close()
}

func meanOf(d spec.Distribution) float64 {
	if d.Type == spec.Uniform {
		return float64(d.Min+d.Max) / 2
	}
	return d.Mean
}

func (p *perfConfig) seed(s *configSection, key string) {
	if s.has(key) {
		p.profile.Seed = int64(s.whole(key, 42))
	}
}

// length is a number of tokens or a distribution.
func (p *perfConfig) length(s *configSection, key string, missing int) spec.Distribution {
	if _, ok := s.keys[key].(map[string]any); ok {
		return p.distribution(s.section(key), false)
	}
	return fixedLength(s.whole(key, missing))
}

func fixedLength(n int) spec.Distribution {
	return spec.Distribution{Type: spec.Fixed, Mean: float64(n), Min: n, Max: n}
}

// distribution reads one of inference-perf's, whose random data shift a log-normal by
// its min.
func (p *perfConfig) distribution(s *configSection, shifted bool) spec.Distribution {
	d := spec.Distribution{
		Type: s.text("type", spec.Normal), Mean: s.number("mean", 512), SD: s.number("std_dev", 200),
		Min: s.whole("min", 10), Max: s.whole("max", 1024),
	}
	if s.has("std") { // older files
		d.SD = s.number("std", d.SD)
	}
	if s.has("variance") {
		d.SD = math.Sqrt(s.number("variance", 0))
	}
	s.ignore("total_count")
	if s.has("skew") && s.number("skew", 0) != 0 {
		p.leave(s.at("skew"), "lengths have no skew of their own: %s is drawn", d.Type)
	}
	if d.Type == "skew_normal" {
		d.Type = spec.Normal
		p.leave(s.at("type"), "skew_normal is drawn as normal")
	}
	if d.Min < 1 && d.Max >= 1 {
		p.leave(s.at("min"), "%d becomes 1: a request has a token at least", d.Min)
		d.Min = 1
	}
	s.close()
	switch {
	case !slices.Contains([]string{spec.Fixed, spec.Normal, spec.Lognormal, spec.Uniform, spec.PoissonOf}, d.Type):
		p.fault(s.at("type"), "found %q, expected one of fixed, normal, skew_normal, lognormal, uniform, poisson", d.Type)
	case d.Type == spec.Fixed || d.Min == d.Max || d.SD == 0 && (d.Type == spec.Normal || d.Type == spec.Lognormal):
		return fixedLength(int(math.RoundToEven(min(max(d.Mean, float64(d.Min)), float64(d.Max)))))
	case d.Type == spec.Uniform:
		d.Mean, d.SD = 0, 0
	case d.Type == spec.PoissonOf:
		d.SD = 0
	case d.Type == spec.Lognormal && shifted:
		d.Shift = d.Min
	}
	return d
}

// closedFor is how long a closed loop goes on, which inference-perf bounds by its number
// of requests.
const closedFor = 5 * time.Minute

func (p *perfConfig) load(s *configSection) {
	in := &p.profile.Interactive
	kind := s.text("type", "constant")
	switch kind {
	case "constant", "concurrent":
	case "poisson":
		in.Arrival = spec.Poisson
	default:
		p.fault(s.at("type"), "found %q, expected one of constant, poisson, concurrent", kind)
	}
	pause := s.number("interval", 1)
	for i, v := range s.list("stages") {
		stage := s.c.section(s.at("stages")+"."+strconv.Itoa(i), v)
		if i > 0 && pause > 0 {
			in.Phases = append(in.Phases, spec.Phase{
				Name: fmt.Sprintf("pause-%d", i), Duration: spanOf(pause), Class: spec.ClassInteractive,
			})
		}
		in.Phases = append(in.Phases, p.stage(stage, i+1, kind))
		stage.close()
	}
	if len(in.Phases) == 0 {
		p.fault(s.at("stages"), "found none, expected one or more")
	}
	in.RequestTimeout = spanOf(s.number("request_timeout", in.RequestTimeout.Seconds()))
	p.seed(s, "base_seed")
	s.ignore("num_workers", "worker_max_concurrency", "worker_max_tcp_connections")
	s.close()
}

func (p *perfConfig) stage(s *configSection, n int, kind string) spec.Phase {
	phase := spec.Phase{Name: fmt.Sprintf("stage-%d", n), Class: spec.ClassInteractive}
	if kind == "concurrent" {
		phase.Arrival, phase.Duration = spec.Closed, spec.Duration(closedFor)
		phase.Requests, phase.InFlight = s.whole("num_requests", 0), s.whole("concurrency_level", 0)
		p.leave(s.at("num_requests"), "the loop goes on for %s with %d requests at most", phase.Duration, phase.Requests)
		return phase
	}
	phase.Rate, phase.Duration = s.number("rate", 0), spanOf(s.number("duration", 0))
	return phase
}

func spanOf(s float64) spec.Duration {
	return spec.Duration(math.RoundToEven(min(max(s, 0), 1e9) * float64(time.Second)))
}

// fitContext makes the context as long as the longest request, because inference-perf
// does not shorten any, or takes that of a conversation.
func (p *perfConfig) fitContext() {
	prompt := p.profile.Prompt
	if p.fits {
		return
	}
	p.profile.MaxModelLen = prompt.Overhead() + prompt.ISL.Max + prompt.OSL.Max
	if c := prompt.Conversation; c != nil {
		const turn = 16 // of the chat template
		p.profile.MaxModelLen += c.Context + (c.Turns-1)*(prompt.ISL.Max+prompt.OSL.Max+turn)
		p.leave(p.context, "found none: the context holds the longest conversation, %d tokens; set maxModelLen to that of the server", p.profile.MaxModelLen)
	}
}
