package conform

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/spec"
)

// slotHeld are requests that wait for a retry before others that want their slots.
type slotHeld struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Backend []row  `json:"backend"`

	flight  int
	initial time.Duration
}

var wordsSlots = regexp.MustCompile(`per_endpoint (\d+); .*initial_backoff ([0-9.]+) s`)

func (rec *slotHeld) check(p place) error {
	found := wordsSlots.FindStringSubmatch(rec.Note)
	if found == nil {
		return p.fault("note", "found %q, expected per_endpoint N and initial_backoff N s", rec.Note)
	}
	rec.flight, _ = strconv.Atoi(found[1])
	rec.initial, _ = time.ParseDuration(found[2] + "s")
	if len(rec.Backend) == 0 {
		return p.fault("backend", "found no rows, expected those of the backend")
	}
	return nil
}

func (rec *slotHeld) replay(o *outcome) {
	cfg := plainConfig(1, 100, rec.flight)
	cfg.InitialBackoff, cfg.MaxBackoff = spec.Duration(rec.initial), spec.Duration(2*rec.initial)
	plans, most := map[string][]string{}, 1
	for _, row := range rec.Backend {
		plans[row.id] = append(plans[row.id], row.answer)
		most = max(most, len(plans[row.id]))
	}
	cfg.MaxRetries = min(most-1, maxRetries)
	r := newRig(o, cfg, 50*time.Millisecond)
	var input strings.Builder
	for _, id := range sortedKeys(plans) {
		input.WriteString(lineFor(id, "m1", "id="+id+";plan="+strings.Join(plans[id], ","), nil))
	}
	r.create(input.String(), "1h", nil)
	r.run(0)
	var got, want []string
	for _, row := range r.backend.Log {
		got = append(got, fmt.Sprint(row.ID, " ", row.Attempt))
	}
	for _, row := range rec.Backend {
		want = append(want, fmt.Sprint(row.id, " ", row.attempt))
	}
	for _, list := range [][]string{got, want} { // requests in flight together come in any order
		for volley := range slices.Chunk(list, max(rec.flight, 1)) {
			slices.Sort(volley)
		}
	}
	if !slices.Equal(got, want) {
		o.differ("attempts: got %v, want %v", got, want)
	}
}
