package spec

import (
	"math"
	"strconv"
	"strings"

	"bgbench/pkg/token"
)

const (
	// maxJobRequests and maxInteractiveRequests keep a slip of the pen from filling the
	// disk.
	maxJobRequests         = 5_000_000
	maxInteractiveRequests = 5_000_000
)

// Validate says what is wrong with p, all of it.
func (p Profile) Validate() error {
	return p.problems().err(string(profileKind), p.Name, nil)
}

func (p Profile) problems() problems {
	var is problems
	is.name("name", p.Name)
	is.check(p.Model != "", "model", "found nothing, expected the name of a model such as Qwen/Qwen3-8B")
	p.promptProblems(&is)
	p.fit(&is)
	p.Interactive.problems(&is, "interactive")
	p.Batch.problems(&is, "batch")
	p.SLO.problems(&is, "slo")
	is.check(p.Drain.Interactive >= 0, "drain.interactive", "found %s, expected 0 or more", p.Drain.Interactive)
	is.check(p.Drain.Jobs >= 0, "drain.jobs", "found %s, expected 0 or more", p.Drain.Jobs)
	return is
}

// promptProblems checks what the classes say of themselves, and what they leave to
// the profile.
func (p Profile) promptProblems(is *problems) {
	own := []struct {
		at string
		ClassPrompt
	}{{"interactive.prompt", p.Interactive.Prompt}, {"batch.prompt", p.Batch.Prompt}}
	var isl, osl, systemPrompts int
	for _, c := range own {
		if c.ISL != nil {
			isl++
			c.ISL.problems(is, join(c.at, "isl"))
		}
		if c.OSL != nil {
			osl++
			c.OSL.problems(is, join(c.at, "osl"))
		}
		if c.SystemPrompts != nil {
			systemPrompts++
			c.SystemPrompts.problems(is, join(c.at, "systemPrompts"))
		}
		c.Source.problems(is, join(c.at, "source"))
		c.Conversation.problems(is, join(c.at, "conversation"))
	}
	p.Prompt.Source.problems(is, "prompt.source")
	p.Prompt.Conversation.problems(is, "prompt.conversation")
	if p.InteractivePrompt().Source != nil || p.InteractivePrompt().Conversation != nil {
		for i, phase := range p.Interactive.Phases {
			is.check(phase.Trace == nil || !phase.Trace.Lengths, join("interactive.phases", strconv.Itoa(i))+".trace.lengths",
				"found true, expected false: texts of a source, and turns of a conversation, have lengths of their own")
		}
	}
	if isl < len(own) {
		p.Prompt.ISL.problems(is, "prompt.isl")
	}
	if osl < len(own) {
		p.Prompt.OSL.problems(is, "prompt.osl")
	}
	if systemPrompts < len(own) {
		p.Prompt.SystemPrompts.problems(is, "prompt.systemPrompts")
	}
}

// fit checks that the shortest request fits the context at all; pkg/prompt shortens
// longer ones.
func (p Profile) fit(is *problems) {
	for _, prompt := range []Prompt{p.InteractivePrompt(), p.BatchPrompt()} {
		least := prompt.Overhead() + prompt.ISL.Min + prompt.OSL.Min
		if len(*is) > 0 || p.MaxModelLen >= least {
			continue
		}
		is.addf("maxModelLen", "%d is below %d, the tokens of the shortest request: system prompt and chat template %d, isl.min %d, osl.min %d",
			p.MaxModelLen, least, prompt.Overhead(), prompt.ISL.Min, prompt.OSL.Min)
		is.hintLast("raise maxModelLen or shorten the system prompts")
	}
}

// Overhead is the number of prompt tokens of a request beyond its ISL: the system
// prompt and the chat template.
func (p Prompt) Overhead() int {
	n := token.ReplyOverhead + token.MessageOverhead
	if p.SystemPrompts.Count > 0 {
		n += token.MessageOverhead + p.SystemPrompts.Tokens
	}
	return n
}

// Types of Distribution.
const (
	Fixed     = "fixed"     // Mean, always
	Uniform   = "uniform"   // each whole number in [Min, Max] equally likely; Mean and SD follow
	Normal    = "normal"    // Gaussian, then clipped
	Lognormal = "lognormal" // log-normal, then clipped
	PoissonOf = "poisson"   // Poisson, then clipped; SD follows
	GammaOf   = "gamma"     // gamma, then clipped
	Empirical = "empirical" // each number of File equally likely, then clipped; Mean and SD follow
)

func (d Distribution) problems(is *problems, path string) {
	is.check(d.Min >= 1, join(path, "min"), "found %d, expected 1 or more", d.Min)
	is.check(d.Min <= d.Max, join(path, "min"), "%d is above max %d", d.Min, d.Max)
	is.check(d.SD >= 0, join(path, "sd"), "found %s, expected 0 or more", decimal(d.SD))
	switch d.Type {
	case Fixed:
		d.meanInside(is, path)
		is.check(d.Mean == math.Trunc(d.Mean), join(path, "mean"), "found %s, expected a whole number of tokens", decimal(d.Mean))
		is.check(d.SD == 0, join(path, "sd"), "found %s, expected 0: a fixed length does not vary", decimal(d.SD))
	case Uniform, Empirical:
		for _, m := range []struct {
			key   string
			value float64
		}{{"mean", d.Mean}, {"sd", d.SD}} {
			is.check(m.value == 0, join(path, m.key), "found %s, expected 0: that of a %s length follows from %s", decimal(m.value), d.Type,
				map[string]string{Uniform: "min and max", Empirical: "its file"}[d.Type])
		}
	case Normal, Lognormal:
		d.meanInside(is, path)
	case PoissonOf:
		d.meanInside(is, path)
		is.check(d.SD == 0, join(path, "sd"), "found %s, expected 0: that of a Poisson length is the root of its mean", decimal(d.SD))
	case GammaOf:
		d.meanInside(is, path)
		is.check(d.SD > 0, join(path, "sd"), "found %s, expected more than 0", decimal(d.SD))
	default:
		is.oneOf(join(path, "type"), d.Type, Fixed, Uniform, Normal, Lognormal, PoissonOf, GammaOf, Empirical)
	}
	is.check(d.Type == Empirical || d.File == "", join(path, "file"), "found %q, expected none: only type %s has it", d.File, Empirical)
	is.check(d.Type != Empirical || d.File != "", join(path, "file"), "found nothing, expected a file of lengths, a number a line")
	is.check(d.Type == Lognormal || d.Shift == 0, join(path, "shift"), "found %d, expected none: only type %s has it", d.Shift, Lognormal)
	is.check(d.Shift == 0 || d.Shift > 0 && float64(d.Shift) < d.Mean, join(path, "shift"), "found %d, expected 0 up to the mean", d.Shift)
}

func (d Distribution) meanInside(is *problems, path string) {
	switch {
	case d.Mean > float64(d.Max):
		is.addf(join(path, "mean"), "%s is above max %d", decimal(d.Mean), d.Max)
		is.hintLast("raise %s.max or lower the mean", path)
	case d.Mean < float64(d.Min):
		is.addf(join(path, "mean"), "%s is below min %d", decimal(d.Mean), d.Min)
		is.hintLast("lower %s.min or raise the mean", path)
	}
}

func (s SystemPrompts) problems(is *problems, path string) {
	is.check(s.Count >= 0, join(path, "count"), "found %d, expected 0 or more", s.Count)
	is.check(s.Tokens >= 0, join(path, "tokens"), "found %d, expected 0 or more", s.Tokens)
	is.check(s.Count <= 0 || s.Tokens != 0, join(path, "tokens"), "found 0, expected 1 or more for %d system prompts", s.Count)
	is.check(s.Tokens <= 0 || s.Count != 0, join(path, "count"), "found 0, expected 1 or more of %d tokens", s.Tokens)
}

func (in Interactive) problems(is *problems, path string) {
	is.oneOf(join(path, "arrival"), in.Arrival, scheduleArrivals...)
	is.check(len(in.Phases) > 0, join(path, "phases"), "found none, expected one or more")
	var names names
	requests := 0.0
	for i, phase := range in.Phases {
		at := join(join(path, "phases"), strconv.Itoa(i))
		names.add(is, join(at, "name"), phase.Name)
		is.check(phase.Rate >= 0, join(at, "rate"), "found %s, expected 0 or more requests per second", decimal(phase.Rate))
		is.check(phase.Duration > 0, join(at, "duration"), "found %s, expected more than 0", phase.Duration)
		is.check(phase.AtOnce >= 0, join(at, "atOnce"), "found %d, expected 0 or more requests", phase.AtOnce)
		is.oneOf(join(at, "class"), phase.Class, ClassInteractive, ClassStandard)
		phase.arrivalProblems(is, at)
		requests += phase.requests() * float64(in.Cycles)
	}
	is.check(requests <= maxInteractiveRequests, join(path, "phases"), "found %.10g requests in all, expected %d at most", requests, maxInteractiveRequests)
	is.check(in.Cycles >= 1, join(path, "cycles"), "found %d, expected 1 or more", in.Cycles)
	is.check(in.WarmupCycles >= 0, join(path, "warmupCycles"), "found %d, expected 0 or more", in.WarmupCycles)
	if in.Cycles >= 1 && in.WarmupCycles >= in.Cycles {
		is.addf(join(path, "warmupCycles"), "%d leaves none of %d cycles to measure", in.WarmupCycles, in.Cycles)
	}
	is.check(in.RequestTimeout > 0, join(path, "requestTimeout"), "found %s, expected more than 0", in.RequestTimeout)
}

func (b Batch) problems(is *problems, path string) {
	is.check(b.Lead >= 0, join(path, "lead"), "found %s, expected 0 or more", b.Lead)
	var names names
	for i, job := range b.Jobs {
		at := join(join(path, "jobs"), strconv.Itoa(i))
		names.add(is, join(at, "name"), job.Name)
		is.check(job.Requests >= 1 && job.Requests <= maxJobRequests, join(at, "requests"),
			"found %d, expected 1 to %d", job.Requests, maxJobRequests)
		is.check(job.Window > 0, join(at, "window"), "found %s, expected more than 0", job.Window)
	}
}

// names finds names that are not safe or not unique. Case does not tell two names
// apart, because not every file system does.
type names map[string]string

func (n *names) add(is *problems, path, name string) {
	is.name(path, name)
	folded := strings.ToLower(name)
	if earlier, ok := (*n)[folded]; ok && name != "" {
		is.addf(path, "%q is taken by an earlier one, %q", name, earlier)
	}
	if *n == nil {
		*n = names{}
	}
	(*n)[folded] = name
}

// oneOf checks a word against those that are known.
func (p *problems) oneOf(path, found string, known ...string) {
	for _, k := range known {
		if found == k {
			return
		}
	}
	p.addf(path, "found %q, expected one of %s", found, strings.Join(known, ", "))
	if near := nearest(found, known); near != "" {
		p.hintLast("did you mean %s?", near)
	}
}

// decimal writes a number as a person would have typed it.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
