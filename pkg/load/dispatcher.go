package load

import (
	"fmt"
	"time"

	"bgbench/pkg/openai"
)

// dispatcher starts each line of the schedule at its due time. It is open loop: it
// looks at nothing but the clock. The lines of a closed loop it hands to one.
type dispatcher struct {
	r    *Replay
	next int // index of the next line
	sent int
}

func (d *dispatcher) begin() { d.arm() }

func (d *dispatcher) arm() {
	lines := d.r.cfg.Inputs.Schedule
	if d.next == len(lines) {
		return
	}
	d.r.k.At(d.r.phases.start.Time+time.Duration(lines[d.next].DueNS), d.fire)
}

func (d *dispatcher) fire() {
	if d.r.stopping {
		return
	}
	if d.r.cfg.Inputs.Schedule[d.next].InFlight > 0 {
		d.loop()
		d.arm()
		return
	}
	req := d.request(d.next)
	d.next++
	d.arm()
	d.start(req, d.r.maybeStop)
}

// loop starts the closed loop of the lines at hand, all of one phase of one cycle.
func (d *dispatcher) loop() {
	lines := d.r.cfg.Inputs.Schedule
	first := lines[d.next]
	l := &closedLoop{d: d, next: d.next}
	for d.next < len(lines) && lines[d.next].InFlight > 0 && lines[d.next].Phase == first.Phase && lines[d.next].Cycle == first.Cycle {
		d.next++
	}
	l.end = d.next
	l.begin(first)
}

func (d *dispatcher) start(req *Request, ended func()) {
	d.sent++
	d.r.flights.start(req, func(Attempt) { ended() })
}

func (d *dispatcher) request(i int) *Request {
	set := d.r.cfg.Inputs
	due := set.Schedule[i]
	prompt := set.Prompts[due.Prompt]
	id := d.r.cfg.Identity
	profile := set.Manifest.Profile
	least := 0
	if profile.Prompt.MinTokens {
		least = prompt.MaxTokens
	}
	req := &Request{
		ID: fmt.Sprintf("%s-t%d-%d", id.Arm, id.Trial, due.I),
		Chat: &openai.ChatRequest{
			Model:         profile.Model,
			Messages:      set.Messages(due.Prompt),
			MaxTokens:     prompt.MaxTokens,
			MinTokens:     least,
			IgnoreEOS:     profile.Prompt.IgnoreEOS,
			CacheSalt:     set.Manifest.CacheSalt(),
			Stream:        true,
			StreamOptions: streamOptions(),
		},
		Attempt:      1,
		Objective:    d.r.cfg.Router.ObjectiveOf(due.Class),
		Class:        due.Class,
		PromptIndex:  int64(due.Prompt),
		Due:          At(d.r.phases.start.Time + time.Duration(due.DueNS)),
		Phase:        due.Phase,
		Cycle:        due.Cycle,
		Warmup:       due.Warmup,
		PromptTokens: int64(prompt.PromptTokens),
		OutputTokens: int64(prompt.MaxTokens),
		Timeout:      profile.Interactive.RequestTimeout.Std(),
	}
	if d.r.cfg.Plain {
		makePlain(req.Chat)
	}
	return req
}

// streamOptions ask for the token count with every chunk: the only exact way to
// know how many tokens a chunk carries without tokenising (a vLLM extension).
func streamOptions() *openai.StreamOptions {
	return &openai.StreamOptions{IncludeUsage: true, ContinuousUsageStats: true}
}
