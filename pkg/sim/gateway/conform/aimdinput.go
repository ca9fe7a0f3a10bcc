package conform

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bgbench/pkg/openai"
)

// inputs rebuilds the jobs' input files from what the backend saw: the lines in the
// order of their ids, each with its answers and its duration. late is how many good
// answers of a volley come before the bad ones.
func (e *experiment) inputs(late int) []string {
	jobs := len(e.Jobs)
	inputs := make([]string, jobs)
	if len(e.Backend) == 0 { // of that backend only its capacity is known
		for j := range inputs {
			inputs[j] = variedInput(int(e.Jobs[j].Counts.Total))
		}
		return inputs
	}
	plans := map[string][]row{}
	for _, r := range e.Backend {
		plans[r.id] = append(plans[r.id], r)
	}
	if e.Jobs[0].Status == openai.BatchExpired { // the rest was never sent
		for i := range int(e.Jobs[0].Counts.Total) {
			if id := fmt.Sprintf("req-%04d", i); plans[id] == nil {
				plans[id] = []row{{id: id, answer: "client_gone", done: 5000}}
			}
		}
	}
	texts := make([]strings.Builder, jobs)
	usual := e.usualDuration()
	good, step := 0, float64(volleyStep)/float64(time.Millisecond)
	for _, id := range sortedKeys(plans) {
		rows := plans[id]
		rows = rows[:max(len(rows)/jobs, 1)] // jobs with the same ids share their rows
		var plan []string
		for _, r := range rows {
			plan = append(plan, e.answer(r))
		}
		latency := math.Round(rows[0].done - rows[0].arrived)
		if math.Abs(latency-usual) <= 3 { // the machine's noise
			latency = usual
		}
		if rows[0].answer == "200" || rows[0].answer == "201" {
			good++
			latency += step * float64(good%(volleys-1))
		} else {
			latency += step * (float64(late) + 0.5)
		}
		for j := range texts {
			texts[j].WriteString(lineFor(id, "m1", fmt.Sprintf("id=%s;lat=%.3f;plan=%s", id, latency, strings.Join(plan, ",")), nil))
		}
	}
	for j := range texts {
		inputs[j] = texts[j].String()
	}
	return inputs
}

// variedInput is a job of n requests that end one by one, as those of a server do that
// runs a few at a time.
func variedInput(n int) string {
	var b strings.Builder
	for i := range n {
		id := fmt.Sprintf("req-%04d", i)
		b.WriteString(lineFor(id, "m1", fmt.Sprintf("id=%s;lat=%d", id, 100+37*i%100), nil))
	}
	return b.String()
}

// usualDuration is the median of the durations, in ms.
func (e *experiment) usualDuration() float64 {
	var durations []float64
	for _, r := range e.Backend {
		durations = append(durations, math.Round(r.done-r.arrived))
	}
	slices.Sort(durations)
	return durations[len(durations)/2]
}

// neverEnds is the answer to a request that its client gives up.
const neverEnds = "hang/86400000"

// answer is the answer of a plan that a recorded row shows.
func (e *experiment) answer(r row) string {
	switch {
	case e.capacity > 0: // what was refused was refused for want of room
		return "200"
	case r.answer == "client_gone":
		return neverEnds
	case r.answer == "closed":
		return "close"
	case r.answer == "429" && e.special.dropped != "":
		return "429/drop=" + e.special.dropped
	case r.answer == "200" && e.special.array:
		return "array"
	}
	return r.answer
}
