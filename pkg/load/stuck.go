package load

import (
	"fmt"
	"time"

	"bgbench/pkg/sim/engine"
	"bgbench/pkg/sim/kernel"
)

// stuckWatch looks once a simulated second whether an engine of the model can ever
// go on. vLLM spins for ever on a request that is larger than its cache; in the model
// the timeouts of the clients end the run, and a reader has to know why.
type stuckWatch struct {
	k       *kernel.Kernel
	engines []*engine.Server
	since   []Stamp // when it was first seen
}

const stuckPeriod = time.Second

func newStuckWatch(k *kernel.Kernel, engines []*engine.Server) *stuckWatch {
	w := &stuckWatch{k: k, engines: engines, since: make([]Stamp, len(engines))}
	k.At(0, w.look)
	return w
}

func (w *stuckWatch) look() {
	for i, e := range w.engines {
		if !w.since[i].OK && e.Stuck() {
			w.since[i] = At(w.k.Now())
		}
	}
	w.k.After(stuckPeriod, w.look)
}

func (w *stuckWatch) warnings() []string {
	var warnings []string
	for i, since := range w.since {
		if since.OK {
			warnings = append(warnings, fmt.Sprintf(
				"engine %d was stuck from second %.0f on: the request at the head of its queue did not fit into its KV cache, and vLLM would have waited for ever",
				i, since.Time.Seconds()))
		}
	}
	return warnings
}
