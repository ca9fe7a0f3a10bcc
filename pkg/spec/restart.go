package spec

import (
	"strconv"
	"time"
)

// Restart ends the batch gateway's processor and starts another one, on an emulated
// stack.
type Restart struct {
	// At is the instant of the signal, from the start of the stack: on target model
	// that is the start of the run, batch.lead before the schedule, on target local the
	// moment at which bg-deploy brought the stack up.
	At     Duration `yaml:"at" json:"at"`
	Signal string   `yaml:"signal" json:"signal"` // SIGTERM or SIGKILL
	// DownFor is the time between the end of the old process, which after a SIGTERM
	// takes up to 20 s, and the start of the new one.
	DownFor Duration `yaml:"downFor" json:"downFor"`
	// WorkDirLost gives the new process an empty work directory, as a new pod has.
	WorkDirLost bool `yaml:"workDirLost" json:"workDirLost"`
}

// Signals of a restart.
const (
	SignalTerm = "SIGTERM"
	SignalKill = "SIGKILL"
)

// slowestEnd is how long a processor may take to end after a SIGTERM: the blocking read
// of its cancel listeners (llm-d batch gateway).
const slowestEnd = Duration(20 * time.Second)

// over is when the new process runs at the latest.
func (r Restart) over() Duration {
	if r.Signal == SignalTerm {
		return r.At + slowestEnd + r.DownFor
	}
	return r.At + r.DownFor
}

// restartProblems checks the restarts of a gateway.
func (g Gateway) restartProblems(is *problems, path, dispatch string) {
	is.check(len(g.Restarts) == 0 || dispatch == DispatchSync, path,
		"found %d, expected none where dispatch is %s", len(g.Restarts), dispatch)
	for i, r := range g.Restarts {
		at := join(path, strconv.Itoa(i))
		is.check(r.At > 0, join(at, "at"), "found %s, expected more than 0", r.At)
		is.oneOf(join(at, "signal"), r.Signal, SignalTerm, SignalKill)
		is.check(r.DownFor > 0, join(at, "downFor"), "found %s, expected more than 0", r.DownFor)
		if i > 0 {
			before := g.Restarts[i-1]
			is.check(r.At > before.over(), join(at, "at"),
				"%s is not after the restart before, which may take until %s", r.At, before.over())
		}
	}
}
