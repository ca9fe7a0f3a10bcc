package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Difference is one field in which the Scheduler and a recorded case disagree.
type Difference struct {
	Step      int    // -1 for what concerns the whole case
	Field     string // as the case names it
	Got, Want string // JSON
}

func (d Difference) String() string {
	where := "case"
	if d.Step >= 0 {
		where = fmt.Sprintf("step %d", d.Step)
	}
	return fmt.Sprintf("%s: %s: got %s, want %s", where, d.Field, d.Got, d.Want)
}

// Conform replays one recorded case of vLLM's scheduler, a JSON file, on the
// Scheduler and returns where they disagree, at most maxDifferences. An error
// means that the case itself cannot be read.
func Conform(caseJSON []byte) ([]Difference, error) {
	var c traceCase
	decoder := json.NewDecoder(bytes.NewReader(caseJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("reading an engine case: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("reading engine case %q: %w", c.Name, err)
	}
	r := newReplay(&c)
	r.run()
	return r.diffs, nil
}

// maxDifferences bounds a report: after the first step that differs, most do.
const maxDifferences = 20
