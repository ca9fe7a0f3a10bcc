package spec

import "strings"

// Arrival processes of a phase.
const (
	Poisson  = "poisson"  // independent exponential gaps
	Constant = "constant" // equal gaps
	Gamma    = "gamma"    // independent gamma gaps of shape Burstiness: 1 is poisson, less is burstier
	// UniformGaps have lengths equally likely between 0 and twice their mean.
	UniformGaps = "uniform"
	// PoissonFixedN is what inference-perf calls constant: Rate x Duration exponential
	// gaps, stretched so that they fill the phase exactly.
	PoissonFixedN = "poisson-fixed-n"
	Ramp          = "ramp"   // poisson with a rate that goes in a line from Rate to RampTo
	Bursts        = "bursts" // Size requests at once, and again Every so often
	Replayed      = "trace"  // the instants of a trace
	// Closed is a closed loop: InFlight requests under way, each followed by the next.
	// Its requests have no due time before their turn has come.
	Closed = "closed"
)

// scheduleArrivals are those that need nothing but a rate.
var scheduleArrivals = []string{Poisson, Constant, UniformGaps, PoissonFixedN}

// Trace is a file of arrivals.
type Trace struct {
	// File is found from the folder where bg-gen runs.
	File   string `yaml:"file" json:"file"`
	Format string `yaml:"format" json:"format"` // timestamps, jsonl, azure or mooncake
	// Lengths takes those of prompts and answers from the trace, too.
	Lengths bool `yaml:"lengths,omitempty" json:"lengths,omitempty"`
}

// Formats of a Trace.
const (
	TraceTimestamps = "timestamps" // a number of seconds a line
	TraceJSONL      = "jsonl"      // objects with timestamp in seconds, input_length and output_length
	TraceAzure      = "azure"      // AzurePublicDataset: CSV of TIMESTAMP, ContextTokens, GeneratedTokens
	TraceMooncake   = "mooncake"   // Mooncake: objects with timestamp in milliseconds, input_length and output_length
)

// ArrivalOf is the arrival process of a phase.
func (in Interactive) ArrivalOf(p Phase) string {
	if p.Arrival != "" {
		return p.Arrival
	}
	return in.Arrival
}

// Offered is how many requests the phase offers each second, on average: of a closed
// loop the most that it may send, of a trace without a rate none that is known.
func (p Phase) Offered() float64 { return p.requests() / p.Duration.Seconds() }

// requests is how many requests the phase is expected to have in a cycle.
func (p Phase) requests() float64 {
	seconds := p.Duration.Seconds()
	n := p.Rate * seconds
	switch {
	case p.Arrival == Ramp && p.RampTo != nil:
		n = (p.Rate + *p.RampTo) / 2 * seconds
	case p.Arrival == Bursts && p.Every > 0:
		n = float64(p.Size) * seconds / p.Every.Seconds()
	case p.Arrival == Closed:
		n = float64(p.Requests)
	}
	return n + float64(p.AtOnce)
}

// arrivalProblems checks what the arrival process needs, and that nothing else is there.
func (p Phase) arrivalProblems(is *problems, path string) {
	if p.Arrival != "" {
		is.oneOf(join(path, "arrival"), p.Arrival, append(scheduleArrivals, Gamma, Ramp, Bursts, Replayed, Closed)...)
	}
	for _, key := range []struct {
		name  string
		given bool
		of    string // the process that needs it
		fits  bool
		want  string
	}{
		{"burstiness", p.Burstiness != 0, Gamma, p.Burstiness > 0, "more than 0"},
		{"rampTo", p.RampTo != nil, Ramp, p.RampTo != nil && *p.RampTo >= 0, "0 or more requests per second"},
		{"size", p.Size != 0, Bursts, p.Size > 0, "1 or more requests"},
		{"every", p.Every != 0, Bursts, p.Every > 0, "more than 0"},
		{"inFlight", p.InFlight != 0, Closed, p.InFlight > 0, "1 or more requests"},
		{"requests", p.Requests != 0, Closed, p.Requests >= max(1, p.InFlight), "as many as are in flight, or more"},
		{"trace", p.Trace != nil, Replayed, p.Trace != nil, "a file and its format"},
	} {
		at := join(path, key.name)
		switch {
		case key.of == p.Arrival && !key.fits:
			is.addf(at, "found %s, expected %s for arrival %s", p.found(key.name), key.want, key.of)
		case key.of != p.Arrival && key.given:
			is.addf(at, "found %s, expected none: only arrival %s has it", p.found(key.name), key.of)
		}
	}
	if p.Arrival == Bursts || p.Arrival == Closed {
		is.check(p.Rate == 0, join(path, "rate"), "found %s, expected none: that of arrival %s follows from the rest", decimal(p.Rate), p.Arrival)
	}
	if p.Trace != nil {
		is.check(strings.TrimSpace(p.Trace.File) != "", join(path, "trace.file"), "found nothing, expected the name of a file")
		is.oneOf(join(path, "trace.format"), p.Trace.Format, TraceTimestamps, TraceJSONL, TraceAzure, TraceMooncake)
		is.check(!p.Trace.Lengths || p.Trace.Format != TraceTimestamps, join(path, "trace.lengths"), "found true, expected false: timestamps have no lengths")
	}
}

// found is the value of a key of the arrival process, as a person would have typed it.
func (p Phase) found(key string) string {
	switch key {
	case "burstiness":
		return decimal(p.Burstiness)
	case "rampTo":
		if p.RampTo != nil {
			return decimal(*p.RampTo)
		}
	case "size":
		return decimal(float64(p.Size))
	case "every":
		return p.Every.String()
	case "inFlight":
		return decimal(float64(p.InFlight))
	case "requests":
		return decimal(float64(p.Requests))
	case "trace":
		if p.Trace != nil {
			return "a trace"
		}
	}
	return "none"
}
