package spec

// Profile is a workload and how it is measured.
type Profile struct {
	Name        string `yaml:"name" json:"name"`               // the name in results
	Description string `yaml:"description" json:"description"` // one line for the catalogue
	// Seed starts every random stream; trial k uses Seed + k - 1.
	Seed int64 `yaml:"seed" json:"seed"`
	// Model is the name under which the engine serves the model; pkg/sim looks its
	// constants up by the same name.
	Model string `yaml:"model" json:"model"`
	// MaxModelLen bounds system prompt + ISL + OSL + chat template, in tokens.
	MaxModelLen int `yaml:"maxModelLen" json:"maxModelLen" unit:"tokens"`
	// Tokenizer is the tokenizer.json of the model, by which tokens are counted; without
	// it, by the rules of pkg/token. It is found from the folder where bg-gen runs.
	Tokenizer   string      `yaml:"tokenizer,omitempty" json:"tokenizer,omitempty"`
	Prompt      Prompt      `yaml:"prompt" json:"prompt"`           // texts of all classes
	Interactive Interactive `yaml:"interactive" json:"interactive"` // the schedule of what is sent
	Batch       Batch       `yaml:"batch" json:"batch"`             // the jobs
	Drain       Drain       `yaml:"drain" json:"drain"`             // the wait at the end
	// SLO decides which requests of the schedule are good ones; nil asks for nothing.
	SLO *SLO `yaml:"slo,omitempty" json:"slo,omitempty"`
}

// Prompt describes the texts of the classes that say nothing else.
type Prompt struct {
	// ISL is the length of the user message in tokens, without the system prompt;
	// OSL the number of output tokens asked for.
	ISL           Distribution  `yaml:"isl" json:"isl"`
	OSL           Distribution  `yaml:"osl" json:"osl"`                     // output tokens that are asked for
	SystemPrompts SystemPrompts `yaml:"systemPrompts" json:"systemPrompts"` // texts before the user message that requests share
	// IgnoreEOS asks the server to generate exactly OSL tokens.
	IgnoreEOS bool `yaml:"ignoreEOS" json:"ignoreEOS"`
	// MinTokens asks it for at least OSL, by min_tokens, where it knows that key but not
	// ignore_eos.
	MinTokens bool `yaml:"minTokens,omitempty" json:"minTokens,omitempty"`
	// Source has the texts of another place than the generator; nil for its own words.
	Source *Source `yaml:"source,omitempty" json:"source,omitempty"`
	// Conversation makes turns of the requests; nil where each stands alone.
	Conversation *Conversation `yaml:"conversation,omitempty" json:"conversation,omitempty"`
	// CacheSalt sends vLLM's cache_salt with every request, the same for all of a trial:
	// its requests share prefixes with each other and with nothing that ran before.
	CacheSalt bool `yaml:"cacheSalt" json:"cacheSalt"`
}

// ClassPrompt is what one class has in place of parts of the profile's prompt. A part
// that is not there is that of the profile.
type ClassPrompt struct {
	ISL           *Distribution  `yaml:"isl,omitempty" json:"isl,omitempty"`                     // in place of prompt.isl
	OSL           *Distribution  `yaml:"osl,omitempty" json:"osl,omitempty"`                     // in place of prompt.osl
	SystemPrompts *SystemPrompts `yaml:"systemPrompts,omitempty" json:"systemPrompts,omitempty"` // in place of prompt.systemPrompts
	Source        *Source        `yaml:"source,omitempty" json:"source,omitempty"`               // in place of prompt.source
	Conversation  *Conversation  `yaml:"conversation,omitempty" json:"conversation,omitempty"`   // in place of prompt.conversation
}

// over is p with the parts that c has in their place.
func (c ClassPrompt) over(p Prompt) Prompt {
	if c.ISL != nil {
		p.ISL = *c.ISL
	}
	if c.OSL != nil {
		p.OSL = *c.OSL
	}
	if c.SystemPrompts != nil {
		p.SystemPrompts = *c.SystemPrompts
	}
	if c.Source != nil {
		p.Source = c.Source
	}
	if c.Conversation != nil {
		p.Conversation = c.Conversation
	}
	return p
}

// InteractivePrompt describes the texts of what the schedule sends.
func (p Profile) InteractivePrompt() Prompt { return p.Interactive.Prompt.over(p.Prompt) }

// BatchPrompt describes the texts of the jobs.
func (p Profile) BatchPrompt() Prompt { return p.Batch.Prompt.over(p.Prompt) }

// Distribution of a length in tokens. Mean and SD are the arithmetic moments of
// the distribution before it is clipped to [Min, Max] and rounded, as
// inference-perf defines them.
type Distribution struct {
	Type string  `yaml:"type" json:"type"`               // fixed, uniform, normal, lognormal, poisson, gamma or empirical
	Mean float64 `yaml:"mean" json:"mean" unit:"tokens"` // before clipping; the length itself where Type is fixed
	SD   float64 `yaml:"sd" json:"sd" unit:"tokens"`     // standard deviation before clipping; of normal, lognormal and gamma
	Min  int     `yaml:"min" json:"min" unit:"tokens"`   // a shorter draw becomes this
	Max  int     `yaml:"max" json:"max" unit:"tokens"`   // a longer draw becomes this
	// Shift is added to what is drawn with a mean of Mean - Shift, as inference-perf's
	// random data have it with Shift = Min; of a lognormal.
	Shift int `yaml:"shift,omitempty" json:"shift,omitempty" unit:"tokens"`
	// File holds the lengths of an empirical distribution, a number a line; it is found
	// from the folder where bg-gen runs.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
}

// SystemPrompts are shared by the requests of all classes that have as many of the
// same length; the requests take them in turn.
type SystemPrompts struct {
	Count  int `yaml:"count" json:"count" unit:"texts"`    // how many different ones; 0 for none
	Tokens int `yaml:"tokens" json:"tokens" unit:"tokens"` // length of each
	// Own gives each job, and the interactive traffic, as many of its own.
	Own bool `yaml:"own,omitempty" json:"own,omitempty"`
}

// Interactive is the open-loop schedule: the phases in order, repeated Cycles times.
type Interactive struct {
	// Arrival is the process of the phases that name none: poisson, constant, uniform or
	// poisson-fixed-n.
	Arrival      string  `yaml:"arrival" json:"arrival"`
	Phases       []Phase `yaml:"phases" json:"phases"`                           // in order of time
	Cycles       int     `yaml:"cycles" json:"cycles" unit:"cycles"`             // repeats of all phases
	WarmupCycles int     `yaml:"warmupCycles" json:"warmupCycles" unit:"cycles"` // the first so many cycles are not measured
	// Prompt is laid over the profile's.
	Prompt ClassPrompt `yaml:"prompt" json:"prompt"`
	// RequestTimeout ends a request that takes longer.
	RequestTimeout Duration `yaml:"requestTimeout" json:"requestTimeout"`
}

// Phase is a stretch of the schedule with one rate.
type Phase struct {
	Name     string   `yaml:"name" json:"name"`                   // the name in results: burst, idle or another
	Rate     float64  `yaml:"rate" json:"rate" unit:"requests/s"` // requests per second
	Duration Duration `yaml:"duration" json:"duration"`           // in each cycle
	// AtOnce is how many requests are due at the very start, beside those of Rate.
	AtOnce int `yaml:"atOnce" json:"atOnce" unit:"requests"`
	// Class is that of the phase's requests: interactive, or standard for ordinary
	// traffic that the router's standardObjective gives its priority.
	Class string `yaml:"class" json:"class"`

	// Arrival is the phase's own arrival process; without it that of the schedule.
	Arrival    string   `yaml:"arrival,omitempty" json:"arrival,omitempty"`
	Burstiness float64  `yaml:"burstiness,omitempty" json:"burstiness,omitempty"`             // of gamma
	RampTo     *float64 `yaml:"rampTo,omitempty" json:"rampTo,omitempty" unit:"requests/s"`   // of ramp: the rate at the end
	Size       int      `yaml:"size,omitempty" json:"size,omitempty" unit:"requests"`         // of bursts
	Every      Duration `yaml:"every,omitempty" json:"every,omitempty"`                       // of bursts
	InFlight   int      `yaml:"inFlight,omitempty" json:"inFlight,omitempty" unit:"requests"` // of closed
	// Requests is the most that a closed loop can send in one cycle: so many are drawn.
	Requests int `yaml:"requests,omitempty" json:"requests,omitempty" unit:"requests"`
	// Trace is replayed, each cycle from where the one before ended. A rate above 0
	// stretches it to that mean rate.
	Trace *Trace `yaml:"trace,omitempty" json:"trace,omitempty"`
}

// Classes of a phase.
const (
	ClassInteractive = "interactive"
	ClassStandard    = "standard"
)

// Batch is the work that shares the servers with the interactive traffic.
type Batch struct {
	// Lead is the time between the submission of the jobs and the first
	// interactive request.
	Lead Duration `yaml:"lead" json:"lead"`
	// Prompt is laid over the profile's.
	Prompt ClassPrompt `yaml:"prompt" json:"prompt"`
	Jobs   []Job       `yaml:"jobs" json:"jobs"` // in the order of submission
}

// Job is one OpenAI Batch job.
type Job struct {
	Name     string   `yaml:"name" json:"name"`                         // the name in results and of its file
	Requests int      `yaml:"requests" json:"requests" unit:"requests"` // lines
	Window   Duration `yaml:"window" json:"window"`                     // completion_window
	// Of names the job that was too large for one file of the batch gateway and of which
	// this is a part, a job of its own with the same window.
	Of string `yaml:"of,omitempty" json:"of,omitempty"`
}

// Drain bounds the wait after the last due time.
type Drain struct {
	Interactive Duration `yaml:"interactive" json:"interactive"` // for requests in flight; then they are incomplete
	Jobs        Duration `yaml:"jobs" json:"jobs"`               // for jobs to reach an end
}
